// CUDA C++ for g++: keywords, indices, barriers, warp operations and the call of a kernel as the driver makes it.
#pragma once

// The special functions of <cmath> would double the time to load the precompiled header: kernels use none of them.
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#define __CUDACC_VER_MAJOR__ 12
#include "thread.h"

#include <vector_functions.h>

#undef __host__
#undef __device__
#undef __forceinline__
#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
// __shared__ is no macro: compiling.py rewrites its declarations

#define threadIdx (emulated_thread->thread)
#define blockIdx (emulated_thread->block)
#define blockDim (emulated_thread->block_size)
#define gridDim (emulated_thread->grid_size)
static constexpr int warpSize = 32;

// ---- barriers and warp operations -----------------------------------------------------------------------------------

#define EMULATED_SITE (static_cast<unsigned long>(__COUNTER__) << 20 | __LINE__)

#define __syncthreads() emulated_syncthreads(EMULATED_SITE)
#define __syncwarp(...) emulated_syncwarp(EMULATED_SITE __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(...) emulated_shuffle(EMULATED_SITE, __VA_ARGS__)
#define __shfl_xor_sync(...) emulated_shuffle_xor(EMULATED_SITE, __VA_ARGS__)
#define __shfl_down_sync(...) emulated_shuffle_down(EMULATED_SITE, __VA_ARGS__)
#define __shfl_up_sync(...) emulated_shuffle_up(EMULATED_SITE, __VA_ARGS__)
#define __ballot_sync(mask, predicate) emulated_ballot(EMULATED_SITE, mask, (predicate) ? 1 : 0)
#define __any_sync(mask, predicate) (__ballot_sync(mask, predicate) != 0)
#define __all_sync(mask, predicate) (emulated_ballot(EMULATED_SITE, mask, (predicate) ? 0 : 1) == 0)
#define __threadfence() static_cast<void>(0)  // threads take turns: every write is seen by the next one
#define __threadfence_block() static_cast<void>(0)

static inline void emulated_syncwarp(unsigned long site, unsigned mask = 0xffffffffu) {
  emulated_collective(EMULATED_WAIT, mask, 0, 0, site);
}

static inline unsigned emulated_ballot(unsigned long site, unsigned mask, int predicate) {
  return static_cast<unsigned>(emulated_collective(EMULATED_BALLOT, mask, predicate, 0, site));
}

static inline int emulated_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
}

// The value that the lane `source` holds.
template <typename T>
static inline T emulated_exchange(unsigned long site, unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most eight bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = emulated_collective(EMULATED_SHUFFLE, mask, bits, source, site);
  memcpy(&value, &bits, sizeof(T));
  return value;
}

// A width below 32 cuts the warp into segments; [first, end) is the segment of this lane.
struct EmulatedSegment {
  int lane, first, end;
  explicit EmulatedSegment(int width) : lane(emulated_lane()), first(lane / width * width), end(first + width) {}
};

template <typename T>
static inline T emulated_shuffle(unsigned long site, unsigned mask, T value, int source, int width = warpSize) {
  EmulatedSegment segment(width);
  return emulated_exchange(site, mask, value, segment.first + (source & (width - 1)));
}

// As in CUDA: xor may reach an earlier segment, but a lane that would reach a later one gets its own value.
template <typename T>
static inline T emulated_shuffle_xor(unsigned long site, unsigned mask, T value, int bits, int width = warpSize) {
  EmulatedSegment segment(width);
  int source = segment.lane ^ (bits & (warpSize - 1));
  return emulated_exchange(site, mask, value, source < segment.end ? source : segment.lane);
}

template <typename T>
static inline T emulated_shuffle_down(unsigned long site, unsigned mask, T value, unsigned by, int width = warpSize) {
  EmulatedSegment segment(width);
  bool inside = by < static_cast<unsigned>(segment.end - segment.lane);
  return emulated_exchange(site, mask, value, inside ? segment.lane + static_cast<int>(by) : segment.lane);
}

template <typename T>
static inline T emulated_shuffle_up(unsigned long site, unsigned mask, T value, unsigned by, int width = warpSize) {
  EmulatedSegment segment(width);
  bool inside = by <= static_cast<unsigned>(segment.lane - segment.first);
  return emulated_exchange(site, mask, value, inside ? segment.lane - static_cast<int>(by) : segment.lane);
}

// ---- calling a kernel -----------------------------------------------------------------------------------------------

// cuLaunchKernel is given the address of each argument; the kernel's C++ type tells what is there.
template <auto kernel>
struct EmulatedCall;

template <typename... Parameters, void (*kernel)(Parameters...)>
struct EmulatedCall<kernel> {
  template <size_t... I>
  static void apply(void **arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<Parameters> *>(arguments[I])...);
  }
  static void run(void **arguments) { apply(arguments, std::index_sequence_for<Parameters...>{}); }

  // Pointers, and classes such as CuPy's CArray, whose first member is one. (The last entry is for kernels of nothing.)
  template <typename T>
  static constexpr bool may_point = std::is_pointer_v<T> || (std::is_class_v<T> && sizeof(T) >= sizeof(void *));
  static constexpr bool points[] = {may_point<Parameters>..., false};
  static constexpr int count = sizeof...(Parameters);
};

#define EMULATED_KERNEL(most_threads, ...) \
  {#__VA_ARGS__, EmulatedCall<__VA_ARGS__>::run, EmulatedCall<__VA_ARGS__>::points, \
   EmulatedCall<__VA_ARGS__>::count, most_threads}

#include "intrinsics.h"
