// Runs a block, with one fiber (a stack of its own) per CUDA thread.
//
// A fiber runs until its thread waits, at __syncthreads or at a warp operation, or ends. When every fiber has, whatever
// is complete is let go: a barrier that all threads reached, a warp operation that all lanes of its mask reached.
// Threads that CUDA would leave waiting for ever, or in a state it does not define, end the kernel with a sentence.
#include <sys/mman.h>

#include <algorithm>

#include "runtime.h"

// Saves the registers that a call must keep on the present stack, and goes on from those saved on another one.
extern "C" void emulated_switch(void **save, void *to);
asm(R"(
.text
.globl emulated_switch
.type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

EmulatedThread *emulated_thread;

namespace emulation {
namespace {

enum class State { ready, at_barrier, at_collective, finished };

struct Fiber : EmulatedThread {
  void *stack_pointer;
  State state;
  unsigned long site;
  EmulatedCollective kind;
  unsigned mask;
  int source_lane;
  uint64_t value, result;
};

constexpr size_t stack_bytes = 128 << 10;  // with an inaccessible page at its end
constexpr int warp = 32;
constexpr uint64_t undefined_value = 0x7ff8dead7fc0deadULL;  // NaN, as a double and as two floats

Launch launch;
std::vector<Fiber> fibers;
std::vector<char *> stacks;  // mapped once and kept: the first pages of a stack are all that most kernels touch
std::vector<size_t> turns;   // the order in which the threads of a block take their turns
void *scheduler_stack_pointer;

// ---- waiting --------------------------------------------------------------------------------------------------------

std::string line_of(unsigned long site) { return std::to_string(site & 0xfffff); }

Fiber &current() { return *static_cast<Fiber *>(emulated_thread); }

void wait(State state, unsigned long site) {
  Fiber &fiber = current();
  fiber.state = state;
  fiber.site = site;
  emulated_switch(&fiber.stack_pointer, scheduler_stack_pointer);
}

void fiber_main() {
  launch.kernel->entry(launch.arguments);
  wait(State::finished, 0);
}

// Makes emulated_switch, when it goes to this fiber for the first time, "return" into fiber_main.
void start(Fiber &fiber, char *stack, size_t index) {
  size_t offset = index % 32 * 128;  // tops at the same place of every page would compete for the same cache lines
  void **top = reinterpret_cast<void **>(stack + stack_bytes - offset);
  *--top = nullptr;  // where fiber_main would return to; also what keeps the stack aligned as a call leaves it
  *--top = reinterpret_cast<void *>(fiber_main);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  fiber.stack_pointer = top;
  fiber.state = State::ready;
}

char *new_stack() {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  auto *stack = static_cast<char *>(mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0));
  mprotect(stack, page, PROT_NONE);
  return stack;
}

// ---- letting go -----------------------------------------------------------------------------------------------------

// Runs every fiber that is ready, in the order of the schedule. A random one lets some warps sit out the round.
bool run_ready_fibers() {
  if (is_random()) arrange(turns, fibers.size());
  unsigned stalled = stalled_warps();
  bool any = false;
  for (size_t turn : turns) {
    Fiber &fiber = fibers[turn];
    if (fiber.state != State::ready) continue;
    any = true;
    if (stalled >> (turn / warp) & 1) continue;
    emulated_thread = &fiber;
    emulated_switch(&scheduler_stack_pointer, fiber.stack_pointer);
  }
  return any;
}

// The lanes that the operation at which `lane` waits is for, or 0 while one of them has not reached it.
unsigned lanes_of_operation(const Fiber *lanes, int count, int lane) {
  const Fiber &fiber = lanes[lane];
  if (!(fiber.mask >> lane & 1)) {
    abandon("the warp operation of line " + line_of(fiber.site) + ": a lane's mask does not name the lane itself");
  }
  unsigned present = 0;
  for (int i = 0; i < count; i++) {
    if (!(fiber.mask >> i & 1)) continue;
    const Fiber &other = lanes[i];
    if (other.state == State::finished) {
      if (!launch.strict) continue;
      abandon("the warp operation of line " + line_of(fiber.site) + ": its mask names a lane that has ended");
    }
    bool same = other.site == fiber.site && other.mask == fiber.mask && other.kind == fiber.kind;
    if (other.state != State::at_collective || !same) return 0;
    present |= 1u << i;
  }
  return present;
}

void complete_operation(Fiber *lanes, unsigned present) {
  unsigned ballot = 0;
  for (int i = 0; i < warp; i++) {
    if (present >> i & 1 && lanes[i].value) ballot |= 1u << i;
  }
  for (int i = 0; i < warp; i++) {
    if (!(present >> i & 1)) continue;
    Fiber &fiber = lanes[i];
    bool defined = present >> fiber.source_lane & 1;  // what a lane outside the mask holds is undefined
    if (fiber.kind == EMULATED_BALLOT) fiber.result = ballot;
    if (fiber.kind == EMULATED_SHUFFLE) fiber.result = defined ? lanes[fiber.source_lane].value : undefined_value;
    fiber.state = State::ready;
  }
}

bool complete_warp_operations() {
  bool any = false;
  for (size_t first = 0; first < fibers.size(); first += warp) {
    Fiber *lanes = &fibers[first];
    int count = std::min<size_t>(warp, fibers.size() - first);
    for (int lane = 0; lane < count; lane++) {
      if (lanes[lane].state != State::at_collective) continue;
      unsigned present = lanes_of_operation(lanes, count, lane);
      if (!present) continue;
      complete_operation(lanes, present);
      any = true;
    }
  }
  return any;
}

size_t count_of(State state) {
  return std::count_if(fibers.begin(), fibers.end(), [state](const Fiber &fiber) { return fiber.state == state; });
}

bool complete_barrier() {
  size_t waiting = count_of(State::at_barrier);
  size_t finished = count_of(State::finished);
  if (!waiting || waiting + finished < fibers.size()) return false;
  unsigned long site = 0;
  for (auto &fiber : fibers) {
    if (fiber.state != State::at_barrier) continue;
    if (launch.strict && finished) {
      abandon("the __syncthreads of line " + line_of(fiber.site) + ": other threads of the block have ended");
    }
    if (launch.strict && site && site != fiber.site) {
      abandon("divergent barriers: threads wait at the __syncthreads of lines " + line_of(site) + " and " +
              line_of(fiber.site));
    }
    site = fiber.site;
    fiber.state = State::ready;
  }
  return true;
}

[[noreturn]] void report_deadlock() {
  std::string places;
  for (auto &fiber : fibers) {
    if (fiber.state == State::finished) continue;
    std::string place = (fiber.state == State::at_barrier ? "__syncthreads of line " : "warp operation of line ") +
                        line_of(fiber.site);
    if (places.find(place) == std::string::npos) places += (places.empty() ? "" : ", ") + place;
  }
  abandon("deadlock: threads wait for ever, at " + places);
}

// ---- running --------------------------------------------------------------------------------------------------------

void run_fibers() {
  for (size_t i = 0; i < fibers.size(); i++) start(fibers[i], stacks[i], i);
  while (count_of(State::finished) < fibers.size()) {
    bool progress = run_ready_fibers();
    progress |= complete_warp_operations();
    progress |= complete_barrier();
    if (!progress) report_deadlock();
  }
}

void run_calls() {
  for (size_t turn : turns) {
    emulated_thread = &fibers[turn];
    launch.kernel->entry(launch.arguments);
  }
}

}  // namespace

uint3 position(size_t index, const dim3 &size) {
  return {unsigned(index % size.x), unsigned(index / size.x % size.y), unsigned(index / size.x / size.y)};
}

void prepare_threads(const Launch &new_launch) {
  launch = new_launch;
  fibers.resize(launch.block.x * launch.block.y * launch.block.z);
  for (size_t i = 0; i < fibers.size(); i++) {
    fibers[i].thread = position(i, launch.block);
    fibers[i].block = {0, 0, 0};
    fibers[i].block_size = launch.block;
    fibers[i].grid_size = launch.grid;
  }
  while (launch.collective && stacks.size() < fibers.size()) stacks.push_back(new_stack());
  arrange(turns, fibers.size());
  emulated_thread = &fibers[0];
}

void run_block(const uint3 &place) {
  for (auto &fiber : fibers) fiber.block = place;
  launch.collective ? run_fibers() : run_calls();
}

}  // namespace emulation

void emulated_syncthreads(unsigned long site) { emulation::wait(emulation::State::at_barrier, site); }

uint64_t emulated_collective(EmulatedCollective kind, unsigned mask, uint64_t value, int source_lane,
                             unsigned long site) {
  emulation::Fiber &fiber = emulation::current();
  fiber.kind = kind;
  fiber.mask = mask;
  fiber.value = value;
  fiber.source_lane = source_lane;
  emulation::wait(emulation::State::at_collective, site);
  return fiber.result;
}
