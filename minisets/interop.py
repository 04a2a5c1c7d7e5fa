"""Exchanging weights: to and from the authors' PyTorch modules, and .safetensors files.

    state = load_safetensors("set_transformer.safetensors")          # or {name: array} from anywhere
    load_authors(net, state)                                         # a net in style "authors"
    save_safetensors("ours.safetensors", authors_state(net))         # for torch's load_state_dict

The authors name a MAB's layers fc_q, fc_k, fc_v, fc_o, ln0 and ln1, store a matrix as (out, in), and give inducing
points and seeds a leading axis of length 1.  Everything else is the same, so one table of names serves both directions.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograd import Tensor
from autograd.backend import Array
from minisets.architectures import Network
from minisets.blocks import ISAB, MAB, PMA, SAB, rFF
from minisets.files import open_regular
from minisets.nn import Dropout, LayerNorm, Linear, Module
from minisets.state_dict import match_state, overwrite
from minisets.style import STYLES


def load_authors(module: Module, state: Mapping[str, Any]) -> None:
    """Load the authors' parameters into a block or network; if names or shapes do not match, nothing is changed."""
    tensors = dict(_authors_names(module))
    theirs = {name: x.numpy() if isinstance(x, Tensor) else np.asarray(x) for name, x in state.items()}
    ours = {name: _to_ours(name, array) for name, array in theirs.items()}
    overwrite(match_state(type(module).__name__, {name: tensor.data for name, tensor in tensors.items()}, ours))


def authors_state(module: Module) -> dict[str, np.ndarray]:
    """The parameters of a block or network with the authors' names and shapes, ready for torch's load_state_dict."""
    return {name: _to_theirs(name, np.array(tensor.numpy())) for name, tensor in _authors_names(module)}


def _to_ours(name: str, array: np.ndarray) -> np.ndarray:
    """Their array in our layout: without the leading 1 of inducing points and seeds, matrices transposed."""
    if name.split(".")[-1] in ("I", "S"):
        return array[0] if array.ndim == 3 and len(array) == 1 else array
    return array.T


def _to_theirs(name: str, array: np.ndarray) -> np.ndarray:
    return array[None] if name.split(".")[-1] in ("I", "S") else np.ascontiguousarray(array.T)


def _authors_names(module: Module, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """The authors' name for each parameter, and the parameter."""
    if isinstance(module, Network):
        yield from _authors_network_names(module)
    elif isinstance(module, MAB):
        styles = STYLES["authors"], dataclasses.replace(STYLES["authors"], norm_position="post")
        if module.style not in styles or not isinstance(module.rff, rFF):
            raise ValueError("the authors' parameters fit only blocks of style 'authors' (with ln=True or False)")
        attention, (fc_o,) = module.attention, module.rff.layers
        for name, layer in {"fc_q": attention.q, "fc_k": attention.k, "fc_v": attention.v, "fc_o": fc_o}.items():
            yield from _authors_names(layer, f"{prefix}{name}.")
        for name, norm in {"ln0": module.norm_h, "ln1": module.norm_out}.items():
            if isinstance(norm, LayerNorm):
                yield f"{prefix}{name}.weight", norm.gamma
                yield f"{prefix}{name}.bias", norm.beta
    elif isinstance(module, SAB):
        yield from _authors_names(module.mab, f"{prefix}mab.")
    elif isinstance(module, ISAB):
        yield f"{prefix}I", module.I
        yield from _authors_names(module.mab0, f"{prefix}mab0.")
        yield from _authors_names(module.mab1, f"{prefix}mab1.")
    elif isinstance(module, PMA):
        yield f"{prefix}S", module.S
        yield from _authors_names(module.mab, f"{prefix}mab.")
    elif isinstance(module, Linear):
        yield f"{prefix}weight", module.weight
        if module.bias is not None:
            yield f"{prefix}bias", module.bias
    else:
        raise ValueError(
            f"the authors have no {type(module).__name__}; expected a MAB, SAB, ISAB or PMA, or a network of these"
        )


def _authors_network_names(net: Network) -> Iterator[tuple[str, Tensor]]:
    """enc.0, enc.1 … and dec.0, dec.1 …, the head last; an rFF counts as its layers, each followed by a ReLU."""
    for part, layers in {"enc": net.encoder, "dec": [*net.decoder, net.head]}.items():
        index = 0
        for layer in layers:
            if isinstance(layer, rFF):
                for i, linear in enumerate(layer.layers):
                    yield from _authors_names(linear, f"{part}.{index + 2 * i}.")
                index += 2 * len(layer.layers)
            elif layer.parameters():
                yield from _authors_names(layer, f"{part}.{index}.")
                index += 1
            elif isinstance(layer, Dropout):
                index += 1  # no parameters, but an index of its own; pooling by mean or max has neither


# ---- files ----------------------------------------------------------------------------------------------------------


def save_safetensors(path: str | os.PathLike, state: Mapping[str, Array]) -> None:
    """Write arrays by name to a .safetensors file, which PyTorch and others read."""
    _safetensors().save_file({name: np.ascontiguousarray(array) for name, array in state.items()}, path)


def load_safetensors(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Read a .safetensors file, which cannot contain code."""
    library = _safetensors()
    try:
        open_regular(path, most=2**40).close()  # of a pipe, the library would wait for ever
        return library.load_file(path)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except Exception as error:  # the library has its own error type, and damaged headers raise others
        raise ValueError(f"{path} is not a readable .safetensors file: {error}") from error


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            "reading and writing .safetensors needs the package safetensors; pip install 'minisets[interop]'"
        ) from None
    return safetensors.numpy
