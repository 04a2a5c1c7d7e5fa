"""Layers in sequence, with a mask passed to those that take one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from autograd import Tensor
from minisets.nn.module import Module, tensor_like


class Sequential(Module):
    """Layers applied in sequence; a layer is a Module or any function of a Tensor, such as relu.

    A mask is passed to every layer that takes one, until a layer pools the sets: see apply_layers().
    """

    def __init__(self, *layers: Callable[..., Any]) -> None:
        self.layers = list(layers)

    def forward(self, X: Any, mask: Any = None) -> Any:
        if not isinstance(X, Tensor):  # if relu came first, it would turn an array into a float64 Tensor
            X = tensor_like(X, next((x for _, x in self.named_tensors() if x.requires_grad), None))
        return apply_layers(self.layers, X, mask)


def apply_layers(layers: list[Any], X: Any, mask: Any) -> Any:
    """X passed through each layer in turn, with the mask if the layer takes one, until a layer pools the sets.

    A layer that pools has an attribute pools = True; a layer without the attribute counts as pooling if its output does
    not have an element for each entry of the mask.
    """
    for layer in layers:
        X = layer(X, mask) if mask is not None and takes_mask(layer) else layer(X)
        pools = getattr(layer, "pools", None)
        if mask is not None and (pools or (pools is None and X.shape[:-1] != mask.shape)):
            mask = None
    return X


def takes_mask(layer: Any) -> bool:
    """Whether a layer can be called as layer(X, mask)."""
    return _has_parameter(type(layer).forward if isinstance(layer, Module) else layer, "mask")


@cache
def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except ValueError:  # a C function without a signature
        return False
