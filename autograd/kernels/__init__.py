"""Kernels: what runs on a GPU in one launch where CuPy's own operations would take many.

A GPU computes so fast that two things decide: how often it is told to do something, and how many bytes go through its
memory.  `y = x - x.mean(...)` is two launches and reads x twice.  A kernel does all the steps of a formula to a number,
a row or a tile while that is in registers or in shared memory; between those and memory each array passes once.

Each file holds a formula, how it is divided among threads, the bytes it saves, its NumPy reference and its CUDA text.
CuPy has three forms of kernel, and all three are here, the simplest that will do:

    ElementwiseKernel   one thread for each number of the output                bias, adam, pooling, mixture
    ReductionKernel     a sum over some axes, of a formula in the inputs        bias, mixture
    RawModule           CUDA functions in files *.cu: shuffles, shared memory   softmax, norm, attention, pooling

registry.py lists them; ops.py makes ops of them and attaches these to the plain ones (autograd/forms.py), which
importing this package does.
"""

from autograd.kernels import ops
