// The functions of the CUDA runtime that CuPy calls, with the signatures of cupy_backends.cuda.api.runtime
// (see signatures.json). CuPy's modules hold pointers to those functions; install.py points them here.
#include "python.h"

#include <dlfcn.h>

#include <cstring>
#include <ctime>

using emulation::Place;

extern "C" {

// ---- memory ---------------------------------------------------------------------------------------------------------

static intptr_t new_allocation(size_t bytes, Place place) {
  if (device_lost()) return 0;
  uintptr_t address = emulation::allocate(bytes, place);
  if (!address) PyErr_NoMemory();
  if (place == Place::device) {
    emulation_counts.allocations++;
    emulation_counts.bytes_allocated += bytes;
  }
  return address;
}

intptr_t runtime_malloc(size_t bytes, int) { return new_allocation(bytes, Place::device); }
intptr_t runtime_mallocAsync(size_t bytes, intptr_t, int) { return new_allocation(bytes, Place::device); }
intptr_t runtime_hostAlloc(size_t bytes, unsigned, int) { return new_allocation(bytes, Place::pinned); }
PyObject *runtime_free(intptr_t address, int) { return none_or_fail(emulation::release(address)); }
PyObject *runtime_freeAsync(intptr_t address, intptr_t, int) { return none_or_fail(emulation::release(address)); }
PyObject *runtime_freeHost(intptr_t address, int) { return none_or_fail(emulation::release(address)); }

// In one allocation, or, for __constant__ and __device__ variables, in the library of a module.
static bool on_device(intptr_t address, size_t bytes) {
  Dl_info info;
  return emulation::holds(address, bytes) || dladdr(reinterpret_cast<void *>(address), &info);
}

static PyObject *copy(intptr_t to, intptr_t from, size_t bytes, int kind) {
  if (device_lost()) return nullptr;
  enum { to_device = 1, to_host = 2, on_the_device = 3 };
  if (bytes && (kind == to_device || kind == on_the_device) && !on_device(to, bytes)) {
    return fail("cudaErrorInvalidValue: a copy of " + std::to_string(bytes) + " bytes leaves its destination");
  }
  if (bytes && (kind == to_host || kind == on_the_device) && !on_device(from, bytes)) {
    return fail("cudaErrorInvalidValue: a copy of " + std::to_string(bytes) + " bytes leaves its source");
  }
  emulation_counts.to_device += kind == to_device;
  emulation_counts.to_host += kind == to_host;
  memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  Py_RETURN_NONE;
}

PyObject *runtime_memcpy(intptr_t to, intptr_t from, size_t bytes, int kind, int) {
  return copy(to, from, bytes, kind);
}
PyObject *runtime_memcpyAsync(intptr_t to, intptr_t from, size_t bytes, int kind, intptr_t, int) {
  return copy(to, from, bytes, kind);
}
PyObject *runtime_memcpyPeerAsync(intptr_t to, int, intptr_t from, int, size_t bytes, intptr_t, int) {
  return copy(to, from, bytes, 3);
}

static PyObject *fill(intptr_t address, int value, size_t bytes) {
  if (bytes && !on_device(address, bytes)) return fail("cudaErrorInvalidValue: a fill leaves its allocation");
  memset(reinterpret_cast<void *>(address), value, bytes);
  Py_RETURN_NONE;
}

PyObject *runtime_memset(intptr_t address, int value, size_t bytes, int) { return fill(address, value, bytes); }
PyObject *runtime_memsetAsync(intptr_t address, int value, size_t bytes, intptr_t, int) {
  return fill(address, value, bytes);
}
int runtime_pointerGetMemoryType(intptr_t address, int) { return emulation::memory_type(address); }
PyObject *runtime_memGetInfo(int) { return Py_BuildValue("(nn)", Py_ssize_t(8) << 30, Py_ssize_t(16) << 30); }

// ---- devices, streams, events: nothing is ever left to wait for -----------------------------------------------------

static PyObject *wait() {
  if (device_lost()) return nullptr;
  emulation_counts.waits++;
  Py_RETURN_NONE;
}

PyObject *runtime__ensure_context(void) { Py_RETURN_NONE; }
PyObject *runtime_deviceSynchronize(int) { return wait(); }
PyObject *runtime_setDevice(int device, int) {
  if (device < 0 || device >= emulation::devices) return fail("cudaErrorInvalidDevice: invalid device ordinal");
  emulation::current_device = device;
  Py_RETURN_NONE;
}
int runtime_getDevice(int) { return emulation::current_device; }
int runtime_getDeviceCount(int) { return emulation::devices; }
int runtime_deviceCanAccessPeer(int, int, int) { return 0; }
int runtime_driverGetVersion(int) { return 12090; }

static int major_version(int device) { return 8 + device; }  // compute capability 8.0 and 9.0

int runtime_deviceGetAttribute(int attribute, int device, int) {
  switch (attribute) {
    case 1: return 1024;                      // threads per block
    case 8: return emulation::shared_limit;   // shared memory per block
    case 97: return emulation::shared_limit;  // the same, where a kernel opts in to more
    case 10: return 32;                       // threads per warp
    case 16: return 4;                        // multiprocessors
    case 39: return 2048;                     // threads per multiprocessor
    case 41: return 1;                        // host and device share addresses
    case 75: return major_version(device);    // of the compute capability
    default: return 0;
  }
}

PyObject *runtime_getDeviceProperties(int device, int) {
  return Py_BuildValue("{s:y,s:i,s:i,s:i,s:i,s:i,s:n,s:n}",
                       "name", "emulation on the host", "major", major_version(device), "minor", 0,
                       "warpSize", 32, "multiProcessorCount", 4, "maxThreadsPerBlock", 1024,
                       "sharedMemPerBlock", Py_ssize_t(emulation::shared_limit),
                       "totalGlobalMem", Py_ssize_t(16) << 30);
}

intptr_t runtime_streamCreate(int) { return 64; }
intptr_t runtime_streamCreateWithFlags(unsigned, int) { return 64; }
PyObject *runtime_streamDestroy(intptr_t, int) { Py_RETURN_NONE; }
PyObject *runtime_streamSynchronize(intptr_t, int) { return wait(); }
PyObject *runtime_streamQuery(intptr_t, int) { Py_RETURN_NONE; }
PyObject *runtime_streamWaitEvent(intptr_t, intptr_t, int, void *) { Py_RETURN_NONE; }
int runtime_streamIsCapturing(intptr_t, int) { return 0; }

// An event is the time at which it was recorded.
intptr_t runtime_eventCreate(int) { return reinterpret_cast<intptr_t>(new timespec()); }
intptr_t runtime_eventCreateWithFlags(unsigned, int) { return reinterpret_cast<intptr_t>(new timespec()); }
PyObject *runtime_eventDestroy(intptr_t event, int) {
  delete reinterpret_cast<timespec *>(event);
  Py_RETURN_NONE;
}
PyObject *runtime_eventRecord(intptr_t event, intptr_t, int) {
  clock_gettime(CLOCK_MONOTONIC, reinterpret_cast<timespec *>(event));
  Py_RETURN_NONE;
}
PyObject *runtime_eventQuery(intptr_t, int) { return PyLong_FromLong(0); }
PyObject *runtime_eventSynchronize(intptr_t, int) { return wait(); }
float runtime_eventElapsedTime(intptr_t first, intptr_t second, int) {
  auto *start = reinterpret_cast<timespec *>(first);
  auto *end = reinterpret_cast<timespec *>(second);
  return (end->tv_sec - start->tv_sec) * 1e3f + (end->tv_nsec - start->tv_nsec) * 1e-6f;
}

}  // extern "C"
