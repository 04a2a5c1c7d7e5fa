// What compiled kernels and the runtime that runs them have to agree on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <vector_types.h>  // CUDA's own: uint3, dim3, float4 ...

// The CUDA thread that is running: kernels read threadIdx and its siblings from here.
struct EmulatedThread {
  uint3 thread, block;
  dim3 block_size, grid_size;
};

// One kernel of a compiled source; a source ends its table of kernels with a nameless one.
struct EmulatedKernel {
  const char *name;
  void (*entry)(void **arguments);
  const bool *points;  // for each parameter: may it start with a pointer into device memory?
  int parameters;
  unsigned most_threads;  // in a block: its __launch_bounds__
};

enum EmulatedCollective { EMULATED_SHUFFLE, EMULATED_BALLOT, EMULATED_WAIT };

extern "C" {
extern EmulatedThread *emulated_thread;

// A site is a place in the source, counter << 20 | line: threads that wait for each other must be at the same one.
void emulated_syncthreads(unsigned long site);
uint64_t emulated_collective(EmulatedCollective kind, unsigned mask, uint64_t value, int source_lane,
                             unsigned long site);

// Shared memory: the dynamic part, and a variable declared __shared__ in (an instantiation of) a function.
void *emulated_dynamic_shared();
void *emulated_static_shared(int declaration, const char *function, size_t bytes, size_t alignment);
}
