// The order in which blocks and threads take their turns. CUDA leaves it open: a right kernel is right in every one.
#include <algorithm>
#include <numeric>

#include "runtime.h"

namespace emulation {
namespace {

Order order = Order::forward;
unsigned seed = 1;
unsigned random_state = 1;

unsigned random_number() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}

}  // namespace

void set_order(Order new_order, unsigned new_seed) {
  order = new_order;
  seed = new_seed * 2654435761u | 1;  // any seed, 0 included, becomes a state that the generator can leave
}

void restart_schedule() { random_state = seed; }

void arrange(std::vector<size_t> &turns, size_t count) {
  turns.resize(count);
  std::iota(turns.begin(), turns.end(), 0);
  if (order == Order::reverse) std::reverse(turns.begin(), turns.end());
  if (order != Order::random) return;
  for (size_t i = count; i > 1; i--) std::swap(turns[i - 1], turns[random_number() % i]);
}

bool is_random() { return order == Order::random; }

unsigned stalled_warps() { return is_random() ? random_number() & random_number() : 0; }

}  // namespace emulation
