// Writes the seed corpus of case_file_fuzz into a folder: small files of every kind, by the project's own
// writer.
#include <cstdio>

#include "oracle/file/case_file.h"
#include "oracle/generate/generate.h"

int main(int argc, char** argv) {
  using namespace moe4::oracle;  // NOLINT
  if (argc != 2) {
    std::fputs("usage: case_file_fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const auto refuse = [](const moe4::Error& error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    return 2;
  };
  int number = 0;
  for (const char* line :
       {"tokens=2 experts=2 top_k=1 in=32 out=2", "tokens=1 in=64 fill=exact24 dtype=f32 scale_nan=formula",
        "tokens=1 experts=3 top_k=2 in=32 out=1 dtype=f64 mixture=f16 shared=bf16 ids_dtype=i64 fill=bits "
        "ids=absent",
        "op=indexed weights=int4 tokens=2 experts=2 in=32 out=2 block_m=2 fill=bits",
        "op=grouped_contiguous tokens=2 experts=2 in=32 out=2 block_m=2",
        "op=grouped_masked weights=int4 in=32 out=1 max_m=2",
        "op=combine tokens=2 experts=3 top_k=2 in=32 out=2 routing=minus_one dtype=f32",
        "weights=int4 layout=compressed_tensors tokens=2 experts=2", "tokens=0", "top_k=0 experts=0", "out=0",
        "tokens=2 fill=nonfinite dtype=f16"}) {
    const auto c = parse_case(line);
    if (!c) return refuse(c.error());
    auto data = generate(*c);
    if (!data) return refuse(data.error());
    if (number % 2 == 1) data->line.reset();
    const auto status = write_case(folder / ("case-" + std::to_string(number++)), *data);
    if (status) return refuse(*status);
  }
  ResultFile result;
  result.output = moe4::Tensor(moe4::Dtype::kBF16, {2, 3});
  result.produced_by = "seed";
  if (const auto status = write_result(folder / "result", result)) return refuse(*status);
  return 0;
}
