"""A first look: which pooling can find the largest number of a set?

Sets of 1 to 10 numbers from [0, 100]; the target is the maximum.  Two small networks see the same sets: one takes the
mean of its elements' features, the other lets a learned query attend to them.  The mean has to squeeze all elements
into one average; attention can put its weight on the one that matters.

    python -m tasks.demo [--steps 3000] [--out runs/demo]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

from autograd import Tensor, absolute_error, attention, mean_pool, no_grad, relu
from minisets.nn import Linear, Module, Sequential
from minisets.nn.init import xavier_uniform
from minisets.optim import Adam, cosine

BATCH, LARGEST, WIDTH = 128, 10, 64


def draw_sets(rng: np.random.Generator, B: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (B, n, 1) with numbers scaled to [0, 1], the mask (B, n) of those present, and the maxima (B, 1) in 0 … 100."""
    mask = np.arange(LARGEST) < rng.integers(1, LARGEST, size=(B, 1), endpoint=True)
    values = rng.uniform(0, 100, size=(B, LARGEST)) * mask
    return values[..., None] / 100, mask, values.max(axis=1, keepdims=True)


class Network(Module):
    """ŷ = 100 · decoder(pool(encoder(x) for x in the set)), the pool being the mean or attention by one query."""

    def __init__(self, pooling: str, *, rng: np.random.Generator) -> None:
        d = WIDTH
        self.encoder = Sequential(Linear(1, d, rng=rng), relu, Linear(d, d, rng=rng), relu, Linear(d, d, rng=rng))
        self.query = xavier_uniform(rng, (1, d), fan_in=d, fan_out=1) if pooling == "attention" else None
        self.decoder = Sequential(Linear(d, d, rng=rng), relu, Linear(d, 1, rng=rng))

    def forward(self, X: np.ndarray, mask: np.ndarray) -> Tensor:
        H = self.encoder(X)  # (B, n, d)
        if self.query is None:
            pooled = mean_pool(H, mask=mask)  # (B, d)
        else:
            pooled = attention(self.query, H, H, mask=mask[:, None, :])[:, 0]  # (B, 1, d) -> (B, d)
        return self.decoder(pooled) * 100


def train(pooling: str, steps: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Train on fresh sets, then predict 2,000 unseen ones: true maxima, predictions, and the error along the way."""
    rng = np.random.default_rng(0)
    net, schedule, errors = Network(pooling, rng=rng), cosine(3e-3, steps), []
    optimizer = Adam(net.parameters())
    watched = sys.stderr.isatty()
    if not watched:
        print(f"training with {pooling} pooling, {steps} steps", file=sys.stderr, flush=True)
    bar = tqdm(range(steps), desc=f"{pooling:>9}", mininterval=0.5, disable=not watched)
    for step in bar:
        optimizer.lr = schedule(step)
        X, mask, y = draw_sets(rng, BATCH)
        loss = absolute_error(net(X, mask), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors.append(loss.item())
        bar.set_postfix(error=f"{np.mean(errors[-100:]):.2f}", refresh=False)
    X, mask, y = draw_sets(np.random.default_rng(1), 2000)
    with no_grad():
        return y[:, 0], net(X, mask).numpy()[:, 0], errors


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tasks.demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000, help="training steps for each network (default: 3000)")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/demo"), help="folder for the figure (default: runs/demo)"
    )
    arguments = parser.parse_args(argv)
    if arguments.steps < 1:
        parser.error(f"--steps must be at least 1, given {arguments.steps}")
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=arguments.out):  # better now than after the training
            pass
    except OSError as error:
        parser.error(f"cannot write to the folder {arguments.out}: {error.strerror}")

    figure, (left, *scatters) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    print("mean absolute error in the maximum of 2,000 unseen sets of numbers from [0, 100]")
    for pooling, axes in zip(("mean", "attention"), scatters, strict=True):
        y, predicted, errors = train(pooling, arguments.steps)
        if pooling == "mean":
            print(f"  always the median  {np.abs(y - np.median(y)).mean():6.2f}")
        error = np.abs(y - predicted).mean()
        print(f"  {pooling + ' pooling':18} {error:6.2f}")
        window = min(100, len(errors))
        smooth = np.convolve(errors, np.ones(window) / window, mode="valid")
        left.plot(np.arange(window, len(errors) + 1), smooth, label=f"{pooling} pooling")
        axes.plot([0, 100], [0, 100], color="0.7", linewidth=1)
        axes.scatter(y, predicted, s=4, alpha=0.4)
        axes.set(title=f"{pooling} pooling: mean error {error:.2f}", xlabel="true maximum", ylabel="predicted maximum")
    left.set(title=f"learning (mean of {window} steps)", xlabel="step", ylabel="mean absolute error", yscale="log")
    left.legend()
    path = arguments.out / "demo.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"figure: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
