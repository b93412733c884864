#include "oracle/hardware/recording.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>
#include <set>

#include "oracle/file/safetensors.h"
#include "oracle/fixtures/sha256.h"
#include "oracle/hardware/probe_ptx.h"
#include "reference/accumulate/tensor_core.h"

namespace moe4::oracle {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr const char* kVersion = "1";
constexpr const char* kChecksum = "moe4.sha256";
constexpr std::uint32_t kMaxCount = 1u << 20;

// Over everything but itself, so that neither bits nor their origin can be edited alone.
std::string checksum(const Metadata& metadata, const std::map<std::string, const Tensor*>& tensors) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksum) text += fmt::format("{}:{}={}:{}\n", key.size(), key, value.size(), value);
  }
  for (const auto& [name, tensor] : tensors) {
    text += fmt::format("{}:{}\n", name, tensor->bytes());
    text.append(reinterpret_cast<const char*>(tensor->data()), tensor->bytes());
  }
  return sha256_hex(text);
}

std::string operand_name(std::size_t n) { return fmt::format("operand_{}", n); }

Tensor tensor_of(const std::vector<std::byte>& bytes, std::uint32_t count) {
  Tensor tensor(Dtype::kU8, {count, static_cast<std::int64_t>(bytes.size() / count)});
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.bytes()};
}

Status check_device(const RecordedDevice& d) {
  const bool executor = d.device == kExecutor;
  if (!executor && d.device != "cuda") return Error{"moe4.device", d.device, "is executor or cuda"};
  for (const auto& [key, value] : {std::pair{"moe4.chip", &d.chip}, std::pair{"moe4.driver", &d.driver},
                                   std::pair{"moe4.toolkit", &d.toolkit}}) {
    if (executor && *value != kNone) {
      return Error{key, *value, "an executor has no chip, driver or toolkit: none is due"};
    }
    if (!executor && (value->empty() || *value == kNone)) {
      return Error{key, *value, "what a device that is no executor recorded names it"};
    }
  }
  if (d.version.empty()) return Error{"moe4.device_version", "", "must not be empty"};
  return {};
}

Status check(const Recording& recording) {
  const Probe* probe = find_probe(recording.probe);
  if (probe == nullptr) {
    return Error{"moe4.probe", recording.probe, "no such instruction among the probes of this build"};
  }
  if (Status status = check_device(recording.device)) return status;
  if (tensor_core(recording.hardware) == nullptr) {
    return Error{"moe4.hardware", recording.hardware, "ACC-14: no such generation"};
  }
  if (recording.count == 0 || recording.count > kMaxCount) {
    return Error{"moe4.count", std::to_string(recording.count), "is 1 … 2^20"};
  }
  for (std::size_t n = 0; n < probe->operands.size(); ++n) {
    if (n < recording.operands.size() &&
        recording.operands[n].size() == recording.count * probe->operand_bytes(n)) {
      continue;
    }
    return Error{operand_name(n), "", fmt::format("is [{}, {}]", recording.count, probe->operand_bytes(n))};
  }
  if (recording.result.size() != recording.count * probe->result_bytes()) {
    return Error{"result", "", fmt::format("is [{}, {}]", recording.count, probe->result_bytes())};
  }
  return {};
}

template <class T>
Status parse_number(const Metadata& metadata, const char* key, T* value) {
  const std::string& text = metadata.at(key);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return Error{key, text, "is a decimal number"};
  }
  return {};
}

Status check_keys(const Metadata& metadata) {
  static const std::set<std::string> kKeys = {
      "moe4.version",        "moe4.file",       "moe4.probe",  "moe4.hardware", "moe4.device",
      "moe4.device_version", "moe4.chip",       "moe4.driver", "moe4.toolkit",  "moe4.seed",
      "moe4.count",          "moe4.ptx_sha256", kChecksum};
  const auto file = metadata.find("moe4.file");
  if (file == metadata.end() || file->second != "hardware_probe") {
    return Error{"moe4.file", file == metadata.end() ? "(absent)" : file->second,
                 "a recording says hardware_probe"};
  }
  for (const std::string& key : kKeys) {
    if (!metadata.contains(key)) return Error{key, "(absent)", "every recording has it"};
  }
  for (const auto& [key, value] : metadata) {
    if (!kKeys.contains(key)) return Error{key, value, "no recording has it"};
  }
  if (metadata.at("moe4.version") != kVersion) {
    return Error{"moe4.version", metadata.at("moe4.version"), "this build reads version 1"};
  }
  return {};
}

}  // namespace

std::string recording_name(const std::string& probe) { return probe + ".probe.safetensors"; }

Status write_recording(const std::filesystem::path& path, const Recording& recording) {
  if (Status status = check(recording)) return status;
  const RecordedDevice& device = recording.device;
  Metadata metadata = {{"moe4.version", kVersion},
                       {"moe4.file", "hardware_probe"},
                       {"moe4.probe", recording.probe},
                       {"moe4.hardware", recording.hardware},
                       {"moe4.device", device.device},
                       {"moe4.device_version", device.version},
                       {"moe4.chip", device.chip},
                       {"moe4.driver", device.driver},
                       {"moe4.toolkit", device.toolkit},
                       {"moe4.seed", std::to_string(recording.seed)},
                       {"moe4.count", std::to_string(recording.count)},
                       {"moe4.ptx_sha256", sha256_hex(probe_ptx(*find_probe(recording.probe)))}};
  std::map<std::string, Tensor> owned;
  for (std::size_t n = 0; n < recording.operands.size(); ++n) {
    if (recording.operands[n].empty()) continue;
    owned.emplace(operand_name(n), tensor_of(recording.operands[n], recording.count));
  }
  owned.emplace("result", tensor_of(recording.result, recording.count));
  std::map<std::string, const Tensor*> tensors;
  for (const auto& [name, tensor] : owned) tensors.emplace(name, &tensor);
  metadata.emplace(kChecksum, checksum(metadata, tensors));
  return write_safetensors(path, tensors, metadata);
}

Result<Recording> read_recording(const std::filesystem::path& path) {
  Result<SafeTensors> file = read_safetensors(path);
  if (!file.ok()) return file.error();
  const Metadata& metadata = file->metadata;
  if (Status status = check_keys(metadata)) return *status;
  std::map<std::string, const Tensor*> tensors;
  for (const auto& [name, tensor] : file->tensors) tensors.emplace(name, &tensor);
  if (checksum(metadata, tensors) != metadata.at(kChecksum)) {
    return Error{kChecksum, metadata.at(kChecksum), "is not that of the file's content: it was changed"};
  }
  Recording recording;
  recording.probe = metadata.at("moe4.probe");
  recording.hardware = metadata.at("moe4.hardware");
  recording.device = {metadata.at("moe4.device"), metadata.at("moe4.device_version"),
                      metadata.at("moe4.chip"), metadata.at("moe4.driver"), metadata.at("moe4.toolkit")};
  if (Status status = parse_number(metadata, "moe4.seed", &recording.seed)) return *status;
  if (Status status = parse_number(metadata, "moe4.count", &recording.count)) return *status;
  const Probe* probe = find_probe(recording.probe);
  std::size_t found = 0;
  recording.operands.resize(probe == nullptr ? 0 : probe->operands.size());
  for (const auto& [name, tensor] : file->tensors) {
    if (name == "result") {
      recording.result = bytes_of(tensor);
      ++found;
    }
    for (std::size_t n = 0; n < recording.operands.size(); ++n) {
      if (name != operand_name(n)) continue;
      recording.operands[n] = bytes_of(tensor);
      ++found;
    }
  }
  if (Status status = check(recording)) return *status;
  if (found != file->tensors.size()) {
    return Error{"tensors", std::to_string(file->tensors.size()),
                 "a recording holds operands and result only"};
  }
  if (sha256_hex(probe_ptx(*probe)) != metadata.at("moe4.ptx_sha256")) {
    return Error{"moe4.ptx_sha256", metadata.at("moe4.ptx_sha256"),
                 "recorded with another PTX text than this build's for " + recording.probe};
  }
  return recording;
}

}  // namespace moe4::oracle
