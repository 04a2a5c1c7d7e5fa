"""Module: a function with parameters.

A Module is an ordinary object.  The Tensors, Modules and random generators in its attributes (or in lists, tuples and
dictionaries there) belong to it, in the order in which the attributes were set, under names such as "layers.0.weight".
A Tensor that requires a gradient is a parameter; one that does not is still part of the state, such as the running mean
of a BatchNorm or a frozen parameter.

    class Affine(Module):
        def __init__(self, d, *, rng):
            self.weight = init.fan_in_uniform(rng, (d, d), fan_in=d)

        def forward(self, X):
            return X @ self.weight
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from autograd import Tensor, backend
from autograd.backend import Array
from minisets.nn.members import named_members
from minisets.nn.summary import as_html, as_text
from minisets.state_dict import match_state, overwrite


class Module:
    training = True  # whether Dropout drops and BatchNorm uses batch statistics; set by train() and eval()

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *inputs: Any, **settings: Any) -> Any:
        return self.forward(*inputs, **settings)

    # ---- members

    def named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every Tensor in the state, once, with its dotted name; a result stored in an attribute is not state."""
        return ((name, x) for name, x in named_members(self) if isinstance(x, Tensor) and x.node is None)

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The trainable Tensors, with their names."""
        return ((name, x) for name, x in self.named_tensors() if x.requires_grad)

    def parameters(self) -> list[Tensor]:
        """The trainable Tensors, in the order of named_parameters()."""
        return [x for _, x in self.named_parameters()]

    def named_generators(self) -> Iterator[tuple[str, np.random.Generator]]:
        """The random generators, whose state checkpoints save, with their names."""
        return ((name, x) for name, x in named_members(self) if isinstance(x, np.random.Generator))

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """This Module, under the name "", and every Module inside it."""
        return ((name, x) for name, x in named_members(self) if isinstance(x, Module))

    def modules(self) -> Iterator[Module]:
        """This Module and every Module inside it."""
        return (x for _, x in self.named_modules())

    # ---- mode, gradients, device and dtype

    def train(self, training: bool = True) -> Self:
        for module in self.modules():
            module.training = training
        return self

    def eval(self) -> Self:
        return self.train(False)

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters, before the next backward pass adds to them."""
        for p in self.parameters():
            p.grad = None

    def to(self, device: str) -> Self:
        """Move all Tensors to a device, in place; create optimizers after the move."""
        return self._apply(lambda data: backend.to_device(data, device))

    def astype(self, dtype: Any) -> Self:
        """Convert all floating-point Tensors to float32 or float64, in place."""
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"a Module computes in float32 or float64, given {np.dtype(dtype)}")
        return self._apply(lambda data: data.astype(dtype) if data.dtype.kind == "f" else data)

    def _apply(self, function: Callable[[Array], Array]) -> Self:
        converted = [(x, function(x.data)) for _, x in self.named_tensors()]  # an error here changes nothing
        for x, data in converted:
            x.data, x.grad = data, None
        return self

    # ---- saving and loading

    def state_dict(self) -> dict[str, np.ndarray]:
        """A copy of the state, by name, as NumPy arrays."""
        return {name: np.array(x.numpy()) for name, x in self.named_tensors()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Load a state with the same names and shapes; any other raises ValueError before a value is changed."""
        overwrite(self.match_state_dict(state))

    def match_state_dict(self, state: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """Pairs of an array of this Module and the saved one of its name; raises ValueError if they do not match."""
        return match_state(type(self).__name__, {name: x.data for name, x in self.named_tensors()}, state)

    # ---- printing: summary.py

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def tensor_like(X: Any, like: Tensor | None) -> Tensor:
    """X itself if it is a Tensor; anything else as a Tensor with the dtype and device of `like`, a parameter."""
    if isinstance(X, Tensor):
        return X
    X = Tensor(X)
    if like is None:
        return X
    matches = X.dtype == like.dtype and X.device == like.device
    return X if matches else X.astype(like.dtype).to(like.device)
