// Whatever is judged: the reference itself, a kernel on the executor, a recorded file, a program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oracle/case/case_data.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {

// Something that the device saw while the subject ran; makes a run red whatever its output, unless it is
// formal (VER-7).
struct DeviceFinding {
  std::string check;  // "shared-race", ...
  std::string text;   // the whole report, both places
  bool formal = false;
};

struct SubjectRun {
  enum class Outcome { kRan, kUnsupported, kSkipped, kCrashed, kTimeout, kError };
  Outcome outcome = Outcome::kRan;
  std::string reason;           // for everything but kRan
  Tensor output;                // dtype and shape as the subject gave it
  std::vector<bool> unwritten;  // per output element, where the subject can tell; else empty
  // Per row, where the subject says which rows it wrote; else empty.
  std::vector<std::uint8_t> written;
  bool inputs_unchanged = true;
  std::vector<DeviceFinding> findings;
  double seconds = 0;
  std::uint64_t thread_instructions = 0;  // executor subjects
  std::string hardware;                   // whose tensor cores multiplied; empty: none did, or not known
  // Instructions of the kernel whose bits the ISA leaves open within a bound, as they stand in it.
  std::vector<std::string> approximate;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual const Declaration& declaration() const = 0;
  virtual SubjectRun run(const CaseData& data) = 0;
  // How many cases at a time spare it work: a start of a program, say.
  virtual std::int64_t batch() const { return 1; }
  // run() of each of these will follow; they live until then, or until the next prepare(). A run() for which
  // nothing was prepared, and every further run() of one case, is a run of its own.
  virtual void prepare(std::span<const CaseData* const>) {}
  // The same kernel on the executor, for a subject that runs on a GPU: VER-21 compares the two. nullptr:
  // there is none.
  virtual Subject* twin() { return nullptr; }
  // What selects it on the command line of moe4: "--subject NAME".
  virtual std::string selector() const;
};

std::unique_ptr<Subject> make_reference_subject();
std::unique_ptr<Subject> make_file_subject(std::string result_path, Declaration declaration);

}  // namespace moe4::oracle
