"""PyTorch modules and JAX functions as functions of Tensors, so that what checks ours can check them, too.

Neither framework is imported here: whoever has an object of theirs has imported it already.

    foreign.wrap(torch_module)        a function of Tensors, with parameters as a Module of minisets has them
    foreign.wrap(jax.jit(f))          a function of Tensors

A wrapped module computes with copies of its parameters and buffers, in the dtype of its input; the module itself keeps
its dtype, its values and its gradients.  Of several outputs the first is taken.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograd.tape import Tensor, apply


def wrap(function: Any, *, repeatable: bool = False) -> Any:
    """A PyTorch module or a compiled JAX function as a function of Tensors; anything else is returned as it is.

    If repeatable, every call of a PyTorch module samples the same random numbers.
    """
    if is_torch_module(function):
        return TorchFunction(function, repeatable=repeatable)
    return JaxFunction(function) if type(function).__module__.split(".")[0] in ("jax", "jaxlib") else function


def is_torch_module(function: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(function, torch.nn.Module)


class Foreign:
    """A function of another framework, with the members that checks ask a Module for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.tensors: dict[str, Tensor] = {}

    def named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        return iter(self.tensors.items())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, x) for name, x in self.tensors.items() if x.requires_grad)

    def named_generators(self) -> Iterator[tuple[str, np.random.Generator]]:
        return iter(())

    def __call__(self, *inputs: Any, **settings: Any) -> Tensor:
        """Tensors and arrays of floating-point numbers are inputs; whatever else is passed on."""
        slots = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.dtype.kind == "f"]
        names = [name for name, x in self.tensors.items() if x.dtype.kind == "f"]

        def compute(needs_grad: Sequence[bool], *arrays: Any) -> Any:
            arguments = list(inputs)
            for slot, array in zip(slots, arrays, strict=False):
                arguments[slot] = array
            state = dict(zip(names, arrays[len(slots) :], strict=True))
            return self.compute(needs_grad, arguments, slots, state, settings)

        leaves = [inputs[i] for i in slots] + [self.tensors[name] for name in names]
        return apply(type(self.function).__name__, compute, leaves, {})

    def compute(
        self, needs_grad: Sequence[bool], arguments: list[Any], slots: list[int], state: dict[str, Any], settings: Any
    ) -> tuple[Any, Callable[[Any], Sequence[Any]]]:
        raise NotImplementedError


class TorchFunction(Foreign):
    """A PyTorch module, or any function of PyTorch's tensors."""

    def __init__(self, function: Callable[..., Any], *, repeatable: bool = False) -> None:
        super().__init__(function)
        self.torch, self.repeatable = sys.modules["torch"], repeatable
        self.device = "cpu"
        self.unreached: set[str] = set()  # parameters from which no path led to the output of the last backward
        if is_torch_module(function):
            module: Any = function
            for named in (module.named_parameters(), module.named_buffers()):
                for name, p in named:
                    self.device = p.device
                    self.tensors[name] = Tensor(p.detach().cpu().numpy().copy(), requires_grad=p.requires_grad)

    def compute(
        self, needs_grad: Sequence[bool], arguments: list[Any], slots: list[int], state: dict[str, Any], settings: Any
    ) -> tuple[Any, Callable[[Any], Sequence[Any]]]:
        arguments = [self._tensor(x) for x in arguments]
        settings = {name: self._tensor(x) for name, x in settings.items()}
        given = {name: self._tensor(x) for name, x in state.items()}
        leaves = [arguments[i] for i in slots] + list(given.values())
        for leaf, needed in zip(leaves, needs_grad, strict=True):
            leaf.requires_grad_(needed)
        rest = {name: self._tensor(x.data) for name, x in self.tensors.items() if name not in given}
        with self._generator(), self.torch.enable_grad():
            if self.tensors:
                output = self.torch.func.functional_call(self.function, given | rest, tuple(arguments), settings)
            else:
                output = self.function(*arguments, **settings)
        y = _first(output, self.torch.Tensor)
        wanted = [leaf for leaf, needed in zip(leaves, needs_grad, strict=True) if needed]

        def pull(g: Any) -> Sequence[Any]:
            sent = [None] * len(wanted)
            if y.requires_grad:
                sent = self.torch.autograd.grad(y, wanted, self._tensor(g), allow_unused=True)
            reached = {id(leaf) for leaf, g in zip(wanted, sent, strict=True) if g is not None}
            self.unreached = {name for name, leaf in given.items() if id(leaf) not in reached}
            found = iter(sent)
            return [
                _array(next(found), leaf) if needed else None for leaf, needed in zip(leaves, needs_grad, strict=True)
            ]

        return y.detach().cpu().numpy(), pull

    def _tensor(self, x: Any) -> Any:
        x = x.data if isinstance(x, Tensor) else x
        return self.torch.from_numpy(np.array(x)).to(self.device) if isinstance(x, np.ndarray) else x

    def _generator(self) -> contextlib.AbstractContextManager[Any]:
        if not self.repeatable:
            return contextlib.nullcontext()
        fork = self.torch.random.fork_rng(devices=[])
        return _seeded(fork, self.torch)


@contextlib.contextmanager
def _seeded(fork: Any, torch: Any) -> Iterator[None]:
    with fork:
        torch.manual_seed(0)
        yield


class JaxFunction(Foreign):
    """A JAX function of arrays; without jax_enable_x64 it computes in float32."""

    def compute(
        self, needs_grad: Sequence[bool], arguments: list[Any], slots: list[int], state: dict[str, Any], settings: Any
    ) -> tuple[Any, Callable[[Any], Sequence[Any]]]:
        jax = sys.modules["jax"]

        def function(*inputs: Any) -> Any:
            for slot, x in zip(slots, inputs, strict=True):
                arguments[slot] = x
            return _first(self.function(*arguments, **settings), jax.Array)

        inputs = [arguments[i] for i in slots]
        dtype = inputs[0].dtype if inputs else np.dtype("float32")
        if dtype == np.float64 and not jax.config.jax_enable_x64:
            raise TypeError("JAX computes in float32 unless jax.config.update('jax_enable_x64', True) is called first")
        with jax.disable_jit():  # op by op: to compile the whole for every new shape would take far longer
            y, vjp = jax.vjp(function, *inputs)

        def pull(g: Any) -> Sequence[Any]:
            with jax.disable_jit():
                return [np.asarray(gx) for gx in vjp(jax.numpy.asarray(g, dtype=y.dtype))]

        return np.asarray(y), pull


def _first(output: Any, kind: type) -> Any:
    """The output, or the first of several."""
    found = [y for y in (output if isinstance(output, list | tuple) else [output]) if isinstance(y, kind)]
    if not found:
        raise TypeError(
            f"expected a function that returns {kind.__module__}.{kind.__name__}, given {type(output).__name__}"
        )
    return found[0]


def _array(g: Any, leaf: Any) -> Any:
    """A gradient as an array; zeros if the output does not depend on the leaf."""
    return np.zeros(tuple(leaf.shape), dtype=leaf.detach().cpu().numpy().dtype) if g is None else g.cpu().numpy()
