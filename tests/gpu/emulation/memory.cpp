// Device memory is host memory in which mistakes show:
//
//     | inaccessible pages | 0xA5 0xA5 ... | the allocation, at first 0xFF (NaN) | inaccessible pages |
//
// A huge allocation begins as zeros instead, which take no memory until they are written.
// The allocation ends where the page ends, so one element too far faults; a write before its start damages the pattern.
// Freed memory stays inaccessible for a while before its addresses are used again.
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>

#include "runtime.h"

namespace emulation {

thread_local int current_device = 0;

namespace {

struct Allocation {
  char *mapping;  // its first inaccessible page
  size_t mapped;
  size_t bytes;
  Place place;
  int device;
};

constexpr unsigned char pattern = 0xA5;
constexpr size_t freed_limit = 4096;

std::map<uintptr_t, Allocation> live;
std::deque<Allocation> freed;

bool damaged(uintptr_t address, const Allocation &allocation) {
  auto *before = reinterpret_cast<unsigned char *>(allocation.mapping + guard);
  for (auto *end = reinterpret_cast<unsigned char *>(address); before < end; before++) {
    if (*before != pattern) return true;
  }
  return false;
}

std::string name_of(uintptr_t address, const Allocation &allocation) {
  char text[96];
  snprintf(text, sizeof text, "the allocation of %zu bytes at %#zx", allocation.bytes, address);
  return text;
}

// The inaccessible mapping is kept, so that nothing else gets its addresses while a stale pointer may be about.
void quarantine(const Allocation &allocation) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(allocation.mapping, allocation.mapped, PROT_NONE, flags, -1, 0);
  freed.push_back(allocation);
  if (freed.size() > freed_limit) {
    munmap(freed.front().mapping, freed.front().mapped);
    freed.pop_front();
  }
}

std::map<uintptr_t, Allocation>::iterator find(uintptr_t address) {
  auto next = live.upper_bound(address);
  if (next == live.begin()) return live.end();
  auto found = std::prev(next);
  return address - found->first < found->second.bytes ? found : live.end();
}

}  // namespace

uintptr_t allocate(size_t bytes, Place place) {
  size_t body = (bytes + page - 1) / page * page;
  size_t mapped = body + 2 * guard;
  void *mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return 0;
  char *first = static_cast<char *>(mapping) + guard;
  if (mprotect(first, body, PROT_READ | PROT_WRITE)) {
    munmap(mapping, mapped);
    return 0;
  }
  memset(first, pattern, body - bytes);
  if (bytes < sparse) memset(first + body - bytes, 0xFF, bytes);
  auto address = reinterpret_cast<uintptr_t>(first + body - bytes);
  live[address] = {static_cast<char *>(mapping), mapped, bytes, place, current_device};
  return address;
}

std::string release(uintptr_t address) {
  auto found = live.find(address);
  if (found == live.end()) return "cudaErrorInvalidValue: freed an address that is not the start of a live allocation";
  Allocation allocation = found->second;
  std::string problem;
  if (damaged(address, allocation)) problem = "a kernel wrote before the start of " + name_of(address, allocation);
  live.erase(found);
  quarantine(allocation);
  return problem;
}

bool holds(uintptr_t address, size_t bytes) {
  auto found = find(address);
  return found != live.end() && address - found->first + bytes <= found->second.bytes;
}

uintptr_t start_of_allocation(uintptr_t address, size_t *bytes) {
  auto found = find(address);
  if (found == live.end()) return 0;
  *bytes = found->second.bytes;
  return found->first;
}

int memory_type(uintptr_t address) {
  auto found = find(address);
  if (found == live.end()) return 0;                      // cudaMemoryTypeUnregistered
  return found->second.place == Place::pinned ? 1 : 2;  // cudaMemoryTypeHost, cudaMemoryTypeDevice
}

int device_of(uintptr_t address) {
  auto found = find(address);
  return found == live.end() || found->second.place != Place::device ? -1 : found->second.device;
}

long live_allocations() {
  long count = 0;
  for (auto &[address, allocation] : live) count += allocation.place == Place::device;
  return count;
}

std::string damage() {
  std::string problems;
  for (auto &[address, allocation] : live) {
    if (!damaged(address, allocation)) continue;
    problems += (problems.empty() ? "" : "; ") + ("a kernel wrote before the start of " + name_of(address, allocation));
  }
  return problems;
}

// Called from a signal handler, of a fault that is never in the middle of a change to these tables.
void describe(uintptr_t address, char *text, size_t size) {
  for (auto &allocation : freed) {
    auto mapping = reinterpret_cast<uintptr_t>(allocation.mapping);
    if (address - mapping >= allocation.mapped) continue;
    snprintf(text, size, "%#zx, in a freed allocation of %zu bytes", address, allocation.bytes);
    return;
  }
  for (auto &[start, allocation] : live) {
    auto mapping = reinterpret_cast<uintptr_t>(allocation.mapping);
    if (address - mapping >= allocation.mapped) continue;
    bool before = address < start;
    size_t distance = before ? start - address : address - start - allocation.bytes;
    const char *where = before ? "before" : "past the end of";
    snprintf(text, size, "%#zx, %zu bytes %s an allocation of %zu bytes", address, distance, where, allocation.bytes);
    return;
  }
  snprintf(text, size, "%#zx, which is in no allocation", address);
}

}  // namespace emulation
