#include "tests/gpu/kernels_host_linear.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace moe4::gpu::test {
namespace {

constexpr double kMagnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

// A counter-based mixer, so that a case depends on nothing but its seed.
std::uint64_t mix(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15u + counter;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::vector<std::byte> encode(const std::vector<float>& values, std::string_view dtype) {
  std::vector<std::byte> bytes(values.size() * (dtype == "bf16" ? 2 : 4));
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (dtype == "bf16") {
      const std::uint16_t bits = bf16_bits(values[n]);
      std::memcpy(&bytes[2 * n], &bits, 2);
    } else {
      std::memcpy(&bytes[4 * n], &values[n], 4);
    }
  }
  return bytes;
}

std::vector<float> decode(const std::vector<std::byte>& bytes, std::string_view dtype) {
  std::vector<float> values(bytes.size() / (dtype == "bf16" ? 2 : 4));
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (dtype == "bf16") {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &bytes[2 * n], 2);
      values[n] = from_bf16(bits);
    } else {
      std::memcpy(&values[n], &bytes[4 * n], 4);
    }
  }
  return values;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

double weight(const LinearCase& c, std::int64_t expert, std::int64_t row, std::int64_t i) {
  const std::int64_t groups = c.shape.in / 32;
  const std::int64_t group = (expert * c.shape.out + row) * groups + i / 32;
  const std::uint8_t byte = c.packed[static_cast<std::size_t>(group * 16 + i % 32 / 2)];
  const unsigned code = i % 2 == 0 ? byte & 15u : byte >> 4;
  const std::uint8_t scale = c.scales[static_cast<std::size_t>(group)];
  if (scale == 255) return std::nan("");
  return std::ldexp(code >= 8 ? -kMagnitudes[code - 8] : kMagnitudes[code], scale - 127);
}

}  // namespace

void LinearCase::set_code(std::int64_t expert, std::int64_t row, std::int64_t i, unsigned code) {
  std::uint8_t& byte = packed[static_cast<std::size_t>((expert * shape.out + row) * shape.in / 2 + i / 2)];
  byte = static_cast<std::uint8_t>(i % 2 == 0 ? (byte & 0xF0u) | code : (byte & 0x0Fu) | code << 4);
}

LinearCase blank_case(const LaunchShape& s) {
  LinearCase c;
  c.shape = s;
  c.tokens.resize(static_cast<std::size_t>(s.tokens * s.in));
  c.packed.resize(static_cast<std::size_t>(s.experts * s.out * s.in / 2));
  c.scales.resize(static_cast<std::size_t>(s.experts * s.out * s.in / 32), 127);
  c.ids.resize(static_cast<std::size_t>(s.tokens * s.top_k));
  c.mixture.resize(static_cast<std::size_t>(s.tokens * s.top_k), 1.0f);
  c.shared.resize(static_cast<std::size_t>(s.tokens * s.out));
  return c;
}

LinearCase exact_case(const LaunchShape& s, std::uint64_t seed) {
  LinearCase c = blank_case(s);
  std::uint64_t counter = 0;
  const auto draw = [&](std::uint64_t below) { return mix(seed, ++counter) % below; };
  for (float& x : c.tokens) x = static_cast<float>(draw(9)) - 4.0f;
  for (std::uint8_t& b : c.packed) b = static_cast<std::uint8_t>(draw(256));
  for (std::uint8_t& b : c.scales) b = static_cast<std::uint8_t>(125 + draw(5));
  for (std::int32_t& e : c.ids) e = static_cast<std::int32_t>(draw(static_cast<std::uint64_t>(s.experts)));
  const float weights[4] = {1.0f, 2.0f, -1.0f, 0.5f};
  for (float& p : c.mixture) p = weights[draw(4)];
  for (float& y : c.shared) y = static_cast<float>(draw(65)) - 32.0f;
  return c;
}

std::vector<float> expected_output(const LinearCase& c, std::string_view dtype) {
  const LaunchShape& s = c.shape;
  std::vector<float> output;
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    for (std::int64_t o = 0; o < s.out; ++o) {
      double sum = c.shared[static_cast<std::size_t>(t * s.out + o)];
      for (std::int64_t j = 0; j < s.top_k; ++j) {
        const auto slot = static_cast<std::size_t>(t * s.top_k + j);
        double dot = 0;
        for (std::int64_t i = 0; i < s.in; ++i) {
          dot += weight(c, c.ids[slot], o, i) * c.tokens[static_cast<std::size_t>(t * s.in + i)];
        }
        sum += c.mixture[slot] * dot;
      }
      const auto rounded = static_cast<float>(sum);
      output.push_back(dtype == "bf16" ? from_bf16(bf16_bits(rounded)) : rounded);
    }
  }
  return output;
}

LinearRun run_linear(const Variant& variant, const LinearCase& c, Device& device,
                     const std::function<void(KernelLaunch&)>& edit, const LaunchSettings& settings) {
  const std::vector<std::byte> tokens = encode(c.tokens, variant.dtype);
  const std::vector<std::byte> shared = encode(c.shared, variant.dtype);
  std::vector<std::byte> output(shared.size());

  device.reset();
  TensorBuffers buffers;
  buffers["latent_tokens"] = device.add_input("latent_tokens", tokens);
  buffers["packed_weights"] = device.add_input("packed_weights", bytes_of(c.packed));
  buffers["scale_bytes"] = device.add_input("scale_bytes", bytes_of(c.scales));
  buffers["selected_experts"] = device.add_input("selected_experts", bytes_of(c.ids));
  buffers["mixture_weights"] = device.add_input("mixture_weights", bytes_of(c.mixture));
  buffers["shared_output"] = device.add_input("shared_output", shared);
  const BufferId output_buffer = device.add_output("output", output.size());
  buffers["output"] = output_buffer;

  LinearRun run;
  std::optional<KernelLaunch> launch = variant.plan(variant, c.shape, buffers);
  run.planned = launch.has_value();
  if (run.planned) {
    if (edit) edit(*launch);
    run.outcome = device.launch(*launch, settings);
    device.read(output_buffer, output);
    const std::vector<bool> bytes = device.written(output_buffer);
    const std::size_t size = variant.dtype == "bf16" ? 2 : 4;
    for (std::size_t n = 0; n + size <= bytes.size(); n += size) {
      bool all = true;
      for (std::size_t k = 0; k < size; ++k) all = all && bytes[n + k];
      run.written.push_back(all);
    }
  }
  run.output = decode(output, variant.dtype);
  run.inputs_unchanged = device.inputs_unchanged();
  device.reset();  // the inputs above are borrowed
  return run;
}

bool same_value(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace moe4::gpu::test
