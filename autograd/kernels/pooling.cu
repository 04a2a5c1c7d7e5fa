// The maximum over the valid elements of a set, feature by feature; pooling.py has the formulas and the launch.
template <typename T>
__global__ void max_pool_forward(const T *x, const bool *mask, T *y, int *arg, int *ties, long long sets,
                                 long long n, long long d) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x, set = i / d;
  if (set >= sets) return;
  x += set * n * d + i % d;
  if (mask) mask += set * n;

  T best = 0;
  int where = -1, equal = 0;
  for (int element = 0; element < n; element++) {
    if (mask && !mask[element]) continue;
    const T value = x[element * d];
    const bool better = where < 0 || value > best || (value != value && best == best);  // nan wins, as in NumPy
    if (better) best = value, where = element, equal = 0;
    if (value == best) equal++;
  }
  y[i] = best, arg[i] = where, ties[i] = equal;
}
