"""The two layers whose result depends on more than one row of a batch, computed over the rows of all processes.

Batch norm needs the mean and variance of the whole batch: processes exchange theirs in forward, and in backward the
sums by which every row's gradient depends on all others.  Dropout samples the random numbers for the whole batch and
uses those of its own rows; all processes have generators in the same state, so the numbers are those of one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograd import Tensor, backend, batch_norm
from autograd.backend import Array
from autograd.ops.images import moments
from autograd.ops.reduce import axis_of
from autograd.tape import apply
from minisets.nn import BatchNorm, Dropout
from minisets.nn.module import tensor_like

if TYPE_CHECKING:
    from minisets.distributed.processes import World


class WholeBatchNorm(BatchNorm):
    """BatchNorm with the statistics of all processes: from the nᵣ values of a channel in process r, their mean and σ²ᵣ,

    n = Σ nᵣ,   μ = Σ nᵣ μᵣ / n,   σ² = Σ nᵣ (σ²ᵣ + (μᵣ − μ)²) / n
    """

    world: World

    def forward(self, X: Any) -> Tensor:
        if not self.training:
            return super().forward(X)
        X = tensor_like(X, self.gamma)
        with backend.device_guard(X.data):
            own = np.stack([backend.to_host(s) for s in moments(X.data, self.axis)]).astype("float64")
        counts = self.world.gather(np.array([X.size // X.shape[self.axis]]))  # (size, 1)
        means, variances = np.moveaxis(self.world.gather(own), 1, 0)  # each (size, channels)
        n = int(counts.sum())
        mean = (counts * means).sum(axis=0) / n
        variance = (counts * (variances + (means - mean) ** 2)).sum(axis=0) / n
        mean, variance = (backend.to_device_of(s.astype(X.dtype), X.data) for s in (mean, variance))
        settings = {"statistics": (mean, variance), "axis": self.axis, "eps": self.eps, "n": n, "world": self.world}
        Y = apply("batch_norm", _whole_batch_norm, (X, self.gamma, self.beta), settings)
        self.update_running(mean, variance, n=n)
        return Y


def _whole_batch_norm(
    needs_grad: list[bool], x: Array, gamma: Array, beta: Array, *, n: int, world: World, **settings: Any
) -> tuple[Array, Any]:
    """gx = γ / √(σ² + ε) ⊙ (g − Σ g / n − x̂ ⊙ Σ (g ⊙ x̂) / n), with sums over the rows of all processes

    A process's g is of the mean over its own rows, so in the sum it counts with its share wᵣ of the batch; the result
    is divided by its own share, with which average_gradients will count it.
    """
    y, pull_frozen = batch_norm.compute([True] * 3, x, gamma, beta, frozen=True, **settings)  # type: ignore[attr-defined]
    channel_shape = [1] * x.ndim
    channel_shape[axis_of(x, settings["axis"])] = len(gamma)

    def pull(g: Array) -> tuple[Array, Array, Array]:
        gx, ggamma, gbeta = pull_frozen(g)
        sums = np.stack([backend.to_host(s) for s in (ggamma, gbeta)]).astype("float64") * (world.weight / n)
        world.sum(sums)
        sums = (sums / world.weight).astype(x.dtype)
        whole_gamma, whole_beta = (backend.to_device_of(s, x).reshape(channel_shape) for s in sums)
        mean, variance = (s.reshape(channel_shape) for s in settings["statistics"])
        inverse_std = (variance + settings["eps"]) ** -0.5
        scale = inverse_std * gamma.reshape(channel_shape)
        return gx - scale * (whole_beta + (x - mean) * inverse_std * whole_gamma), ggamma, gbeta

    return y, pull


class WholeBatchDropout(Dropout):
    """Dropout that keeps the same elements as one process would that had the rows of all."""

    world: World

    def forward(self, X: Any) -> Tensor:
        if not self.training or self.p == 0:
            return super().forward(X)
        X = tensor_like(X, None)
        lengths = self.world.gather(np.array([len(X)]))[:, 0]
        first = int(lengths[: self.world.rank].sum())
        numbers = self.rng.random((int(lengths.sum()), *X.shape[1:]), dtype=X.dtype)[first : first + len(X)]
        keep = ((numbers >= self.p) * (1 / (1 - self.p))).astype(X.dtype)
        return X * Tensor(backend.to_device_of(keep, X.data))
