// The parts of the library that runs kernels. cuda_runtime.cpp and cuda_driver.cpp show them to CuPy and to Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thread.h"

namespace emulation {

constexpr size_t page = 4096;
constexpr size_t guard = 64 << 10;         // bytes of address space, before and after an allocation, that fault
constexpr size_t shared_limit = 48 << 10;  // bytes of shared memory that a block may use
constexpr size_t sparse = size_t(1) << 30;  // allocations of so many bytes begin as zeros that take no memory
constexpr int devices = 2;                 // neither of which can access the memory of the other
extern thread_local int current_device;    // on which memory is allocated and kernels run

// ---- memory.cpp: allocations between inaccessible pages -------------------------------------------------------------

enum class Place { device, pinned };

uintptr_t allocate(size_t bytes, Place place);                      // 0 when there is no memory left
std::string release(uintptr_t address);                             // a sentence if something is wrong, or ""
bool holds(uintptr_t address, size_t bytes);                        // does one live allocation hold all of these?
uintptr_t start_of_allocation(uintptr_t address, size_t *bytes);    // of the one that the address is in, or 0
int memory_type(uintptr_t address);                                 // as cudaPointerGetAttributes tells it
int device_of(uintptr_t address);                                   // on which the memory is, -1 if on none
long live_allocations();                                            // on the device
std::string damage();                                               // live allocations with a write before their start
void describe(uintptr_t address, char *text, size_t size);          // where an address lies, for a message

// ---- faults.cpp: a kernel that fails leaves the process as it was ---------------------------------------------------

std::string guarded(void (*body)(void *), void *argument);  // a sentence if it faulted or was abandoned, or ""
[[noreturn]] void abandon(const std::string &reason);       // ends the body that is running

// ---- shared.cpp: shared memory, NaN when a block starts -------------------------------------------------------------

void start_shared_memory(size_t dynamic_bytes);
void clear_shared_memory();

// ---- schedule.cpp: the order in which blocks and threads take their turns -------------------------------------------

enum class Order { forward, reverse, random };

void set_order(Order order, unsigned seed);
void restart_schedule();                                   // so that a launch does not depend on those before it
bool is_random();
void arrange(std::vector<size_t> &turns, size_t count);    // the numbers below count, in the order of the schedule
unsigned stalled_warps();                                  // a bit for each of the 32 warps that has to sit out a round

// ---- launch.cpp and fibers.cpp: a grid, block by block, and a block, thread by thread -------------------------------

struct Launch {
  const EmulatedKernel *kernel;
  void **arguments;
  dim3 grid, block;
  size_t dynamic_bytes;
  bool collective;  // threads may wait for each other; if not, each one is a plain call
  bool strict;      // divergence is an error
};

extern bool only_ends;           // run only the first and the last block of a grid
extern std::string skipped;      // and nothing of kernels whose name begins so, if this is not empty
std::string run(Launch launch);  // a sentence if it failed, or ""
void prepare_threads(const Launch &launch);
void run_block(const uint3 &place);
uint3 position(size_t index, const dim3 &size);  // of the thread, or block, of this number

}  // namespace emulation
