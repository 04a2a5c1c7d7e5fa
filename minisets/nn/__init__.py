"""Modules: functions with parameters, and the layers that every network uses."""

from minisets.nn import init
from minisets.nn.dropout import Dropout
from minisets.nn.evaluation import evaluating
from minisets.nn.images import BatchNorm, Conv2d, ConvNorm
from minisets.nn.layers import Identity, LayerNorm, Linear
from minisets.nn.module import Module, tensor_like
from minisets.nn.sequential import Sequential
from minisets.nn.setnorm import SetNorm

__all__ = [
    "BatchNorm", "Conv2d", "ConvNorm", "Dropout", "Identity", "LayerNorm", "Linear", "Module", "Sequential",
    "SetNorm", "evaluating", "init", "tensor_like",
]  # fmt: skip
