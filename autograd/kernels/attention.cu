// Attention in tiles, and its gradients; attention.py has the formulas, the division among threads and the launches.
#include <cupy/math_constants.h>

struct Place { long long set, head, row; };  // strides: how many numbers further is the next set, head or row?
struct Layout {
  Place q, k, v, o, g;              // what is given, and o
  Place made_q, made_k, made_v;     // their gradients
  Place seen;                       // (sets, heads, keys) of bool
  Place pairs;                      // (sets, heads, queries, keys) of bool: its last stride is pair_key
  long long pair_key, heads, n, m, e, f;
};

// How the threads of a block divide a tile: LANES neighbours share ROWS rows, and take every LANES-th column of them.
template <int TILE>
struct Division {
  static constexpr int LANES = TILE < 16 ? TILE : 16;
  static constexpr int ROWS = TILE < 16 ? 1 : TILE * LANES / 128;
  static constexpr int COLUMNS = TILE / LANES;
};

// All threads: rows first … first + TILE - 1 of a matrix into shared memory, zeros where there is none or keep says no.
template <typename T, int D, int TILE, typename Keep>
__device__ void load(T (&tile)[TILE][D + 1], const T *matrix, long long stride, long long first, long long rows,
                     long long width, T scale, Keep keep) {
  for (int i = threadIdx.x; i < TILE * D; i += blockDim.x) {
    const int row = i / D, column = i % D;
    const bool there = first + row < rows && column < width && keep(first + row);
    tile[row][column] = there ? matrix[(first + row) * stride + column] * scale : T(0);
  }
}

// The products of my rows of a with my columns of b, both (TILE, D).
template <typename T, int D, int TILE>
__device__ void multiply(const T (&a)[TILE][D + 1], const T (&b)[TILE][D + 1],
                         T (&product)[Division<TILE>::ROWS][Division<TILE>::COLUMNS], int first, int lane) {
  using Mine = Division<TILE>;
#pragma unroll
  for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
    for (int c = 0; c < Mine::COLUMNS; c++) product[r][c] = 0;
#pragma unroll 8
  for (int j = 0; j < D; j++)
#pragma unroll
    for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Mine::COLUMNS; c++) product[r][c] += a[first + r][j] * b[lane + c * Mine::LANES][j];
}

// My rows of sum += weights (TILE, TILE) times values (TILE, D).
template <typename T, int D, int TILE>
__device__ void accumulate(const T (&weights)[TILE][TILE + 1], const T (&values)[TILE][D + 1],
                           T (&sum)[Division<TILE>::ROWS][D / Division<TILE>::LANES], int first, int lane) {
  using Mine = Division<TILE>;
#pragma unroll 4
  for (int j = 0; j < TILE; j++)
#pragma unroll
    for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
      for (int c = 0; c < D / Mine::LANES; c++) sum[r][c] += weights[first + r][j] * values[j][lane + c * Mine::LANES];
}

// My rows of a result into memory.
template <typename T, int D, int TILE>
__device__ void store(T *matrix, long long stride, long long start, long long rows, long long width,
                      const T (&sum)[Division<TILE>::ROWS][D / Division<TILE>::LANES], int first, int lane, T scale) {
  using Mine = Division<TILE>;
#pragma unroll
  for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
    for (int c = 0; c < D / Mine::LANES; c++) {
      const long long row = start + first + r, column = lane + c * Mine::LANES;
      if (row < rows && column < width) matrix[row * stride + column] = sum[r][c] * scale;
    }
}

// Over the LANES threads that share a row.
template <typename T, int LANES>
__device__ T largest(T value) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, step, LANES);
    value = other > value ? other : value;
  }
  return value;
}

template <typename T, int LANES>
__device__ T total(T value) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step, LANES);
  return value;
}

// Where a block works: which set and head, and from which row on.
struct Task {
  long long set, head, start;
  __device__ Task(const Layout &at, long long rows, int tile) {
    const long long tiles = (rows + tile - 1) / tile, pair = blockIdx.x / tiles;
    set = pair / at.heads, head = pair % at.heads, start = blockIdx.x % tiles * tile;
  }
  __device__ long long offset(const Place &place) const { return set * place.set + head * place.head; }
  __device__ long long query(const Layout &at) const { return (set * at.heads + head) * at.n; }  // into L and delta
};

// Whether query i sees key j, for keys and queries that exist.
struct Sight {
  const bool *seen, *pairs;
  long long seen_key, pair_query, pair_key;
  __device__ Sight(const Layout &at, const Task &task, const bool *seen, const bool *pairs)
      : seen(seen ? seen + task.offset(at.seen) : seen), pairs(pairs ? pairs + task.offset(at.pairs) : pairs),
        seen_key(at.seen.row), pair_query(at.pairs.row), pair_key(at.pair_key) {}
  __device__ bool key(long long j) const { return !seen || seen[j * seen_key]; }
  __device__ bool operator()(long long i, long long j) const {
    return pairs ? pairs[i * pair_query + j * pair_key] : key(j);
  }
};

// What is hidden may be nan, and 0 · nan is nan: rows that are added up with weights must be wiped where those are 0.
// Rows that are only multiplied for a score need not be: the score of what is hidden is replaced.
struct Any {
  __device__ bool operator()(long long) const { return true; }
};

template <typename T, int D, int TILE>
__global__ void __launch_bounds__(128, 2)
    attention_forward(const T *q, const T *k, const T *v, const bool *seen, const bool *pairs, T *o, T *L, Layout at,
                      double scale) {
  using Mine = Division<TILE>;
  __shared__ T Q[TILE][D + 1], K[TILE][D + 1], V[TILE][D + 1], P[TILE][TILE + 1];
  const int lane = threadIdx.x % Mine::LANES, first = threadIdx.x / Mine::LANES * Mine::ROWS;
  const Task task(at, at.n, TILE);
  const Sight sees(at, task, seen, pairs);
  q += task.offset(at.q), k += task.offset(at.k), v += task.offset(at.v), o += task.offset(at.o);
  L += task.query(at);

  T t[Mine::ROWS], s[Mine::ROWS], answer[Mine::ROWS][D / Mine::LANES];
#pragma unroll
  for (int r = 0; r < Mine::ROWS; r++) {
    t[r] = -T(CUDART_INF), s[r] = 0;
#pragma unroll
    for (int c = 0; c < D / Mine::LANES; c++) answer[r][c] = 0;
  }
  load<T, D, TILE>(Q, q, at.q.row, task.start, at.n, at.e, T(scale), Any());

  for (long long key = 0; key < at.m; key += TILE) {
    __syncthreads();  // all are done with the last tile of keys
    load<T, D, TILE>(K, k, at.k.row, key, at.m, at.e, T(1), Any());
    load<T, D, TILE>(V, v, at.v.row, key, at.m, at.f, T(1), [&](long long j) { return sees.key(j); });
    __syncthreads();  // and have loaded this one
    T S[Mine::ROWS][Mine::COLUMNS];
    multiply<T, D, TILE>(Q, K, S, first, lane);
#pragma unroll
    for (int r = 0; r < Mine::ROWS; r++) {
      const long long i = task.start + first + r;
      T top = t[r];
#pragma unroll
      for (int c = 0; c < Mine::COLUMNS; c++) {
        const long long j = key + lane + c * Mine::LANES;
        if (!(i < at.n && j < at.m && sees(i, j))) S[r][c] = -T(CUDART_INF);
        if (S[r][c] > top) top = S[r][c];
      }
      top = largest<T, Mine::LANES>(top);
      const T shift = top == -T(CUDART_INF) ? T(0) : top;  // nothing seen yet: every exponential is 0
      const T decay = exp(t[r] - shift);
      T sum = 0;
#pragma unroll
      for (int c = 0; c < Mine::COLUMNS; c++) {
        const T weight = exp(S[r][c] - shift);
        P[first + r][lane + c * Mine::LANES] = weight;
        sum += weight;
      }
      s[r] = s[r] * decay + total<T, Mine::LANES>(sum);
      t[r] = top;
#pragma unroll
      for (int c = 0; c < D / Mine::LANES; c++) answer[r][c] *= decay;
    }
    __syncwarp();  // the weights of a row are read by the lanes that wrote them
    accumulate<T, D, TILE>(P, V, answer, first, lane);
  }
#pragma unroll
  for (int r = 0; r < Mine::ROWS; r++) {
    const long long i = task.start + first + r;
    const T share = s[r] == 0 ? T(0) : T(1) / s[r];  // a query that sees nobody: zeros, and L = -inf says so
#pragma unroll
    for (int c = 0; c < D / Mine::LANES; c++) answer[r][c] *= share;
    if (i < at.n && lane == 0) L[i] = s[r] == 0 ? -T(CUDART_INF) : t[r] + log(s[r]);
  }
  store<T, D, TILE>(o, at.o.row, task.start, at.n, at.f, answer, first, lane, T(1));
}

template <typename T, int D, int TILE>
__global__ void __launch_bounds__(128, 2)
    attention_queries(const T *q, const T *k, const T *v, const bool *seen, const bool *pairs, const T *g, const T *L,
                      const T *o, T *delta, T *gq, Layout at, double scale) {
  using Mine = Division<TILE>;
  __shared__ T Q[TILE][D + 1], K[TILE][D + 1], V[TILE][D + 1], G[TILE][D + 1], W[TILE][TILE + 1];
  const int lane = threadIdx.x % Mine::LANES, first = threadIdx.x / Mine::LANES * Mine::ROWS;
  const Task task(at, at.n, TILE);
  const Sight sees(at, task, seen, pairs);
  q += task.offset(at.q), k += task.offset(at.k), v += task.offset(at.v), g += task.offset(at.g);
  o += task.offset(at.o), gq += task.offset(at.made_q), L += task.query(at), delta += task.query(at);

  load<T, D, TILE>(Q, q, at.q.row, task.start, at.n, at.e, T(scale), Any());
  load<T, D, TILE>(G, g, at.g.row, task.start, at.n, at.f, T(1), Any());
  __syncthreads();
  // δ is summed in the order of multiply(): for a query that sees a single key, O = V, and g Vᵀ − δ is exactly 0.
  T d[Mine::ROWS], sum[Mine::ROWS][D / Mine::LANES];
#pragma unroll
  for (int r = 0; r < Mine::ROWS; r++) {
    const long long i = task.start + first + r;
    d[r] = 0;
    if (i < at.n)
      for (long long j = 0; j < at.f; j++) d[r] += G[first + r][j] * o[i * at.o.row + j];
    if (i < at.n && lane == 0) delta[i] = d[r];  // for the launch that comes next
#pragma unroll
    for (int c = 0; c < D / Mine::LANES; c++) sum[r][c] = 0;
  }

  for (long long key = 0; key < at.m; key += TILE) {
    __syncthreads();
    load<T, D, TILE>(K, k, at.k.row, key, at.m, at.e, T(1), [&](long long j) { return sees.key(j); });
    load<T, D, TILE>(V, v, at.v.row, key, at.m, at.f, T(1), Any());
    __syncthreads();
    T S[Mine::ROWS][Mine::COLUMNS], gP[Mine::ROWS][Mine::COLUMNS];
    multiply<T, D, TILE>(Q, K, S, first, lane);
    multiply<T, D, TILE>(G, V, gP, first, lane);
#pragma unroll
    for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Mine::COLUMNS; c++) {
        const long long i = task.start + first + r, j = key + lane + c * Mine::LANES;
        const bool there = i < at.n && j < at.m && sees(i, j);
        W[first + r][lane + c * Mine::LANES] = there ? exp(S[r][c] - L[i]) * (gP[r][c] - d[r]) : T(0);
      }
    __syncwarp();
    accumulate<T, D, TILE>(W, K, sum, first, lane);
  }
  store<T, D, TILE>(gq, at.made_q.row, task.start, at.n, at.e, sum, first, lane, T(scale));
}

template <typename T, int D, int TILE>
__global__ void __launch_bounds__(128, 2)
    attention_keys(const T *q, const T *k, const T *v, const bool *seen, const bool *pairs, const T *g, const T *L,
                   const T *delta, T *gk, T *gv, Layout at, double scale) {
  using Mine = Division<TILE>;
  __shared__ T Q[TILE][D + 1], K[TILE][D + 1], V[TILE][D + 1], G[TILE][D + 1], W[TILE][TILE + 1];
  const int lane = threadIdx.x % Mine::LANES, first = threadIdx.x / Mine::LANES * Mine::ROWS;
  const Task task(at, at.m, TILE);
  const Sight sees(at, task, seen, pairs);
  q += task.offset(at.q), k += task.offset(at.k), v += task.offset(at.v), g += task.offset(at.g);
  gk += task.offset(at.made_k), gv += task.offset(at.made_v), L += task.query(at), delta += task.query(at);

  load<T, D, TILE>(K, k, at.k.row, task.start, at.m, at.e, T(1), Any());
  load<T, D, TILE>(V, v, at.v.row, task.start, at.m, at.f, T(1), Any());
  T sum_k[Mine::ROWS][D / Mine::LANES], sum_v[Mine::ROWS][D / Mine::LANES];
#pragma unroll
  for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
    for (int c = 0; c < D / Mine::LANES; c++) sum_k[r][c] = sum_v[r][c] = 0;

  for (long long query = 0; query < at.n; query += TILE) {
    __syncthreads();
    const auto asks = [&](long long i) { return L[i] != -T(CUDART_INF); };  // sees somebody
    load<T, D, TILE>(Q, q, at.q.row, query, at.n, at.e, T(scale), asks);
    load<T, D, TILE>(G, g, at.g.row, query, at.n, at.f, T(1), asks);
    __syncthreads();
    T S[Mine::ROWS][Mine::COLUMNS], gP[Mine::ROWS][Mine::COLUMNS];  // transposed: my rows are keys
    multiply<T, D, TILE>(K, Q, S, first, lane);
    multiply<T, D, TILE>(V, G, gP, first, lane);
#pragma unroll
    for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Mine::COLUMNS; c++) {
        const long long i = query + lane + c * Mine::LANES, j = task.start + first + r;
        const bool there = i < at.n && j < at.m && sees(i, j);
        S[r][c] = there ? exp(S[r][c] - L[i]) : T(0);
        gP[r][c] = there ? S[r][c] * (gP[r][c] - delta[i]) : T(0);
        W[first + r][lane + c * Mine::LANES] = S[r][c];
      }
    __syncwarp();
    accumulate<T, D, TILE>(W, G, sum_v, first, lane);
    __syncwarp();  // P has been used: gS takes its place
#pragma unroll
    for (int r = 0; r < Mine::ROWS; r++)
#pragma unroll
      for (int c = 0; c < Mine::COLUMNS; c++) W[first + r][lane + c * Mine::LANES] = gP[r][c];
    __syncwarp();
    accumulate<T, D, TILE>(W, Q, sum_k, first, lane);  // Q has been multiplied by the scale
  }
  store<T, D, TILE>(gk, at.made_k.row, task.start, at.m, at.e, sum_k, first, lane, T(1));
  store<T, D, TILE>(gv, at.made_v.row, task.start, at.m, at.f, sum_v, first, lane, T(1));
}
