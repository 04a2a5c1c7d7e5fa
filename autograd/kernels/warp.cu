// Shared by the other files.  A warp is 32 adjacent threads, which run together and can exchange registers.
#include <cupy/math_constants.h>

// The sum over all lanes of a warp, returned to every lane.
template <typename T>
__device__ T sum_of_warp(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
