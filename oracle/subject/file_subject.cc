#include "oracle/file/case_file.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {
namespace {

// A recorded result: the same output whatever the case, so the caller pairs it with the case it was recorded
// for.
class FileSubject : public Subject {
 public:
  FileSubject(std::string path, Declaration declaration)
      : path_(std::move(path)), declaration_(std::move(declaration)) {}

  const Declaration& declaration() const override { return declaration_; }

  SubjectRun run(const CaseData& data) override {
    SubjectRun result;
    Result<ResultFile> file = read_result(path_);
    Status error = file.ok() ? check_recorded_case(data, *file) : Status(file.error());
    if (error) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = path_ + ": " + error->message();
      return result;
    }
    result.output = std::move(file->output);
    if (file->written) result.written = std::move(*file->written);
    return result;
  }

 private:
  std::string path_;
  Declaration declaration_;
};

}  // namespace

std::unique_ptr<Subject> make_file_subject(std::string result_path, Declaration declaration) {
  return std::make_unique<FileSubject>(std::move(result_path), std::move(declaration));
}

}  // namespace moe4::oracle
