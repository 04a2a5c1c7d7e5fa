// Attention in tiles, and its gradients; attention.py has the formulas, the thread assignment and the launches.
#include <cupy/math_constants.h>

struct Strides { long long set, head, row; };  // in elements
struct Layout {
  Strides q, k, v, o, g;
  Strides grad_q, grad_k, grad_v;
  Strides key_mask;                 // (sets, heads, keys) of bool
  Strides pair_mask;                // (sets, heads, queries, keys) of bool; its last stride is pair_key_stride
  long long pair_key_stride, heads, n, m, e, f;
};

// How a tile is divided among the threads of a block: LANES adjacent threads share ROWS rows, and each takes every
// LANES-th column of them.
template <int TILE>
struct Tiling {
  static constexpr int LANES = TILE < 16 ? TILE : 16;
  static constexpr int ROWS = TILE < 16 ? 1 : TILE * LANES / 128;
  static constexpr int COLUMNS = TILE / LANES;
};

// All threads: load rows first … first + TILE - 1 of a matrix into shared memory; zeros past its end or if !keep(row).
template <typename T, int D, int TILE, typename Keep>
__device__ void load(T (&tile)[TILE][D + 1], const T *matrix, long long stride, long long first, long long rows,
                     long long width, T scale, Keep keep) {
  for (int i = threadIdx.x; i < TILE * D; i += blockDim.x) {
    const int row = i / D, column = i % D;
    const bool valid = first + row < rows && column < width && keep(first + row);
    tile[row][column] = valid ? matrix[(first + row) * stride + column] * scale : T(0);
  }
}

// The products of this thread's rows of a and columns of b, both (TILE, D).
template <typename T, int D, int TILE>
__device__ void multiply(const T (&a)[TILE][D + 1], const T (&b)[TILE][D + 1],
                         T (&product)[Tiling<TILE>::ROWS][Tiling<TILE>::COLUMNS], int first, int lane) {
  using Tile = Tiling<TILE>;
#pragma unroll
  for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
    for (int c = 0; c < Tile::COLUMNS; c++) product[r][c] = 0;
#pragma unroll 8
  for (int j = 0; j < D; j++)
#pragma unroll
    for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Tile::COLUMNS; c++) product[r][c] += a[first + r][j] * b[lane + c * Tile::LANES][j];
}

// sum += weights (TILE, TILE) times values (TILE, D), for this thread's rows.
template <typename T, int D, int TILE>
__device__ void accumulate(const T (&weights)[TILE][TILE + 1], const T (&values)[TILE][D + 1],
                           T (&sum)[Tiling<TILE>::ROWS][D / Tiling<TILE>::LANES], int first, int lane) {
  using Tile = Tiling<TILE>;
#pragma unroll 4
  for (int j = 0; j < TILE; j++)
#pragma unroll
    for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
      for (int c = 0; c < D / Tile::LANES; c++) sum[r][c] += weights[first + r][j] * values[j][lane + c * Tile::LANES];
}

// Store this thread's rows of a result.
template <typename T, int D, int TILE>
__device__ void store(T *matrix, long long stride, long long start, long long rows, long long width,
                      const T (&sum)[Tiling<TILE>::ROWS][D / Tiling<TILE>::LANES], int first, int lane, T scale) {
  using Tile = Tiling<TILE>;
#pragma unroll
  for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
    for (int c = 0; c < D / Tile::LANES; c++) {
      const long long row = start + first + r, column = lane + c * Tile::LANES;
      if (row < rows && column < width) matrix[row * stride + column] = sum[r][c] * scale;
    }
}

// The maximum over the LANES threads that share a row.
template <typename T, int LANES>
__device__ T largest(T value) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, step, LANES);
    value = other > value ? other : value;
  }
  return value;
}

// The sum over them.
template <typename T, int LANES>
__device__ T total(T value) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step, LANES);
  return value;
}

// A block's work: its set, head and first row.
struct Task {
  long long set, head, start;
  __device__ Task(const Layout &at, long long rows, int tile) {
    const long long tiles = (rows + tile - 1) / tile, pair = blockIdx.x / tiles;
    set = pair / at.heads, head = pair % at.heads, start = blockIdx.x % tiles * tile;
  }
  __device__ long long offset(const Strides &strides) const { return set * strides.set + head * strides.head; }
  __device__ long long query(const Layout &at) const { return (set * at.heads + head) * at.n; }  // into L and delta
};

// Whether query i attends to key j, for keys and queries that exist.
struct Visibility {
  const bool *key_mask, *pair_mask;
  long long key_stride, pair_query_stride, pair_key_stride;
  __device__ Visibility(const Layout &at, const Task &task, const bool *keys, const bool *pairs)
      : key_mask(keys ? keys + task.offset(at.key_mask) : keys),
        pair_mask(pairs ? pairs + task.offset(at.pair_mask) : pairs),
        key_stride(at.key_mask.row), pair_query_stride(at.pair_mask.row), pair_key_stride(at.pair_key_stride) {}
  __device__ bool key(long long j) const { return !key_mask || key_mask[j * key_stride]; }
  __device__ bool operator()(long long i, long long j) const {
    return pair_mask ? pair_mask[i * pair_query_stride + j * pair_key_stride] : key(j);
  }
};

// Masked rows may contain nan, and 0 · nan is nan: rows that are summed with weights are zeroed where the weight is 0.
// Rows that are only multiplied for a score need not be: the score of a masked key is replaced.
struct KeepAll {
  __device__ bool operator()(long long) const { return true; }
};

template <typename T, int D, int TILE>
__global__ void __launch_bounds__(128, 2)
    attention_forward(const T *q, const T *k, const T *v, const bool *key_mask, const bool *pair_mask, T *o, T *L,
                      Layout at, double scale) {
  using Tile = Tiling<TILE>;
  __shared__ T Q[TILE][D + 1], K[TILE][D + 1], V[TILE][D + 1], P[TILE][TILE + 1];
  const int lane = threadIdx.x % Tile::LANES, first = threadIdx.x / Tile::LANES * Tile::ROWS;
  const Task task(at, at.n, TILE);
  const Visibility visible(at, task, key_mask, pair_mask);
  q += task.offset(at.q), k += task.offset(at.k), v += task.offset(at.v), o += task.offset(at.o);
  L += task.query(at);

  T t[Tile::ROWS], s[Tile::ROWS], output[Tile::ROWS][D / Tile::LANES];
#pragma unroll
  for (int r = 0; r < Tile::ROWS; r++) {
    t[r] = -T(CUDART_INF), s[r] = 0;
#pragma unroll
    for (int c = 0; c < D / Tile::LANES; c++) output[r][c] = 0;
  }
  load<T, D, TILE>(Q, q, at.q.row, task.start, at.n, at.e, T(scale), KeepAll());

  for (long long key = 0; key < at.m; key += TILE) {
    __syncthreads();  // all threads are done with the previous tile of keys
    load<T, D, TILE>(K, k, at.k.row, key, at.m, at.e, T(1), KeepAll());
    load<T, D, TILE>(V, v, at.v.row, key, at.m, at.f, T(1), [&](long long j) { return visible.key(j); });
    __syncthreads();  // and have loaded this one
    T S[Tile::ROWS][Tile::COLUMNS];
    multiply<T, D, TILE>(Q, K, S, first, lane);
#pragma unroll
    for (int r = 0; r < Tile::ROWS; r++) {
      const long long i = task.start + first + r;
      T top = t[r];
#pragma unroll
      for (int c = 0; c < Tile::COLUMNS; c++) {
        const long long j = key + lane + c * Tile::LANES;
        if (!(i < at.n && j < at.m && visible(i, j))) S[r][c] = -T(CUDART_INF);
        if (S[r][c] > top) top = S[r][c];
      }
      top = largest<T, Tile::LANES>(top);
      const T shift = top == -T(CUDART_INF) ? T(0) : top;  // no unmasked key yet: every exponential is 0
      const T decay = exp(t[r] - shift);
      T sum = 0;
#pragma unroll
      for (int c = 0; c < Tile::COLUMNS; c++) {
        const T weight = exp(S[r][c] - shift);
        P[first + r][lane + c * Tile::LANES] = weight;
        sum += weight;
      }
      s[r] = s[r] * decay + total<T, Tile::LANES>(sum);
      t[r] = top;
#pragma unroll
      for (int c = 0; c < D / Tile::LANES; c++) output[r][c] *= decay;
    }
    __syncwarp();  // a row's weights are read by the lanes that share it
    accumulate<T, D, TILE>(P, V, output, first, lane);
  }
#pragma unroll
  for (int r = 0; r < Tile::ROWS; r++) {
    const long long i = task.start + first + r;
    const T share = s[r] == 0 ? T(0) : T(1) / s[r];  // a query without keys, or with scores of -inf: L = -inf
#pragma unroll
    for (int c = 0; c < D / Tile::LANES; c++) output[r][c] *= share;
    if (i < at.n && lane == 0) L[i] = s[r] == 0 ? -T(CUDART_INF) : t[r] + log(s[r]);
  }
  store<T, D, TILE>(o, at.o.row, task.start, at.n, at.f, output, first, lane, T(1));
}

template <typename T, int D, int TILE>
__global__ void __launch_bounds__(128, 2)
    attention_queries(const T *q, const T *k, const T *v, const bool *key_mask, const bool *pair_mask, const T *g,
                      const T *L, const T *o, T *delta, T *gq, Layout at, double scale) {
  using Tile = Tiling<TILE>;
  __shared__ T Q[TILE][D + 1], K[TILE][D + 1], V[TILE][D + 1], G[TILE][D + 1], W[TILE][TILE + 1];
  const int lane = threadIdx.x % Tile::LANES, first = threadIdx.x / Tile::LANES * Tile::ROWS;
  const Task task(at, at.n, TILE);
  const Visibility visible(at, task, key_mask, pair_mask);
  q += task.offset(at.q), k += task.offset(at.k), v += task.offset(at.v), g += task.offset(at.g);
  o += task.offset(at.o), gq += task.offset(at.grad_q), L += task.query(at), delta += task.query(at);

  load<T, D, TILE>(Q, q, at.q.row, task.start, at.n, at.e, T(scale), KeepAll());
  load<T, D, TILE>(G, g, at.g.row, task.start, at.n, at.f, T(1), KeepAll());
  __syncthreads();
  // δ is summed in the order of multiply(): for a query that attends to a single key, O = V, and g Vᵀ − δ is exactly 0.
  T d[Tile::ROWS], sum[Tile::ROWS][D / Tile::LANES];
#pragma unroll
  for (int r = 0; r < Tile::ROWS; r++) {
    const long long i = task.start + first + r;
    d[r] = 0;
    if (i < at.n)
      for (long long j = 0; j < at.f; j++) d[r] += G[first + r][j] * o[i * at.o.row + j];
    if (i < at.n && lane == 0) delta[i] = d[r];  // for the next launch
#pragma unroll
    for (int c = 0; c < D / Tile::LANES; c++) sum[r][c] = 0;
  }

  for (long long key = 0; key < at.m; key += TILE) {
    __syncthreads();
    load<T, D, TILE>(K, k, at.k.row, key, at.m, at.e, T(1), [&](long long j) { return visible.key(j); });
    load<T, D, TILE>(V, v, at.v.row, key, at.m, at.f, T(1), KeepAll());
    __syncthreads();
    T S[Tile::ROWS][Tile::COLUMNS], gP[Tile::ROWS][Tile::COLUMNS];
    multiply<T, D, TILE>(Q, K, S, first, lane);
    multiply<T, D, TILE>(G, V, gP, first, lane);
#pragma unroll
    for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Tile::COLUMNS; c++) {
        const long long i = task.start + first + r, j = key + lane + c * Tile::LANES;
        const bool valid = i < at.n && j < at.m && visible(i, j) && L[i] != -T(CUDART_INF);
        W[first + r][lane + c * Tile::LANES] = valid ? exp(S[r][c] - L[i]) * (gP[r][c] - d[r]) : T(0);
      }
    __syncwarp();
    accumulate<T, D, TILE>(W, K, sum, first, lane);
  }
  store<T, D, TILE>(gq, at.grad_q.row, task.start, at.n, at.e, sum, first, lane, T(scale));
}

template <typename T, int D, int TILE>
__global__ void __launch_bounds__(128, 2)
    attention_keys(const T *q, const T *k, const T *v, const bool *key_mask, const bool *pair_mask, const T *g,
                   const T *L, const T *delta, T *gk, T *gv, Layout at, double scale) {
  using Tile = Tiling<TILE>;
  __shared__ T Q[TILE][D + 1], K[TILE][D + 1], V[TILE][D + 1], G[TILE][D + 1], W[TILE][TILE + 1];
  const int lane = threadIdx.x % Tile::LANES, first = threadIdx.x / Tile::LANES * Tile::ROWS;
  const Task task(at, at.m, TILE);
  const Visibility visible(at, task, key_mask, pair_mask);
  q += task.offset(at.q), k += task.offset(at.k), v += task.offset(at.v), g += task.offset(at.g);
  gk += task.offset(at.grad_k), gv += task.offset(at.grad_v), L += task.query(at), delta += task.query(at);

  load<T, D, TILE>(K, k, at.k.row, task.start, at.m, at.e, T(1), KeepAll());
  load<T, D, TILE>(V, v, at.v.row, task.start, at.m, at.f, T(1), KeepAll());
  T sum_k[Tile::ROWS][D / Tile::LANES], sum_v[Tile::ROWS][D / Tile::LANES];
#pragma unroll
  for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
    for (int c = 0; c < D / Tile::LANES; c++) sum_k[r][c] = sum_v[r][c] = 0;

  for (long long query = 0; query < at.n; query += TILE) {
    __syncthreads();
    const auto has_keys = [&](long long i) { return L[i] != -T(CUDART_INF); };
    load<T, D, TILE>(Q, q, at.q.row, query, at.n, at.e, T(scale), has_keys);
    load<T, D, TILE>(G, g, at.g.row, query, at.n, at.f, T(1), has_keys);
    __syncthreads();
    T S[Tile::ROWS][Tile::COLUMNS], gP[Tile::ROWS][Tile::COLUMNS];  // transposed: this thread's rows are keys
    multiply<T, D, TILE>(K, Q, S, first, lane);
    multiply<T, D, TILE>(V, G, gP, first, lane);
#pragma unroll
    for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Tile::COLUMNS; c++) {
        const long long i = query + lane + c * Tile::LANES, j = task.start + first + r;
        const bool valid = i < at.n && j < at.m && visible(i, j) && L[i] != -T(CUDART_INF);
        S[r][c] = valid ? exp(S[r][c] - L[i]) : T(0);
        gP[r][c] = valid ? S[r][c] * (gP[r][c] - delta[i]) : T(0);
        W[first + r][lane + c * Tile::LANES] = S[r][c];
      }
    __syncwarp();
    accumulate<T, D, TILE>(W, G, sum_v, first, lane);
    __syncwarp();  // P is no longer needed: gS replaces it
#pragma unroll
    for (int r = 0; r < Tile::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Tile::COLUMNS; c++) W[first + r][lane + c * Tile::LANES] = gP[r][c];
    __syncwarp();
    accumulate<T, D, TILE>(W, Q, sum_k, first, lane);  // Q already includes the scale
  }
  store<T, D, TILE>(gk, at.grad_k.row, task.start, at.m, at.e, sum_k, first, lane, T(1));
  store<T, D, TILE>(gv, at.grad_v.row, task.start, at.m, at.f, sum_v, first, lane, T(1));
}
