// What the functions that Python calls have in common.
#pragma once

#include <Python.h>

#include "runtime.h"

// The same as Counts in library.py.
struct Counts {
  long launches, products, to_device, to_host, waits, allocations, bytes_allocated, bytes_handed;
};
extern "C" Counts emulation_counts;

PyObject *fail(const std::string &message);          // raises a KernelError
bool device_lost();                                  // if so, a KernelError has been raised
PyObject *none_or_fail(const std::string &message);  // None if there is no message
