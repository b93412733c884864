#include "oracle/subject/plugin/plugin_host.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "oracle/case/output_rows.h"
#include "oracle/file/case_file.h"
#include "oracle/judge/encodings.h"
#include "oracle/report/write_file.h"
#include "oracle/subject/plugin/plugin_case.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

Result<const moe4_plugin*> load(const std::string& library) {
  const auto refuse = [&](std::string value, std::string rule) {
    return Error{library, std::move(value), std::move(rule)};
  };
  // Without a slash dlopen would search the system's folders.
  const std::string path = library.find('/') == std::string::npos ? "./" + library : library;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refuse("", std::string("cannot be loaded: ") + dlerror());
  using Entry = const moe4_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "moe4_plugin_entry"));
  if (entry == nullptr) return refuse("", "does not export moe4_plugin_entry (oracle/subject/plugin.h)");
  const moe4_plugin* plugin = entry();
  if (plugin == nullptr) return refuse("", "its moe4_plugin_entry returns a null pointer");
  if (plugin->abi != MOE4_PLUGIN_ABI) {
    return refuse("",
                  fmt::format("is built for version {} of the plug-in interface; this moe4 speaks version {}",
                              plugin->abi, MOE4_PLUGIN_ABI));
  }
  if (plugin->size < sizeof(moe4_plugin) || plugin->run == nullptr) {
    return refuse(fmt::format("size {}", plugin->size), "a moe4_plugin of this version, with run");
  }
  return plugin;
}

// One call, into an output that holds `garbage`.
struct Call {
  int code = MOE4_OK;
  std::string message;
  Tensor output;
  bool unchanged = true, intact = true;
};

Call call(const moe4_plugin& plugin, const CaseData& data, std::byte garbage) {
  const OutputShape due = output_shape(data);
  PluginCase lent(data);
  Call result;
  result.output = Tensor(due.dtype, due.shape);
  GuardedBuffer buffer(result.output.bytes());
  std::fill_n(buffer.data(), buffer.bytes(), garbage);
  const moe4_output output{sizeof(moe4_output), plugin_dtype(due.dtype),
                           static_cast<std::uint32_t>(due.shape.size()), due.shape.data(), buffer.data()};
  char message[512] = "";
  result.code = plugin.run(&lent.get(), &output, message, sizeof message);
  message[sizeof message - 1] = 0;
  result.message = message;
  result.unchanged = lent.unchanged();
  result.intact = buffer.intact();
  if (buffer.bytes() != 0) std::memcpy(result.output.data(), buffer.data(), buffer.bytes());
  return result;
}

// Elements that hold the garbage of each of two calls.
std::vector<bool> unwritten(const Tensor& a, std::byte in_a, const Tensor& b, std::byte in_b) {
  const std::size_t size = size_of(a.dtype());
  const auto untouched = [size](const Tensor& t, std::size_t n, std::byte garbage) {
    const std::byte* at = t.data() + n * size;
    return std::all_of(at, at + size, [&](std::byte byte) { return byte == garbage; });
  };
  std::vector<bool> elements(static_cast<std::size_t>(a.elements()));
  for (std::size_t n = 0; n < elements.size(); ++n)
    elements[n] = untouched(a, n, in_a) && untouched(b, n, in_b);
  return elements;
}

Status answer(const fs::path& result, const char* kind, const std::string& text) {
  return write_file(fs::path(result).replace_extension(kind), text + "\n");
}

// VER-18: elements of counted rows that both calls have written, with other bits (VER-5).
std::int64_t count_differing(const CaseData& data, const Tensor& a, const Tensor& b,
                             const std::vector<bool>& unwritten) {
  const Encodings encodings(a.dtype());
  const std::int64_t out = output_shape(data).out;
  std::int64_t count = 0;
  for (const OutputRow& row : output_rows(data)) {
    for (std::int64_t n = row.row * out; n < (row.row + 1) * out; ++n) {
      const std::uint64_t was = encodings.load(a, n), is = encodings.load(b, n);
      const bool same = was == is || (encodings.is_nan(was) && encodings.is_nan(is)) ||
                        (encodings.is_zero(was) && encodings.is_zero(is));
      count += same || unwritten[static_cast<std::size_t>(n)] ? 0 : 1;
    }
  }
  return count;
}

Status compute(const moe4_plugin& plugin, const fs::path& input, const fs::path& result, bool deterministic) {
  Result<CaseData> data = read_case(input);
  if (!data.ok()) return data.error();
  constexpr std::byte kFirst{0xA5}, kSecond{0x5A};
  const Call first = call(plugin, *data, kFirst);
  if (first.code == MOE4_UNSUPPORTED) return answer(result, "unsupported", first.message);
  Call second = call(plugin, *data, kSecond);
  for (const Call* each : {&first, static_cast<const Call*>(&second)}) {
    if (each->code != MOE4_OK) {
      return answer(result, "failed", fmt::format("returned {}: {}", each->code, each->message));
    }
    if (!each->intact) return answer(result, "failed", "it wrote beside the output");
  }
  ResultFile file;
  file.unwritten = unwritten(first.output, kFirst, second.output, kSecond);
  const std::int64_t differing = count_differing(*data, first.output, second.output, file.unwritten);
  if (deterministic && differing > 0) {
    return answer(result, "failed",
                  fmt::format("VER-18: a second call gave {} outputs other bits than the first", differing));
  }
  file.inputs_changed = !first.unchanged || !second.unchanged;
  file.output = std::move(second.output);
  file.produced_by = "moe4 plugin-host";
  return write_result(result, file);
}

}  // namespace

Status host_plugin(const std::string& library, const std::string& cases, const std::string& results,
                   bool deterministic) {
  const Result<const moe4_plugin*> plugin = load(library);
  if (!plugin.ok()) return plugin.error();
  std::vector<fs::path> inputs;
  std::error_code error;
  for (fs::directory_iterator entry(cases, error), end; !error && entry != end; entry.increment(error)) {
    inputs.push_back(entry->path());
  }
  if (error) return Error{cases, "", "cannot be read: " + error.message()};
  std::sort(inputs.begin(), inputs.end());
  for (const fs::path& input : inputs) {
    if (Status status = compute(**plugin, input, fs::path(results) / input.filename(), deterministic))
      return status;
  }
  return {};
}

}  // namespace moe4::oracle
