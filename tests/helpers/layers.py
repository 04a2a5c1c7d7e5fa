"""Built networks in the notation of the paper's architecture tables."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograd import relu
from minisets import ISAB, MAB, PMA, SAB, Dotprod, Pooling, rFF, rFFp
from minisets.architectures import Network
from minisets.nn import Conv2d, ConvNorm, Dropout, Linear, Sequential
from tasks.harness.experiment import find_experiment
from tasks.set_anomaly import Detector
from tasks.unique_characters import Counter


def network(task: str, label: str) -> Any:
    """The network that a task trains, here for small images, and for point clouds with the 40 classes of the data."""
    experiment = find_experiment(task.removesuffix("_5000"))
    settings = {"set_anomaly": {"size": 8}, "point_cloud_5000": {"points": 5_000}}.get(task, {})
    settings |= {"data": "modelnet40"} if task.startswith("point_cloud") else {}
    return experiment.model(experiment.config(arch=label, **settings))


def described(module: Any) -> Iterator[str]:
    """The layers of a built network in the tables' notation, from its weights; rFFp is FC, as it has no column."""
    match module:
        case Counter():
            *layers, last = [*described(module.convolutions), *described(module.network)]
            activation = module(np.zeros((1, 1, 28, 28), dtype="float32"), np.ones((1, 1), dtype=bool)).node.op
            yield from [*layers, last.replace("-", activation)]
        case Detector():
            yield from [*described(module.convolutions), *described(module.vector), *described(module.set)]
        case Network():
            per_seed = " per seed" if module.per_seed and module.outputs > 1 else ""
            yield from itertools.chain.from_iterable(map(described, [*module.encoder, *module.decoder]))
            yield f"FC({module.head.weight.shape[1]}, -){per_seed}"
        case Sequential():
            starts = [i for i, x in enumerate(module.layers) if x is not relu and not isinstance(x, Dropout)]
            for start, end in itertools.pairwise([*starts, len(module.layers)]):
                yield _of_images(*module.layers[start:end])
        case rFF() | rFFp():
            *layers, last = module.layers if isinstance(module, rFF) else module.own
            yield from (f"FC({layer.weight.shape[1]}, ReLU)" for layer in layers)
            yield f"FC({last.weight.shape[1]}, {'ReLU' if module.last else '-'})"
        case SAB():
            yield f"SAB({_width_and_heads(module.mab)})"
        case ISAB():
            (both,) = {_width_and_heads(mab) for mab in (module.mab0, module.mab1)}
            yield f"ISAB_{module.I.shape[0]}({both})"
        case PMA():
            yield f"PMA_{module.S.shape[0]}({_width_and_heads(module.mab)})"
        case Pooling():
            yield module.kind
        case Dotprod():
            yield "Dotprod"
        case Dropout():
            yield f"Dropout({module.p})"
        case _:
            raise TypeError(f"the tables have no layer like {module!r}")


def _width_and_heads(mab: MAB) -> str:
    d = mab.attention.q.weight.shape[1]
    assert [*described(mab.rff)] == [f"FC({d}, ReLU)"]
    return f"{d}, {mab.attention.heads}"


def _of_images(layer: Any, *after: Any) -> str:
    """A convolution or FC layer with the activation and the dropout that follow it."""
    activation = "ReLU" if isinstance(layer, ConvNorm) or relu in after else "-"
    regularization = ["BN"] * isinstance(layer, ConvNorm) + ["Dropout"] * any(isinstance(x, Dropout) for x in after)
    if isinstance(layer, Linear):
        return f"FC({', '.join([str(layer.weight.shape[1]), activation, *regularization])})"
    conv = layer.conv if isinstance(layer, ConvNorm) else layer
    assert isinstance(conv, Conv2d)
    (c, _, size, width), stride = conv.weight.shape, conv.stride
    assert size == width
    return f"Conv({', '.join([str(c), str(size), str(stride), *regularization, activation])})"
