// The functions of the CUDA driver that CuPy calls, as in cuda_runtime.cpp, and those that library.py calls.
#include "python.h"

#include <dlfcn.h>

#include <cstring>
#include <set>

namespace {

PyObject *kernel_error = PyExc_RuntimeError;
bool errors_stay = false;
bool lost = false;                   // the device, by an illegal access while errors stay
std::vector<const char *> launched;  // the names of what was launched, in order

// A module is a library that compiling.py made from a source, a function one kernel of it. Neither is ever freed.
struct Module {
  void *library;
  int device;  // on which it was loaded, and where alone it can be launched
  bool collective, strict;
};

struct Function {
  Module *module;
  const EmulatedKernel *kernel;
};

// The bytes of the allocations that the arguments point into, each allocation once.
size_t bytes_handed(const EmulatedKernel *kernel, void **arguments) {
  std::set<uintptr_t> seen;
  size_t total = 0;
  for (int i = 0; i < kernel->parameters; i++) {
    if (!kernel->points[i]) continue;
    size_t bytes = 0;
    uintptr_t start = emulation::start_of_allocation(*static_cast<uintptr_t *>(arguments[i]), &bytes);
    if (start && seen.insert(start).second) total += bytes;
  }
  return total;
}

// What is wrong with launching this function on the current device, or "".
std::string misplaced(const Function *function, void **arguments) {
  const int here = emulation::current_device;
  if (function->module->device != here) {
    return "CUDA_ERROR_INVALID_HANDLE: loaded on device " + std::to_string(function->module->device) +
           ", launched on device " + std::to_string(here);
  }
  for (int i = 0; i < function->kernel->parameters; i++) {
    if (!function->kernel->points[i]) continue;
    const int device = emulation::device_of(*static_cast<uintptr_t *>(arguments[i]));
    if (device >= 0 && device != here) {
      return "CUDA_ERROR_ILLEGAL_ADDRESS: argument " + std::to_string(i) + " is on device " + std::to_string(device) +
             ", the kernel on device " + std::to_string(here);
    }
  }
  return "";
}

}  // namespace

PyObject *fail(const std::string &message) {
  PyErr_SetString(kernel_error, message.c_str());
  return nullptr;
}

bool device_lost() {
  if (lost) fail("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  return lost;
}

PyObject *none_or_fail(const std::string &message) {
  if (!message.empty()) return fail(message);
  Py_RETURN_NONE;
}

extern "C" {

Counts emulation_counts;

// The name has to be one that stays.
void emulation_record(const char *name) { launched.push_back(name); }

// ---- modules and launches -------------------------------------------------------------------------------------------

intptr_t driver_moduleLoadData(PyObject *image, int) {
  void *library = dlopen(PyBytes_AsString(image), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(std::string("CUDA_ERROR_INVALID_IMAGE: ") + dlerror());
    return 0;
  }
  auto flag = [library](const char *name) { return *static_cast<const bool *>(dlsym(library, name)); };
  return reinterpret_cast<intptr_t>(new Module{library, emulation::current_device, flag("emulated_is_collective"), flag("emulated_is_strict")});
}

PyObject *driver_moduleUnload(intptr_t, int) { Py_RETURN_NONE; }

intptr_t driver_moduleGetFunction(intptr_t address, PyObject *name, int) {
  auto *module = reinterpret_cast<Module *>(address);
  auto *kernel = static_cast<const EmulatedKernel *>(dlsym(module->library, "emulated_kernels"));
  for (; kernel->name; kernel++) {
    if (!strcmp(kernel->name, PyUnicode_AsUTF8(name))) return reinterpret_cast<intptr_t>(new Function{module, kernel});
  }
  fail(std::string("CUDA_ERROR_NOT_FOUND: no kernel of the name ") + PyUnicode_AsUTF8(name));
  return 0;
}

intptr_t driver_moduleGetGlobal(intptr_t module, PyObject *name, int) {
  void *variable = dlsym(reinterpret_cast<Module *>(module)->library, PyUnicode_AsUTF8(name));
  if (!variable) fail(std::string("CUDA_ERROR_NOT_FOUND: no variable of the name ") + PyUnicode_AsUTF8(name));
  return reinterpret_cast<intptr_t>(variable);
}

PyObject *driver_launchKernel(intptr_t address, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned dynamic_bytes, intptr_t, intptr_t arguments,
                              intptr_t, int) {
  if (device_lost()) return nullptr;
  auto *function = reinterpret_cast<Function *>(address);
  const EmulatedKernel *kernel = function->kernel;
  emulation::Launch launch;
  launch.kernel = kernel;
  launch.arguments = reinterpret_cast<void **>(arguments);
  launch.grid = dim3(grid_x, grid_y, grid_z);
  launch.block = dim3(block_x, block_y, block_z);
  launch.dynamic_bytes = dynamic_bytes;
  launch.collective = function->module->collective;
  launch.strict = function->module->strict;

  emulation_record(kernel->name);
  emulation_counts.launches++;
  emulation_counts.bytes_handed += bytes_handed(kernel, launch.arguments);
  std::string problem = misplaced(function, launch.arguments);
  if (problem.empty()) problem = emulation::run(launch);
  lost = errors_stay && problem.find("ILLEGAL_ADDRESS") != std::string::npos;
  if (!problem.empty()) return fail(std::string("kernel ") + kernel->name + ": " + problem);
  Py_RETURN_NONE;
}

int driver_funcGetAttribute(int attribute, intptr_t, int) { return attribute == 0 ? 1024 : 0; }  // 0: threads per block
PyObject *driver_funcSetAttribute(intptr_t, int, int, int) { Py_RETURN_NONE; }
int driver_occupancyMaxActiveBlocksPerMultiprocessor(intptr_t, int, size_t, int) { return 2; }
PyObject *driver_occupancyMaxPotentialBlockSize(intptr_t, size_t, int, int) { return Py_BuildValue("(ii)", 8, 256); }

// ---- for library.py and install.py ----------------------------------------------------------------------------------

void emulation_set_error(PyObject *error) {
  Py_INCREF(error);
  kernel_error = error;
}

int emulation_replace(PyObject *capsule, void *function) { return PyCapsule_SetPointer(capsule, function); }

void emulation_schedule(int order, unsigned seed) { emulation::set_order(static_cast<emulation::Order>(order), seed); }

void emulation_errors_stay(int stay) { errors_stay = stay, lost = false; }

void emulation_only_ends(int only, const char *skipped) { emulation::only_ends = only, emulation::skipped = skipped; }

PyObject *emulation_check() { return none_or_fail(emulation::damage()); }

long emulation_live() { return emulation::live_allocations(); }

int emulation_device_of(uintptr_t address) { return emulation::device_of(address); }

int emulation_holds(uintptr_t address, size_t bytes) { return emulation::holds(address, bytes); }

PyObject *emulation_launched(Py_ssize_t first) {
  PyObject *names = PyList_New(0);
  for (size_t i = first; names && i < launched.size(); i++) {
    PyObject *name = PyUnicode_FromString(launched[i]);
    PyList_Append(names, name);
    Py_DECREF(name);
  }
  return names;
}

}  // extern "C"
