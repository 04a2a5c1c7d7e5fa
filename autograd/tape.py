"""Automatic differentiation in one file.

To train a network is to ask, for each of its parameters: if this number grew a little, how much would the loss grow?
The chain rule answers for all of them at once, in one walk from the loss back to the parameters:

    x ──► op ──► y ──► op ──► loss          forward: each op computes its output and remembers its derivative
    gx ◄─ vjp ◄─ gy ◄─ vjp ◄─ 1             backward: gx = (∂y/∂x)ᵀ gy, where gy means ∂loss/∂y

Three things make that happen, in the order of this file:

    Tensor       an array that remembers how it was made
    Node         that memory: the name of the op, whom to send gradients to, and the derivatives that compute them
    @op          lifts a pure array function to Tensors, so that calling it leaves a Node behind

An op is written as a function of plain arrays that returns its value and, for each input, a vjp ("vector-Jacobian
product"): a function from the gradient g of the output to the gradient of that input.

    @op
    def multiply(x, y):
        return x * y, (lambda g: g * y, lambda g: g * x)

The gradients are plain arrays without a memory of their own, so derivatives are first-order only: there is no
gradient of a gradient.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import backend
from autograd.backend import Array

Vjp = Callable[[Array], Array]
Result = tuple[Array, Vjp | tuple[Vjp | None, ...]]  # what a pure op returns: its value, a vjp for each input

OPS: dict[str, Callable[..., Any]] = {}  # every op by its name; tests demand a case for each

_births = itertools.count()  # numbers the Nodes in the order in which they are made
_recording = contextvars.ContextVar("recording", default=True)


class Tensor:
    """An array, and how it was made.

    data           the numbers: a NumPy array, or a CuPy array on a GPU; shared with the array that was given
    requires_grad  whether anybody wants a gradient here
    node           the Node of the op that made it; None for a leaf, which a person made
    grad           for a leaf, after backward(): an array of data's shape; leaves alone keep one

    Operators and methods (+, @, x[0], x.sum() ...) are bound to the ops in operators.py.
    """

    __slots__ = ("__weakref__", "data", "grad", "node", "requires_grad")

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        if isinstance(data, Tensor):
            data = data.data
        self.data: Array = data if backend.is_array(data) else np.asarray(data)
        self.requires_grad = requires_grad
        self.node: Node | None = None
        self.grad: Array | None = None
        if self.data.dtype.kind not in "biuf":
            raise TypeError(f"a Tensor holds numbers; given an array of dtype {self.dtype}")
        if requires_grad and self.dtype not in ("float32", "float64"):
            raise TypeError(
                f"requires_grad=True needs float32 or float64 data, given {self.dtype}; convert it with .astype"
            )

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)
    device = property(lambda self: backend.device_of(self.data))

    def item(self) -> float:
        """The single number in this Tensor, as a Python number."""
        return self.data.item()

    def numpy(self) -> np.ndarray:
        """The numbers as a NumPy array: shared on the CPU, copied from a GPU."""
        return backend.to_host(self.data)

    def detach(self) -> Tensor:
        """The same numbers without their history: gradients stop here."""
        return Tensor(self.data)

    def backward(self, seed: Any = None) -> None:
        """Add the gradient of ⟨seed, self⟩ to the .grad of every leaf that self was computed from.

        The seed is 1 for a single number, such as a loss.  The graph is freed on the way: one backward a forward.
        """
        made_by = self.node.op if self.node else "a leaf"
        if not self.requires_grad:
            raise RuntimeError(
                "backward from a Tensor that requires no gradient: nothing it was computed from has "
                "requires_grad=True, or it was computed under no_grad()"
            )
        if seed is None and self.size != 1:
            raise ValueError(
                f"backward from {made_by} of shape {self.shape}, which is not a single number: reduce it first, "
                f"for example with .sum() or .mean(), or give a seed gradient of shape {self.shape}"
            )
        ones = backend.array_module(self.data).ones_like(self.data)
        seed = ones if seed is None else _constant(Tensor(seed).data, like=self)
        if seed.shape != self.shape:
            raise ValueError(f"backward from {made_by} of shape {self.shape} was given a seed of shape {seed.shape}")

        # What has arrived so far, by receiver: a Node inside the graph, or a leaf Tensor at its edge.
        gradients: dict[Node | Tensor, Array] = {self.node or self: seed}
        for node in _youngest_first(self.node):
            _pull_back(node, gradients)
        for leaf, g in gradients.items():
            if leaf.grad is None:
                leaf.grad = g.copy()  # our own: g may be shared, as add sends one array to both of its inputs
            else:
                leaf.grad += g

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "setitem: a Tensor cannot be assigned to in place, since an op may have kept its numbers for backward; "
            "build a new one with where(mask, new, x) or concatenate"
        )

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("a Tensor does not turn into a NumPy array by itself; write x.numpy(), or x.data to compute")

    # With these, NumPy and CuPy leave  array + tensor  to the Tensor instead of looping over it themselves.
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __repr__(self) -> str:
        made_by = f", made by {self.node.op}" if self.node else ", requires_grad=True" if self.requires_grad else ""
        return f"Tensor({self.numpy()}, {self.dtype}{made_by})"


class Node:
    """How one Tensor came to be.  Nodes refer to Nodes, not to Tensors, so an array that no vjp needs can go."""

    __slots__ = ("birth", "dtype", "op", "parents", "shape", "vjps")

    def __init__(self, op: str, y: Array, parents: list[Node | Tensor], vjps: list[Vjp]) -> None:
        self.op = op
        self.birth = next(_births)
        self.shape, self.dtype = y.shape, y.dtype  # what a gradient sent here must look like
        self.parents: list[Node | Tensor] = parents  # the Nodes, or leaf Tensors, that want a gradient
        self.vjps: list[Vjp] | None = vjps  # one for each parent; None once backward has been here


def _youngest_first(root: Node | None) -> list[Node]:
    """All Nodes that root was computed from, root first, each before the ones it was computed from.

    Why sorted?  A Tensor used twice receives two gradients, and both must have arrived before their sum travels on.
    An output is always made after its inputs, so going from the youngest Node to the oldest visits every user of a
    Tensor before the Tensor itself.  (No recursion: a graph may be far deeper than Python's stack.)
    """
    found, waiting = {root} - {None}, [root] if root else []
    while waiting:
        node = waiting.pop()
        if node.vjps is None:
            raise RuntimeError(
                f"backward through {node.op}, whose graph an earlier backward has freed; compute the forward again, "
                "or add the losses up and call backward once"
            )
        for parent in node.parents:
            if isinstance(parent, Node) and parent not in found:
                found.add(parent)
                waiting.append(parent)
    return sorted(found, key=lambda node: node.birth, reverse=True)


def _pull_back(node: Node, gradients: dict[Node | Tensor, Array]) -> None:
    """Send the gradient that has arrived at a Node on to its parents, then free what the Node kept for that."""
    g = gradients.pop(node)
    for parent, vjp in zip(node.parents, node.vjps, strict=True):
        gx = vjp(g)
        if getattr(gx, "shape", None) != parent.shape or gx.dtype != parent.dtype:
            given = f"{gx.dtype} of shape {gx.shape}" if hasattr(gx, "shape") else repr(gx)
            raise ValueError(
                f"the derivative of {node.op} returned {given} "
                f"as the gradient of an input that is {parent.dtype} of shape {parent.shape}"
            )
        gradients[parent] = gradients[parent] + gx if parent in gradients else gx
    node.parents, node.vjps = [], None


def op(function: Callable[..., Result]) -> Callable[..., Tensor]:
    """Lift a pure array function that returns (y, vjps) to Tensors, and register it under its name.

    The function's positional parameters are its inputs, which may be Tensors, arrays or numbers; its keyword-only
    parameters are settings, which are constants.  The lifted function takes them in the same order, so softmax(x, 0)
    is softmax(x, axis=0), and where the inputs are *xs it takes them as one list: concatenate([x, y]).

    vjps holds a function for each input, or None for an input that has no derivative (a condition, say); with one
    input it may be the function itself.  Those of inputs that need no gradient are dropped unused.
    """
    name, arrange = function.__name__, _arranger(function)

    @functools.wraps(function)
    def lifted(*arguments: Any, **settings: Any) -> Tensor:
        inputs, settings = arrange(arguments, settings)
        like = _floating_tensor(name, inputs)
        arrays = [_constant(x, like) for x in inputs]
        settings = {key: _setting(name, key, value, like) for key, value in settings.items()}
        try:
            y, vjps = function(*arrays, **settings)
        except ValueError as error:
            shapes = ", ".join(str(x.shape) for x in arrays if hasattr(x, "shape"))
            raise ValueError(f"{name} of {shapes}: {error}") from error

        out = Tensor(y)
        if like is None or not _recording.get():
            return out
        parents, kept = [], []
        for x, vjp in zip(inputs, vjps if isinstance(vjps, tuple) else (vjps,), strict=True):
            if isinstance(x, Tensor) and x.requires_grad and vjp is not None:
                parents.append(x.node or x)
                kept.append(vjp)
        if parents:
            out.requires_grad = True
            out.node = Node(name, out.data, parents, kept)
        return out

    OPS[name] = lifted
    lifted.pure = function  # the array function itself, for those who want no tape
    return lifted


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function that is made of ops, so that its derivative is theirs."""
    OPS[function.__name__] = function
    return function


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Inside `with no_grad():` (or a function under @no_grad()) ops leave no Nodes behind."""
    before = _recording.set(False)
    try:
        yield
    finally:
        _recording.reset(before)


# ---- how the arguments of an op become arrays -----------------------------------------------------------------------


def _arranger(function: Callable[..., Result]) -> Callable[[tuple, dict], tuple[tuple, dict]]:
    """A function that sorts the arguments of a call into inputs and settings, by the signature read once, here."""
    parameters = list(inspect.signature(function).parameters.values())
    inputs = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    # What a caller may write: every parameter by its place or by its name, *xs as one list.
    signature = inspect.Signature([p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in parameters])

    def arrange(arguments: tuple, settings: dict) -> tuple[tuple, dict]:
        if len(arguments) == len(inputs) and not variadic and settings.keys().isdisjoint(inputs):
            return arguments, settings  # nearly every call: nothing to sort
        bound = signature.bind(*arguments, **settings)
        bound.apply_defaults()
        settings = bound.arguments
        arguments = tuple(settings.pop(name) for name in inputs)
        return tuple(arguments[0]) if variadic else arguments, settings

    return arrange


def _floating_tensor(name: str, inputs: tuple) -> Tensor | None:
    """The Tensor whose dtype and device the op computes in; two that disagree are refused, nothing is promoted."""
    like = None
    for x in inputs:
        if isinstance(x, Tensor) and x.data.dtype.kind == "f":
            if like is None:
                like = x
            elif x.data.dtype != like.data.dtype:
                raise TypeError(f"{name} of a {like.dtype} and a {x.dtype} Tensor: convert one of them with .astype")
            elif backend.array_module(x.data) is not backend.array_module(like.data):
                raise TypeError(f"{name} of a Tensor on {like.device} and one on {x.device}: move one with .to")
    return like


def _constant(value: Any, like: Tensor | None) -> Any:
    """The array of an input; a constant takes the dtype and device of the Tensors beside it.

    Python's numbers stay as they are, for they promote nothing; NumPy's scalars would turn float32 into float64.
    What is no number at all (a boolean mask, None, a string) keeps its type.
    """
    if isinstance(value, Tensor):
        if value.data.dtype.kind == "f":
            return value.data
        value = value.data
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float):
        return value if like is not None else np.asarray(value)
    if isinstance(value, list):
        value = np.asarray(value)
    if like is None or not backend.is_array(value):
        return value
    value = backend.beside(value, like.data)
    return value if value.dtype == bool else value.astype(like.dtype, copy=False)


def _setting(name: str, key: str, value: Any, like: Tensor | None) -> Any:
    """The value of a setting: a constant like any other, but that integers (labels, an index) keep their dtype."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            raise TypeError(
                f"{name}: {key} is a constant, so no gradient would reach the Tensor given for it; .detach() it first"
            )
        value = value.data
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(_setting(name, key, part, like) for part in value)
    if like is None or not backend.is_array(value):
        return value
    value = backend.beside(value, like.data)
    return value.astype(like.dtype, copy=False) if value.dtype.kind == "f" else value
