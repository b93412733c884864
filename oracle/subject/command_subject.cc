#include "oracle/subject/command_subject.h"

#include <fmt/core.h>

#include <map>
#include <span>

#include "oracle/file/exchange_file.h"
#include "oracle/subject/child/child_results.h"
#include "oracle/subject/child/command_words.h"
#include "oracle/subject/child/work_folder.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Outcome = SubjectRun::Outcome;

SubjectRun not_run(Outcome outcome, std::string reason) {
  SubjectRun run;
  run.outcome = outcome;
  run.reason = std::move(reason);
  return run;
}

Outcome outcome_of(const ChildEnd& end) {
  if (end.kind == ChildEnd::Kind::kTimeout) return Outcome::kTimeout;
  return end.kind == ChildEnd::Kind::kStopped ? Outcome::kSkipped : Outcome::kCrashed;
}

std::uint64_t weight_bytes(const CaseData& data) {
  return data.packed_weights.bytes() + data.scale_tensor().bytes();
}

class CommandSubject : public Subject {
 public:
  CommandSubject(std::vector<std::string> words, const Declaration& declaration, std::string selector,
                 const CommandSettings& settings)
      : words_(std::move(words)),
        declaration_(declaration),
        selector_(std::move(selector)),
        settings_(settings) {}

  const Declaration& declaration() const override { return declaration_; }
  std::string selector() const override { return selector_; }
  std::int64_t batch() const override { return settings_.batch; }

  void prepare(std::span<const CaseData* const> cases) override {
    ready_.clear();
    std::vector<const CaseData*> fitting;
    for (const CaseData* data : cases) {
      if (!is_too_large(*data)) fitting.push_back(data);
    }
    if (fitting.size() < 2 || given_up() || stopped()) return;
    std::vector<SubjectRun> runs;
    if (!start(fitting, runs)) return;
    for (std::size_t n = 0; n < fitting.size(); ++n) ready_[fitting[n]] = std::move(runs[n]);
  }

  SubjectRun run(const CaseData& data) override {
    if (const auto found = ready_.find(&data); found != ready_.end()) {
      SubjectRun run = std::move(found->second);
      ready_.erase(found);
      return run;
    }
    if (stopped()) return not_run(Outcome::kSkipped, "interrupted");
    if (given_up()) {
      return not_run(Outcome::kSkipped,
                     fmt::format("{} starts before took too long; no more are made", timeouts_));
    }
    if (is_too_large(data)) {
      return not_run(Outcome::kUnsupported,
                     fmt::format("its weights take {} MiB, more than a quarter of the memory limit",
                                 weight_bytes(data) >> 20));
    }
    const CaseData* const one[] = {&data};
    std::vector<SubjectRun> runs;
    start(one, runs);
    return std::move(runs.front());
  }

 private:
  bool stopped() const { return settings_.stop && settings_.stop(); }
  // Sparse memory is a whole file for the child, which maps it and may copy it.
  bool is_too_large(const CaseData& data) const { return weight_bytes(data) > settings_.limits.memory / 4; }
  bool given_up() const { return timeouts_ >= settings_.timeouts; }

  // One start. One run a case; false: the start did not end well, and for several cases says nothing.
  bool start(std::span<const CaseData* const> cases, std::vector<SubjectRun>& runs) {
    const Clock::time_point began = Clock::now();
    const auto all = [&](Outcome outcome, const std::string& reason) {
      runs.assign(cases.size(), not_run(outcome, reason));
      return false;
    };
    Result<WorkFolder> folder = WorkFolder::make();
    // Our own trouble (a full disk) is not the subject's failure; that the case did not run is seen by the
    // gate.
    if (!folder.ok()) return all(Outcome::kSkipped, folder.error().message());
    const fs::path inputs = folder->path() / "cases", outputs = folder->path() / "results";
    fs::create_directory(inputs);
    fs::create_directory(outputs);
    for (std::size_t n = 0; n < cases.size(); ++n) {
      if (stopped()) return all(Outcome::kSkipped, "interrupted");
      if (Status status = write_exchange_case(inputs / result_name(n), *cases[n], settings_.packed)) {
        return all(Outcome::kSkipped, status->message());
      }
    }
    const ChildStart child{with_folders(words_, inputs.string(), outputs.string()),
                           settings_.environment,
                           outputs,
                           folder->path() / "log",
                           settings_.limits,
                           settings_.stop};
    const ChildEnd end = run_child(child);
    timeouts_ += end.kind == ChildEnd::Kind::kTimeout ? 1 : 0;
    if (!end.well()) {
      return all(outcome_of(end), words_of(end, settings_.limits) + last_words(child.log));
    }
    runs.clear();
    bool well = true;
    for (std::size_t n = 0; n < cases.size(); ++n) {
      runs.push_back(read_child_result(outputs, n, *cases[n], settings_.limits.output));
      SubjectRun& run = runs.back();
      if (settings_.more) settings_.more(outputs, n, run);
      timeouts_ += run.outcome == Outcome::kTimeout ? 1 : 0;
      run.inputs_unchanged =
          run.inputs_unchanged && holds_exchange_case(inputs / result_name(n), *cases[n], settings_.packed);
      if (run.outcome == Outcome::kError) run.reason += last_words(child.log);
      run.seconds =
          std::chrono::duration<double>(Clock::now() - began).count() / static_cast<double>(cases.size());
      well = well && run.outcome != Outcome::kError;
    }
    return well;
  }

  std::vector<std::string> words_;
  Declaration declaration_;
  std::string selector_;
  CommandSettings settings_;
  std::int64_t timeouts_ = 0;
  std::map<const CaseData*, SubjectRun> ready_;  // of the last prepare()
};

}  // namespace

std::unique_ptr<Subject> make_command_subject(std::vector<std::string> words, const Declaration& declaration,
                                              std::string selector, const CommandSettings& settings) {
  return std::make_unique<CommandSubject>(std::move(words), declaration, std::move(selector), settings);
}

}  // namespace moe4::oracle
