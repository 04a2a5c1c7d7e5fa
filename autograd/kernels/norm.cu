// Layer normalisation of a sum, and its gradient; norm.py has the formulas, the division and the launches.
template <typename T>
__global__ void norm_forward(const T *x, const T *p, const T *b, const T *gamma, const T *beta, T *y, T *normal,
                             T *inverse, bool *opened, long long rows, long long d, double eps) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long row = blockIdx.x * (blockDim.x / 32LL) + warp, start = row * d;
  if (row >= rows) return;                                // a whole warp leaves together
  T *s = reinterpret_cast<T *>(shared) + warp * d;        // the row; every lane reads only what it wrote itself

  T sum = 0;
  for (long long j = lane; j < d; j += 32) {
    T value = x[start + j];
    if (p) {
      T r = b ? p[start + j] + b[j] : p[start + j];
      if (opened) {                                       // there is a ReLU
        opened[start + j] = r > 0;
        if (r < 0) r = 0;
      }
      value += r;
    }
    s[j] = value;
    sum += value;
  }
  const T mean = sum_of_warp(sum) / T(d);
  T squares = 0;
  for (long long j = lane; j < d; j += 32) {
    s[j] -= mean;
    squares += s[j] * s[j];
  }
  const T scale = T(1) / sqrt(sum_of_warp(squares) / T(d) + T(eps));
  for (long long j = lane; j < d; j += 32) {
    const T value = s[j] * scale;
    normal[start + j] = value;
    y[start + j] = (gamma ? value * gamma[j] : value) + (beta ? beta[j] : T(0));
  }
  if (lane == 0) inverse[row] = scale;
}

template <typename T>
__global__ void norm_backward(const T *g, const T *normal, const T *inverse, const T *gamma, const bool *opened,
                              T *gs, T *gp, T *sums, long long rows, long long d) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T *added = reinterpret_cast<T *>(shared);               // (warps, 3, d): what the warp has added to gγ, gβ, gb
  T *h = added + warps * 3 * d + warp * 2 * d, *z = h + d;  // the row: γ ⊙ g and ŝ
  T *mine = added + warp * 3 * d;

  for (long long j = lane; j < 3 * d; j += 32) mine[j] = 0;
  __syncwarp();                                           // 3 d and d are divided among the lanes differently
  for (long long row = blockIdx.x * (long long)warps + warp; row < rows; row += gridDim.x * (long long)warps) {
    const long long start = row * d;
    T sum = 0, along = 0;
    for (long long j = lane; j < d; j += 32) {
      const T gj = g[start + j];
      z[j] = normal[start + j];
      h[j] = gamma ? gj * gamma[j] : gj;
      mine[j] += gj * z[j];
      mine[d + j] += gj;
      sum += h[j];
      along += h[j] * z[j];
    }
    const T mean = sum_of_warp(sum) / T(d), mean_along = sum_of_warp(along) / T(d), scale = inverse[row];
    for (long long j = lane; j < d; j += 32) {
      const T value = (h[j] - mean - z[j] * mean_along) * scale;
      gs[start + j] = value;
      T through = value;
      if (opened) {
        through = opened[start + j] ? value : T(0);
        gp[start + j] = through;
      }
      mine[2 * d + j] += through;
    }
  }
  __syncthreads();
  for (long long j = threadIdx.x; j < 3 * d; j += blockDim.x) {
    T total = 0;
    for (int w = 0; w < warps; w++) total += added[w * 3 * d + j];
    sums[blockIdx.x * 3 * d + j] = total;
  }
}
