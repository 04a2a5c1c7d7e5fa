// Row softmax and its gradient; softmax.py has the formulas, the division among threads and the launches.
// t and s of a row so far, and what another number or lane adds to them
template <typename T>
__device__ void join(T &t, T &s, T other_t, T other_s) {
  if (other_s == 0) return;  // which has seen nothing yet
  const T u = other_t > t ? other_t : t;
  s = s * exp(t - u) + other_s * exp(other_t - u);
  t = u;
}

template <typename T>
__global__ void softmax_forward(const T *x, const bool *present, T *y, long long rows, long long width) {
  const int lane = threadIdx.x % 32;
  const long long row = blockIdx.x * (blockDim.x / 32LL) + threadIdx.x / 32;
  if (row >= rows) return;  // a whole warp leaves together
  x += row * width;
  y += row * width;
  if (present) present += row * width;

  T t = -T(CUDART_INF), s = 0;
  for (long long j = lane; j < width; j += 32)
    if ((!present || present[j]) && x[j] != -T(CUDART_INF)) join(t, s, x[j], T(1));
  for (int step = 16; step > 0; step /= 2) {
    const T other_t = __shfl_xor_sync(0xffffffffu, t, step);
    const T other_s = __shfl_xor_sync(0xffffffffu, s, step);
    join(t, s, other_t, other_s);
  }
  for (long long j = lane; j < width; j += 32)
    y[j] = s != 0 && (!present || present[j]) ? exp(x[j] - t) / s : T(0);
}

template <typename T>
__global__ void softmax_backward(const T *y, const T *g, T *gx, long long rows, long long width) {
  const int lane = threadIdx.x % 32;
  const long long row = blockIdx.x * (blockDim.x / 32LL) + threadIdx.x / 32;
  if (row >= rows) return;
  y += row * width;
  g += row * width;
  gx += row * width;

  T along = 0;
  for (long long j = lane; j < width; j += 32) along += g[j] * y[j];
  along = sum_of_warp(along);
  for (long long j = lane; j < width; j += 32) gx[j] = y[j] * (g[j] - along);
}
