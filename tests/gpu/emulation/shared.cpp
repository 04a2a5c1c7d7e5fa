// Shared memory: each variable at the end of a region of its own, with an inaccessible page behind it.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "runtime.h"

namespace emulation {
namespace {

struct Variable {
  int declaration;
  const char *function;  // a declaration in a template is another variable in each instantiation
  char *address;
  size_t bytes;
};

constexpr size_t region = 64 << 10;
constexpr size_t regions = 64;
static_assert(region >= shared_limit + page, "a region has to hold a variable and its inaccessible page");

std::vector<Variable> variables;  // of the launch; the first one is the dynamic part

char *map_regions() {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  auto *start = static_cast<char *>(mmap(nullptr, region * regions, PROT_READ | PROT_WRITE, flags, -1, 0));
  for (size_t i = 1; i <= regions; i++) mprotect(start + i * region - page, page, PROT_NONE);
  return start;
}

char *end_of_region(size_t index) {
  static char *start = map_regions();
  return start + (index + 1) * region - page;
}

char *place(int declaration, const char *function, size_t bytes, size_t alignment) {
  size_t total = bytes;
  for (auto &variable : variables) total += variable.bytes;
  if (total > shared_limit || variables.size() == regions) {
    abandon("CUDA_ERROR_INVALID_VALUE: " + std::to_string(total) + " bytes of shared memory, at most 48 KiB");
  }
  size_t room = (bytes + alignment - 1) / alignment * alignment;
  char *address = end_of_region(variables.size()) - room;
  memset(address, 0xFF, bytes);
  variables.push_back({declaration, function, address, bytes});
  return address;
}

}  // namespace

void start_shared_memory(size_t dynamic_bytes) {
  variables.clear();
  place(-1, nullptr, dynamic_bytes, 1);
}

void clear_shared_memory() {
  for (auto &variable : variables) memset(variable.address, 0xFF, variable.bytes);
}

}  // namespace emulation

// Null outside of a launch: that is where a declaration at file scope would ask.
void *emulated_dynamic_shared() { return emulation::variables.empty() ? nullptr : emulation::variables[0].address; }

// Called by every thread where the variable is declared: the first one of the launch finds a place for it.
void *emulated_static_shared(int declaration, const char *function, size_t bytes, size_t alignment) {
  for (auto &variable : emulation::variables) {
    if (variable.declaration == declaration && variable.function == function) return variable.address;
  }
  return emulation::place(declaration, function, bytes, alignment);
}
