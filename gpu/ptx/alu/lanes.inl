// Loops over the lanes of a warp, for one host instruction set. Included once in each set's namespace, where
// MOE4_TARGET names the set.

#define MOE4_INLINE inline __attribute__((always_inline))

// The register file is bytes that each instruction reads as its own type.
template <class T>
struct Aliased {
  typedef T __attribute__((may_alias)) type;
};
template <class T>
using Lane = typename Aliased<T>::type;

template <class T>
MOE4_INLINE Lane<T>* at(Warp& warp, std::uint32_t operand) {
  return reinterpret_cast<Lane<T>*>(warp.base[operand >> 31] + (operand & ~kConstant));
}

// Op::apply(a…) or Op::apply(a…, imm).
template <class Op, class... Sources>
MOE4_INLINE auto evaluate(std::uint64_t imm, Sources... sources) {
  if constexpr (requires { Op::apply(sources...); }) {
    return Op::apply(sources...);
  } else {
    return Op::apply(sources..., imm);
  }
}

// `kPerLane` elements a lane: 2 for the packed 16-bit pairs.
template <class Op, class D, class A, unsigned kPerLane = 1>
MOE4_TARGET void unary(Warp& warp, const Instr& in, LaneMask mask) {
  Lane<D>* d = at<D>(warp, in.d);
  const Lane<A>* a = at<A>(warp, in.a);
  const std::uint64_t imm = in.imm;
  if (mask == kAllLanes) {
#pragma omp simd
    for (unsigned i = 0; i < kLanes * kPerLane; ++i) d[i] = evaluate<Op, A>(imm, a[i]);
  } else {
#pragma omp simd
    for (unsigned i = 0; i < kLanes * kPerLane; ++i) {
      const D result = evaluate<Op, A>(imm, a[i]);
      d[i] = (mask >> (i / kPerLane)) & 1 ? result : d[i];
    }
  }
}

template <class Op, class D, class A, class B, unsigned kPerLane = 1>
MOE4_TARGET void binary(Warp& warp, const Instr& in, LaneMask mask) {
  Lane<D>* d = at<D>(warp, in.d);
  const Lane<A>* a = at<A>(warp, in.a);
  const Lane<B>* b = at<B>(warp, in.b);
  const std::uint64_t imm = in.imm;
  if (mask == kAllLanes) {
#pragma omp simd
    for (unsigned i = 0; i < kLanes * kPerLane; ++i) d[i] = evaluate<Op, A, B>(imm, a[i], b[i]);
  } else {
#pragma omp simd
    for (unsigned i = 0; i < kLanes * kPerLane; ++i) {
      const D result = evaluate<Op, A, B>(imm, a[i], b[i]);
      d[i] = (mask >> (i / kPerLane)) & 1 ? result : d[i];
    }
  }
}

template <class Op, class D, class A, class B, class C, unsigned kPerLane = 1>
MOE4_TARGET void ternary(Warp& warp, const Instr& in, LaneMask mask) {
  Lane<D>* d = at<D>(warp, in.d);
  const Lane<A>* a = at<A>(warp, in.a);
  const Lane<B>* b = at<B>(warp, in.b);
  const Lane<C>* c = at<C>(warp, in.c);
  const std::uint64_t imm = in.imm;
  if (mask == kAllLanes) {
#pragma omp simd
    for (unsigned i = 0; i < kLanes * kPerLane; ++i) d[i] = evaluate<Op, A, B, C>(imm, a[i], b[i], c[i]);
  } else {
#pragma omp simd
    for (unsigned i = 0; i < kLanes * kPerLane; ++i) {
      const D result = evaluate<Op, A, B, C>(imm, a[i], b[i], c[i]);
      d[i] = (mask >> (i / kPerLane)) & 1 ? result : d[i];
    }
  }
}

// The lanes for which Op holds.
template <class Op, class T>
MOE4_TARGET MOE4_INLINE LaneMask compare_lanes(Warp& warp, const Instr& in) {
  const Lane<T>* a = at<T>(warp, in.a);
  const Lane<T>* b = at<T>(warp, in.b);
  LaneMask bits = 0;
#pragma omp simd reduction(| : bits)
  for (unsigned i = 0; i < kLanes; ++i) bits |= Op::apply(a[i], b[i]) ? LaneMask{1} << i : 0u;
  return bits;
}
