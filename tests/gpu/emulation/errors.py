"""What can go wrong: in a kernel, or before there is any emulation."""


class KernelError(RuntimeError):
    """A kernel or a call of the CUDA runtime did what CUDA forbids, or leaves undefined."""


class Unavailable(RuntimeError):
    """The emulation cannot work here; the message says why."""
