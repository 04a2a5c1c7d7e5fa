// What the other files share.  32 neighbouring threads are a warp: they run together, and can pass each other registers.
#include <cupy/math_constants.h>

// The sum over all lanes of a warp, which every lane gets.
template <typename T>
__device__ T sum_of_warp(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
