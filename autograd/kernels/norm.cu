// Layer normalization of a sum, and its gradient; norm.py has the formulas, the thread assignment and the launches.
template <typename T>
__global__ void norm_forward(const T *x, const T *p, const T *b, const T *gamma, const T *beta, T *y, T *normalized,
                             T *inverse_std, bool *relu_mask, long long rows, long long d, double eps) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long row = blockIdx.x * (blockDim.x / 32LL) + warp, start = row * d;
  if (row >= rows) return;                                // for all threads of the warp
  T *s = reinterpret_cast<T *>(shared) + warp * d;        // the row; every lane reads only what it wrote

  T sum = 0;
  for (long long j = lane; j < d; j += 32) {
    T value = x[start + j];
    if (p) {
      T r = b ? p[start + j] + b[j] : p[start + j];
      if (relu_mask) {                                    // there is a ReLU
        relu_mask[start + j] = r > 0;
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
    normalized[start + j] = value;
    y[start + j] = (gamma ? value * gamma[j] : value) + (beta ? beta[j] : T(0));
  }
  if (lane == 0) inverse_std[row] = scale;
}

template <typename T>
__global__ void norm_backward(const T *g, const T *normalized, const T *inverse_std, const T *gamma,
                              const bool *relu_mask, T *gs, T *gp, T *sums, long long rows, long long d) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T *block_sums = reinterpret_cast<T *>(shared);           // (warps, 3, d): sums for gγ, gβ and gb
  T *h = block_sums + warps * 3 * d + warp * 2 * d, *z = h + d;  // the row: γ ⊙ g and ŝ
  T *warp_sums = block_sums + warp * 3 * d;               // of this warp

  for (long long j = lane; j < 3 * d; j += 32) warp_sums[j] = 0;
  __syncwarp();                                           // 3 d and d are divided among the lanes differently
  for (long long row = blockIdx.x * (long long)warps + warp; row < rows; row += gridDim.x * (long long)warps) {
    const long long start = row * d;
    T sum = 0, projection = 0;
    for (long long j = lane; j < d; j += 32) {
      const T gj = g[start + j];
      z[j] = normalized[start + j];
      h[j] = gamma ? gj * gamma[j] : gj;
      warp_sums[j] += gj * z[j];
      warp_sums[d + j] += gj;
      sum += h[j];
      projection += h[j] * z[j];
    }
    const T mean = sum_of_warp(sum) / T(d), mean_projection = sum_of_warp(projection) / T(d), scale = inverse_std[row];
    for (long long j = lane; j < d; j += 32) {
      const T value = (h[j] - mean - z[j] * mean_projection) * scale;
      gs[start + j] = value;
      T masked_g = value;
      if (relu_mask) {
        masked_g = value * T(relu_mask[start + j]);       // nan remains nan, as in g * (y > 0)
        gp[start + j] = masked_g;
      }
      warp_sums[2 * d + j] += masked_g;
    }
  }
  __syncthreads();
  for (long long j = threadIdx.x; j < 3 * d; j += blockDim.x) {
    T total = 0;
    for (int w = 0; w < warps; w++) total += block_sums[w * 3 * d + j];
    sums[blockIdx.x * 3 * d + j] = total;
  }
}
