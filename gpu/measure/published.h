// The published timings that our kernels are measured beside: Kimi K2.x layers on one H200 of eight.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace moe4::gpu {

struct PublishedPoint {
  std::string_view deployment;  // gpu/launch/dispatch/deployment.h
  bool gate_up = true;          // else down
  std::int64_t tokens = 0;      // as the table names it; grouped: rows an expert
  double microseconds = 0;      // of Chord

  std::int64_t experts = 0, out = 0, in = 0;  // of this GPU's weights
  std::int64_t rows = 0;                      // that are multiplied
  std::int64_t tokens_in = 0;                 // rows of latent_tokens
};

const std::vector<PublishedPoint>& published_points();

// Of one call on an H200: what its memory and its tensor cores need at least, in microseconds. active:
// experts that have a row.
struct Floors {
  double memory = 0, compute = 0;
  double larger() const { return memory > compute ? memory : compute; }
};
Floors floors_of(const PublishedPoint& point, std::int64_t active);

}  // namespace moe4::gpu
