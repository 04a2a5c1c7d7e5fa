// CUDA's device functions that g++ does not have. The fast approximations (__expf and friends) are the exact functions.
#pragma once

using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

// ---- minimum and maximum: of floating-point numbers, the one that is not NaN ----------------------------------------

#define EMULATED_EXTREMES(T) \
  static inline T max(T a, T b) { return a < b ? b : a; } \
  static inline T min(T a, T b) { return b < a ? b : a; }
EMULATED_EXTREMES(int)
EMULATED_EXTREMES(unsigned)
EMULATED_EXTREMES(long)
EMULATED_EXTREMES(unsigned long)
EMULATED_EXTREMES(long long)
EMULATED_EXTREMES(unsigned long long)
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }

// ---- bits -----------------------------------------------------------------------------------------------------------

template <typename To, typename From>
static inline To emulated_bits(From value) {
  static_assert(sizeof(To) == sizeof(From), "bits of another size");
  To result;
  memcpy(&result, &value, sizeof result);
  return result;
}
static inline float __int_as_float(int bits) { return emulated_bits<float>(bits); }
static inline float __uint_as_float(unsigned bits) { return emulated_bits<float>(bits); }
static inline int __float_as_int(float value) { return emulated_bits<int>(value); }
static inline unsigned __float_as_uint(float value) { return emulated_bits<unsigned>(value); }
static inline double __longlong_as_double(long long bits) { return emulated_bits<double>(bits); }
static inline long long __double_as_longlong(double value) { return emulated_bits<long long>(value); }
static inline int __popc(unsigned value) { return __builtin_popcount(value); }
static inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
static inline int __ffs(int value) { return __builtin_ffs(value); }
static inline int __clz(int value) { return value ? __builtin_clz(value) : 32; }
static inline int __clzll(long long value) { return value ? __builtin_clzll(value) : 64; }
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

#define __expf expf  // macros, because the C library has functions of these names
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.f / a; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float rsqrtf(float a) { return 1.f / sqrtf(a); }
static inline float rsqrt(float a) { return 1.f / sqrtf(a); }
static inline double rsqrt(double a) { return 1. / sqrt(a); }
static inline float __saturatef(float a) { return a < 0.f ? 0.f : a > 1.f ? 1.f : a; }
static inline long long __float2ll_rn(float a) { return llrintf(a); }
template <typename T>
static inline T __ldg(const T *pointer) {
  return *pointer;
}

// ---- atomics: threads take turns only at barriers and warp operations, so plain reads and writes are atomic ---------

#define EMULATED_ATOMIC(name, T, result) \
  static inline T name(T *address, T value) { \
    T old = *address; \
    *address = (result); \
    return old; \
  }
#define EMULATED_ATOMICS(T) \
  EMULATED_ATOMIC(atomicAdd, T, old + value) \
  EMULATED_ATOMIC(atomicExch, T, value)
#define EMULATED_INTEGER_ATOMICS(T) \
  EMULATED_ATOMIC(atomicSub, T, old - value) \
  EMULATED_ATOMIC(atomicMax, T, old < value ? value : old) \
  EMULATED_ATOMIC(atomicMin, T, value < old ? value : old) \
  EMULATED_ATOMIC(atomicAnd, T, old & value) \
  EMULATED_ATOMIC(atomicOr, T, old | value) \
  EMULATED_ATOMIC(atomicXor, T, old ^ value) \
  static inline T atomicCAS(T *address, T expected, T value) { \
    T old = *address; \
    if (old == expected) *address = value; \
    return old; \
  }
EMULATED_ATOMICS(int)
EMULATED_ATOMICS(unsigned)
EMULATED_ATOMICS(unsigned long long)
EMULATED_ATOMICS(float)
EMULATED_ATOMICS(double)
EMULATED_INTEGER_ATOMICS(int)
EMULATED_INTEGER_ATOMICS(unsigned)
EMULATED_INTEGER_ATOMICS(long long)
EMULATED_INTEGER_ATOMICS(unsigned long long)
