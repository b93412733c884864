// Sums of products: an octet of weight rows, decoded block by block, against all rows of tokens.

template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  using Type = double __attribute__((vector_size(MOE4_VECTOR_BYTES)));
};
template <>
struct VectorOf<float> {
  using Type = float __attribute__((vector_size(MOE4_VECTOR_BYTES)));
};
using Doubles = VectorOf<double>::Type;
using Floats = VectorOf<float>::Type;

// sum += a·b. The products are exact, so one rounding and two are the same.
#if MOE4_VECTOR_BYTES == 64
MOE4_TARGET inline void multiply_add(Doubles& sum, const Doubles& a, const Doubles& b) {
  sum = _mm512_fmadd_pd(a, b, sum);
}
MOE4_TARGET inline void multiply_add(Floats& sum, const Floats& a, const Floats& b) {
  sum = _mm512_fmadd_ps(a, b, sum);
}
constexpr int kWeightRowsAtOnce = 8;
// In a register once, not from memory for each row of tokens.
#define MOE4_KEEP(vector) asm("" : "+v"(vector))
#elif MOE4_VECTOR_BYTES == 32
MOE4_TARGET inline void multiply_add(Doubles& sum, const Doubles& a, const Doubles& b) {
  sum = _mm256_fmadd_pd(a, b, sum);
}
MOE4_TARGET inline void multiply_add(Floats& sum, const Floats& a, const Floats& b) {
  sum = _mm256_fmadd_ps(a, b, sum);
}
constexpr int kWeightRowsAtOnce = 4;
#define MOE4_KEEP(vector) asm("" : "+x"(vector))
#else
template <class Vector>
inline void multiply_add(Vector& sum, const Vector& a, const Vector& b) {
  const Vector product = a * b;
  sum = sum + product;
}
constexpr int kWeightRowsAtOnce = 4;
#define MOE4_KEEP(vector) static_cast<void>(0)
#endif
constexpr int kTokenRowsAtOnce = 3;

// kWeightRowsAtOnce rows of the panel against kRows rows of tokens, over `count` elements.
template <class T, int kRows>
MOE4_TARGET void tile(const T* panel, const T* tokens, std::int64_t stride, std::int64_t count, T* lanes,
                      bool first) {
  using Vector = typename VectorOf<T>::Type;
  constexpr std::int64_t kLanes = MOE4_VECTOR_BYTES / sizeof(T);
  Vector sum[kRows][kWeightRowsAtOnce];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int k = 0; k < kWeightRowsAtOnce; ++k) {
      const T* const at = lanes + (r * kOctet + k) * kLanes;
      sum[r][k] = first ? Vector{} : *reinterpret_cast<const Vector*>(at);
    }
  }
  for (std::int64_t i = 0; i < count; i += kLanes) {
    Vector x[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) x[r] = *reinterpret_cast<const Vector*>(tokens + r * stride + i);
#pragma GCC unroll 8
    for (int k = 0; k < kWeightRowsAtOnce; ++k) {
      Vector w = *reinterpret_cast<const Vector*>(panel + k * kPanelStride + i);
      MOE4_KEEP(w);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) multiply_add(sum[r][k], w, x[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int k = 0; k < kWeightRowsAtOnce; ++k) {
      *reinterpret_cast<Vector*>(lanes + (r * kOctet + k) * kLanes) = sum[r][k];
    }
  }
}

// One octet, one block of groups.
template <class T>
MOE4_TARGET void dot_block(const DotJob<T>& job, std::int64_t octet, std::int64_t first_group) {
  constexpr std::int64_t kLanes = MOE4_VECTOR_BYTES / sizeof(T);
  const std::int64_t rest = job.weights.groups - first_group;
  const std::int64_t groups = rest < kGroupsInBlock ? rest : kGroupsInBlock;
  for (std::int64_t k = 0; k < kOctet; ++k) {
    for (std::int64_t g = 0; g < groups; ++g) {
      decode_group(job.weights, octet * kOctet + k, first_group + g, job.panel + k * kPanelStride + 32 * g);
    }
  }
  const bool first = first_group == 0;
  const T* const tokens = job.tokens + 32 * first_group;
  for (std::int64_t r = 0; r < job.rows; r += kTokenRowsAtOnce) {
    T* const lanes = job.lanes + (octet * job.rows + r) * kOctet * kLanes;
    for (std::int64_t k = 0; k < kOctet; k += kWeightRowsAtOnce) {
      const T* const panel = job.panel + k * kPanelStride;
      const T* const x = tokens + r * job.stride;
      if (job.rows - r >= 3) {
        tile<T, 3>(panel, x, job.stride, 32 * groups, lanes + k * kLanes, first);
      } else if (job.rows - r == 2) {
        tile<T, 2>(panel, x, job.stride, 32 * groups, lanes + k * kLanes, first);
      } else {
        tile<T, 1>(panel, x, job.stride, 32 * groups, lanes + k * kLanes, first);
      }
    }
  }
}

template <class T>
MOE4_TARGET void join_lanes(const DotJob<T>& job) {
  constexpr int kLanes = static_cast<int>(MOE4_VECTOR_BYTES / sizeof(T));
  for (std::int64_t octet = 0; octet < job.weights.octets; ++octet) {
    for (std::int64_t r = 0; r < job.rows; ++r) {
      for (std::int64_t k = 0; k < kOctet; ++k) {
        const T* const lanes = job.lanes + ((octet * job.rows + r) * kOctet + k) * kLanes;
        double sum = static_cast<double>(lanes[0]);
        for (int lane = 1; lane < kLanes; ++lane) sum = sum + static_cast<double>(lanes[lane]);
        job.sums[(r * job.weights.octets + octet) * kOctet + k] = sum;
      }
    }
  }
}

template <class T>
MOE4_TARGET void dot(const DotJob<T>& job) {
  // Few tokens stay in the cache whatever the order, and then the codes are best read as they lie.
  constexpr std::int64_t kFewBytes = 1 << 19;
  const bool few = job.rows * job.weights.groups * 32 * static_cast<std::int64_t>(sizeof(T)) <= kFewBytes;
  if (few) {
    for (std::int64_t octet = 0; octet < job.weights.octets; ++octet) {
      for (std::int64_t g = 0; g < job.weights.groups; g += kGroupsInBlock) dot_block(job, octet, g);
    }
  } else {
    for (std::int64_t g = 0; g < job.weights.groups; g += kGroupsInBlock) {
      for (std::int64_t octet = 0; octet < job.weights.octets; ++octet) dot_block(job, octet, g);
    }
  }
  join_lanes(job);
}
