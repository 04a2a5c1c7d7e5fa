"""The real CuPy on a machine without a GPU, to find the mistakes in what runs on one.

    from tests.gpu import emulation

    cupy = emulation.install()  # before anything imports cupy

From then on CuPy's own code runs, but for the calls at its lower end. Device memory is host memory (memory.cpp). The
CUDA source that CuPy generates for its elementwise and reduction kernels, and that raw kernels contain, is compiled by
g++ (compiling.py, device.h) and run block by block, with a fiber for each CUDA thread (fibers.cpp). NumPy computes what
cuBLAS and Thrust would (blas.py, thrust.py).

A kernel that does what CUDA forbids raises a KernelError that names it, and the process continues:

- touching memory outside of its allocation: one ends where inaccessible pages begin, freed ones are inaccessible, and
  `check()` finds what was written just before the start of one. Fresh memory is NaN.
- the same for shared memory, which is NaN when a block starts, and an index outside of any array of fixed size
- barriers that part of a block never reaches, warp operations whose mask names a lane that has ended or omits the
  caller's own, threads that wait for ever (in CuPy's own kernels, only the last)
- more threads, blocks or shared memory than there may be, and more threads than a kernel's __launch_bounds__
- code compiled for another architecture than the current device's
- memory, kernels and handles of cuBLAS used while another device is the current one; there are two devices, of compute
  capability 8.0 and 9.0, without access to each other's memory

`schedule()` changes the order in which threads take their turns, so a missing barrier shows as a wrong result;
`lasting_errors()` makes an illegal access spoil all that follows, as on a GPU; `only_ends()` runs the first and the
last block of a grid, for huge arrays, which take no memory until they are written; `reversed_sums()` changes the order
in which products are summed. `counts()`, `counting()`, `launched()` and `live()` tell what happened. `bytes_handed`
adds up, for each launch, the whole allocations that the arguments point into, each of them once: a view counts as the
array it is a view of.

What a pass here says nothing about: CUB, cuSOLVER, cuRAND, textures and streams, none of which is there; the accuracy
of __expf and its like, which are exact here, and of TF32; the order of atomic operations and of memory accesses between
barriers, because threads take turns only at barriers and warp operations; registers; speed. An array is aligned to its
elements and no further: float4 can be read from arrays of floats only if their size is a multiple of 16 bytes.

It takes cupy-cuda12x 14.2, nvidia-cuda-runtime-cu12, g++ 12 or later, and Linux on x86-64; otherwise `install()` raises
Unavailable, with a sentence. Compiled kernels are kept in the folder MINISETS_GPU_CACHE, or among the temporary files.
"""

from .blas import reversed_sums
from .errors import KernelError, Unavailable
from .install import install, installed
from .library import Counts, check, counting, counts, lasting_errors, launched, live, only_ends, schedule
