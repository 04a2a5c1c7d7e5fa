"""Optimizers, each written as its recurrence; learning-rate schedules; gradient clipping.

optimizer = Adam(net.parameters(), lr=1e-3)
schedule = drop_at(1e-3, fractions=[0.7], total=50_000)
for step in range(50_000):
    optimizer.lr = schedule(step)
    optimizer.zero_grad()
    loss(net(X), y).backward()
    optimizer.step()
"""

from minisets.optim.clipping import clip_grad_norm
from minisets.optim.optimizers import SGD, Adam, Optimizer
from minisets.optim.schedules import (
    Schedule,
    constant,
    cosine,
    drop_at,
    drop_every,
    exponential,
    linear_to_zero,
    warm_up,
)

__all__ = [
    "SGD", "Adam", "Optimizer", "Schedule", "clip_grad_norm", "constant", "cosine", "drop_at", "drop_every",
    "exponential", "linear_to_zero", "warm_up",
]  # fmt: skip
