"""GPU kernels, each of which does in one launch what would take many of CuPy's own operations.

A GPU computes so fast that its speed depends on two things: the number of launches, and the number of bytes that pass
through its memory.  `y = x - x.mean(...)` is two launches and reads x twice.  A kernel applies all steps of a formula
to an element, a row or a tile while it is in registers or shared memory, so each array is read or written once.

Each file contains a formula, how it is divided among threads, the bytes it saves, its NumPy reference and its CUDA
source.  CuPy has three kinds of kernel, and each file uses the simplest that is sufficient:

    ElementwiseKernel   one thread per element of the output                    bias, adam, pooling, mixture
    ReductionKernel     the sum over an axis of a formula in the inputs         bias, mixture
    RawModule           CUDA functions in files *.cu: shuffles, shared memory   softmax, norm, attention, pooling

registry.py lists them; ops.py builds forms of the ops from them and attaches these (autograd/forms.py), which happens
when this package is imported.
"""

from autograd.kernels import ops
