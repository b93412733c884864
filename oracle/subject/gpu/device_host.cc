#include "oracle/subject/gpu/device_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/device/cuda_device.h"
#include "oracle/file/case_file.h"
#include "oracle/file/result_file.h"
#include "oracle/report/write_file.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Outcome = SubjectRun::Outcome;

constexpr std::pair<Outcome, const char*> kOutcomes[] = {
    {Outcome::kRan, "ran"},         {Outcome::kUnsupported, "unsupported"}, {Outcome::kSkipped, "skipped"},
    {Outcome::kCrashed, "crashed"}, {Outcome::kTimeout, "timeout"},         {Outcome::kError, "error"}};

Result<std::unique_ptr<Subject>> open_hosted(const HostedSubject& hosted) {
  gpu::MadeCudaDevice made = gpu::make_cuda_device(hosted.cuda);
  if (!made.device) return Error{"--device", "cuda", made.error};
  ExecutorSettings settings;
  settings.time_limit = hosted.seconds;
  if (!hosted.ptx.empty()) {
    return open_ptx_subject(hosted.ptx, hosted.declare, std::move(made.device), settings);
  }
  return make_executor_subject(hosted.name, std::move(made.device), settings);
}

Json answer_of(const SubjectRun& run) {
  Json json = {{"reason", run.reason}, {"findings", Json::array()}, {"approximate", run.approximate}};
  for (const auto& [outcome, word] : kOutcomes) {
    if (outcome == run.outcome) json["outcome"] = word;
  }
  for (const DeviceFinding& finding : run.findings) {
    json["findings"].push_back(
        {{"check", finding.check}, {"text", finding.text}, {"formal", finding.formal}});
  }
  return json;
}

fs::path answer_path(const fs::path& result) { return fs::path(result).replace_extension("device.json"); }

// Also whether the context is still alive.
Result<bool> compute(Subject& subject, const fs::path& input, const fs::path& result) {
  Result<CaseData> data = read_case(input);
  if (!data.ok()) return data.error();
  SubjectRun run = subject.run(*data);
  const bool alive = run.outcome != Outcome::kCrashed && run.outcome != Outcome::kTimeout;
  if (Status status = write_file(answer_path(result), answer_of(run).dump() + "\n")) return *status;
  if (run.outcome != Outcome::kRan) return alive;
  ResultFile file;
  file.output = std::move(run.output);
  file.unwritten = std::move(run.unwritten);
  file.inputs_changed = !run.inputs_unchanged;
  file.produced_by = "moe4 device-host";
  if (Status status = write_result(result, file)) return *status;
  return alive;
}

}  // namespace

Status host_on_cuda(const HostedSubject& hosted, const fs::path& cases, const fs::path& results) {
  std::vector<fs::path> inputs;
  std::error_code error;
  for (fs::directory_iterator entry(cases, error), end; !error && entry != end; entry.increment(error)) {
    inputs.push_back(entry->path());
  }
  if (error) return Error{cases.string(), "", "cannot be read: " + error.message()};
  std::sort(inputs.begin(), inputs.end());
  Result<std::unique_ptr<Subject>> subject = open_hosted(hosted);
  if (!subject.ok()) return subject.error();
  for (const fs::path& input : inputs) {
    Result<bool> alive = compute(**subject, input, results / input.filename());
    if (!alive.ok()) return alive.error();
    if (!*alive) return {};
  }
  return {};
}

void read_device_answer(const fs::path& results, std::size_t n, SubjectRun& run) {
  Result<std::string> text = read_file((results / fmt::format("{:04}.device.json", n)).string());
  if (!text.ok()) return;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("outcome")) return;
  for (const auto& [outcome, word] : kOutcomes) {
    if (json["outcome"] != word || outcome == Outcome::kRan) continue;
    run.outcome = outcome;
    run.reason = json.value("reason", "");
  }
  for (const Json& finding : json.value("findings", Json::array())) {
    run.findings.push_back(
        {finding.value("check", ""), finding.value("text", ""), finding.value("formal", false)});
  }
  run.approximate = json.value("approximate", std::vector<std::string>());
}

}  // namespace moe4::oracle
