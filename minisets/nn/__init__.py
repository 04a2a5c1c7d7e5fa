"""Modules: functions with parameters, and the layers that every network uses."""

from minisets.nn.layers import BatchNorm, Conv2d, ConvNorm, Dropout, LayerNorm, Linear, Sequential, SetNorm
from minisets.nn.module import Module, tensor_like
