#include "oracle/gate/batches.h"

#include <algorithm>
#include <optional>

#include "oracle/generate/generate.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

std::size_t bytes_of(const CaseData& d) {
  return d.latent_tokens.bytes() + d.packed_weights.bytes() + d.scale_tensor().bytes() +
         d.shared_output.bytes() + d.rows.bytes() + d.packed.codes.bytes() + d.packed.scales.bytes();
}

struct Prepared {
  const Case* line = nullptr;
  std::optional<Result<CaseData>> data;

  const Result<CaseData>& get() {
    if (!data) data = generate(*line);
    return *data;
  }
};

bool accepted(std::span<Subject* const> subjects, const Case& line) {
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject* s) { return !s->declaration().refuses(line); });
}

}  // namespace

void for_each_case(std::span<Subject* const> subjects, const std::vector<Case>& lines,
                   const std::function<bool()>& stop,
                   const std::function<void(const Case& line, const CaseSource& data)>& each) {
  std::vector<Subject*> batching;
  std::int64_t batch = 1;
  for (Subject* subject : subjects) {
    if (subject->batch() > 1) batching.push_back(subject);
    batch = std::max(batch, subject->batch());
  }
  for (std::size_t begin = 0; begin < lines.size();) {
    std::vector<Prepared> cases(1);
    cases[0].line = &lines[begin];
    if (!batching.empty() && !stop()) {
      std::size_t bytes = 0;
      while (true) {
        Prepared& last = cases.back();
        if (accepted(batching, *last.line) && last.get().ok()) bytes += bytes_of(**last.data);
        const std::size_t next = begin + cases.size();
        if (next == lines.size() || static_cast<std::int64_t>(cases.size()) >= batch || bytes >= kMostBytes ||
            stop()) {
          break;
        }
        cases.push_back({&lines[next], {}});
      }
      for (Subject* subject : batching) {
        std::vector<const CaseData*> own;
        for (Prepared& prepared : cases) {
          if (prepared.data && prepared.data->ok() && !subject->declaration().refuses(*prepared.line)) {
            own.push_back(&**prepared.data);
          }
        }
        subject->prepare(own);
      }
    }
    for (Prepared& prepared : cases) {
      each(*prepared.line, [&]() -> const Result<CaseData>& { return prepared.get(); });
    }
    for (Subject* subject : batching) subject->prepare({});
    begin += cases.size();
  }
}

}  // namespace moe4::oracle
