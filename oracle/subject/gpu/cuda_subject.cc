#include "oracle/subject/gpu/cuda_subject.h"

#include <fmt/core.h>

#include "oracle/report/failure.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle {
namespace {

using Outcome = SubjectRun::Outcome;

// Of the time limit of a case, what one run of its kernel may take: a launch is several, and the context has
// to be made.
constexpr double kRunsInALimit = 6;

std::vector<std::string> child_words(const HostedSubject& hosted, const CudaSubjectSettings& settings) {
  std::vector<std::string> words = {
      settings.program, "device-host",
      "{cases}",        "{results}",
      "--cuda-device",  std::to_string(hosted.cuda.ordinal),
      "--seconds",      fmt::format("{:g}", settings.child.limits.time.count() / kRunsInALimit)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--cuda-driver", hosted.cuda.driver);
  add("--subject", hosted.ptx.empty() ? hosted.name : "");
  add("--ptx", hosted.ptx);
  add("--declare", hosted.declare);
  return words;
}

std::string selector_of(const HostedSubject& hosted) {
  std::string text = hosted.ptx.empty()
                         ? "--subject " + shell_word(hosted.name)
                         : "--ptx " + shell_word(hosted.ptx) + " --declare " + shell_word(hosted.declare);
  text += " --device cuda";
  if (hosted.cuda.ordinal != 0) text += fmt::format(" --cuda-device {}", hosted.cuda.ordinal);
  if (!hosted.cuda.driver.empty()) text += " --cuda-driver " + shell_word(hosted.cuda.driver);
  return text;
}

Result<std::unique_ptr<Subject>> on_executor(const HostedSubject& hosted, const ExecutorSettings& settings) {
  if (!hosted.ptx.empty()) return open_ptx_subject(hosted.ptx, hosted.declare, settings);
  return make_executor_subject(hosted.name, settings);
}

class CudaSubject : public Subject {
 public:
  CudaSubject(Declaration declaration, std::string selector, std::string generation)
      : declaration_(std::move(declaration)),
        selector_(std::move(selector)),
        generation_(std::move(generation)) {}

  void on(std::unique_ptr<Subject> gpu, std::unique_ptr<Subject> executor) {
    gpu_ = std::move(gpu);
    executor_ = std::move(executor);
  }
  void without(std::string why) { why_none_ = std::move(why); }

  const Declaration& declaration() const override { return declaration_; }
  std::string selector() const override { return selector_; }
  std::int64_t batch() const override { return gpu_ ? gpu_->batch() : 1; }
  Subject* twin() override { return executor_.get(); }

  void prepare(std::span<const CaseData* const> cases) override {
    if (!gpu_) return;
    std::vector<const CaseData*> own;
    for (const CaseData* data : cases) {
      if (refuses_hardware(*data).empty()) own.push_back(data);
    }
    gpu_->prepare(own);
  }

  SubjectRun run(const CaseData& data) override {
    SubjectRun run;
    run.outcome = gpu_ ? Outcome::kUnsupported : Outcome::kSkipped;
    run.reason = gpu_ ? refuses_hardware(data) : why_none_;
    return run.reason.empty() ? gpu_->run(data) : run;
  }

 private:
  // The tensor cores of this chip are what they are.
  std::string refuses_hardware(const CaseData& data) const {
    if (!data.line || !data.line->hardware || *data.line->hardware == generation_) return "";
    return "the case asks for the tensor cores of " + *data.line->hardware + ", this chip is " +
           (generation_.empty() ? "of no generation that is known here" : generation_);
  }

  Declaration declaration_;
  std::string selector_, generation_, why_none_;
  std::unique_ptr<Subject> gpu_, executor_;
};

}  // namespace

std::string generation_of(int capability) {
  constexpr std::pair<int, const char*> kGenerations[] = {
      {70, "volta"}, {75, "turing"}, {80, "ampere"},     {86, "ampere"},    {87, "ampere"},
      {89, "ada"},   {90, "hopper"}, {100, "blackwell"}, {103, "blackwell"}};
  for (const auto& [known, name] : kGenerations) {
    if (known == capability) return name;
  }
  return "";
}

Result<std::unique_ptr<Subject>> make_cuda_subject(const HostedSubject& hosted,
                                                   const CudaSubjectSettings& settings) {
  const gpu::OpenedCuda asked = gpu::open_cuda(hosted.cuda, false);
  ExecutorSettings executor_settings;
  if (asked.session) executor_settings.chip = generation_of(asked.session->chip().capability);
  Result<std::unique_ptr<Subject>> executor = on_executor(hosted, executor_settings);
  if (!executor.ok()) return executor.error();
  Declaration declaration = (*executor)->declaration();
  declaration.name += "/cuda";
  const std::string selector = selector_of(hosted);
  auto subject = std::make_unique<CudaSubject>(declaration, selector, executor_settings.chip);
  if (!asked.session) {
    subject->without(asked.error);
  } else {
    CommandSettings child = settings.child;
    child.packed = false;
    child.more = read_device_answer;
    subject->on(make_command_subject(child_words(hosted, settings), declaration, selector, child),
                std::move(*executor));
  }
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace moe4::oracle
