// What the sources that CuPy generates include, for the precompiled header: there, their own #include finds it done.
#pragma once

#include "device.h"

#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
