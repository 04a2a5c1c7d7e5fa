// Row softmax and its gradient; softmax.py has the formulas, the thread assignment and the launches.
// Combine t and s of a row so far with those of another element or lane.
template <typename T>
__device__ void combine(T &t, T &s, T other_t, T other_s) {
  if (other_s == 0) return;  // no elements there yet
  const T u = other_t > t ? other_t : t;
  s = s * exp(t - u) + other_s * exp(other_t - u);
  t = u;
}

template <typename T>
__global__ void softmax_forward(const T *x, const bool *mask, T *y, long long rows, long long width) {
  const int lane = threadIdx.x % 32;
  const long long row = blockIdx.x * (blockDim.x / 32LL) + threadIdx.x / 32;
  if (row >= rows) return;  // for all threads of the warp
  x += row * width;
  y += row * width;
  if (mask) mask += row * width;

  T t = -T(CUDART_INF), s = 0;
  for (long long j = lane; j < width; j += 32)
    if ((!mask || mask[j]) && x[j] != -T(CUDART_INF)) combine(t, s, x[j], T(1));
  for (int step = 16; step > 0; step /= 2) {
    const T other_t = __shfl_xor_sync(0xffffffffu, t, step);
    const T other_s = __shfl_xor_sync(0xffffffffu, s, step);
    combine(t, s, other_t, other_s);
  }
  for (long long j = lane; j < width; j += 32)
    y[j] = s != 0 && (!mask || mask[j]) ? exp(x[j] - t) / s : T(0);
}

template <typename T>
__global__ void softmax_backward(const T *y, const T *g, T *gx, long long rows, long long width) {
  const int lane = threadIdx.x % 32;
  const long long row = blockIdx.x * (blockDim.x / 32LL) + threadIdx.x / 32;
  if (row >= rows) return;
  y += row * width;
  g += row * width;
  gx += row * width;

  T dot = 0;
  for (long long j = lane; j < width; j += 32) dot += g[j] * y[j];
  dot = sum_of_warp(dot);
  for (long long j = lane; j < width; j += 32) gx[j] = y[j] * (g[j] - dot);
}
