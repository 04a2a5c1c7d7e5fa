// Stands in for CUDA's header of this name: what CuPy's headers need of __half, by g++'s IEEE type _Float16.
#pragma once

#include <cstring>

struct __half_raw {
  unsigned short x;
};

struct __half {
  unsigned short bits;

  __half() {}
  __half(const __half_raw &raw) : bits(raw.x) {}
  __half(float value) { set(value); }
  explicit __half(double value) { set(value); }
  explicit __half(bool value) { set(value); }
  explicit __half(int value) { set(value); }
  explicit __half(unsigned value) { set(value); }
  explicit __half(long value) { set(value); }
  explicit __half(unsigned long value) { set(value); }
  explicit __half(long long value) { set(value); }
  explicit __half(unsigned long long value) { set(value); }

  operator float() const {
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return static_cast<float>(half);
  }
  operator __half_raw() const { return __half_raw{bits}; }

 private:
  template <typename T>
  void set(T value) {
    _Float16 half = static_cast<_Float16>(value);
    memcpy(&bits, &half, sizeof half);
  }
};

typedef __half half;

static inline half __float2half_rn(float value) { return half(value); }
static inline half __float2half(float value) { return half(value); }
static inline float __half2float(half value) { return static_cast<float>(value); }
static inline unsigned short __half_as_ushort(half value) { return value.bits; }
static inline half __ushort_as_half(unsigned short bits) { return half(__half_raw{bits}); }
static inline bool __hisnan(half value) { return (value.bits & 0x7fff) > 0x7c00; }
