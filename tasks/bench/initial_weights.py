"""What initial weights do to a plain stack: counting characters with rFF + Pooling, started in four ways.

    python -m tasks.bench.initial_weights --data omniglot       ten minutes; prints the table of chapter 14
    python -m tasks.bench.initial_weights --stored              the same from docs/results/bench/initial_weights.json

The weights are variance-preserving or PyTorch's default; the output starts at the mean count or, as by PyTorch's
default, near softplus(0) = 0.7.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from autograd import poisson_negative_log_likelihood
from minisets.blocks import rFF
from minisets.nn import Linear, init
from minisets.optim import Adam
from tasks import unique_characters as task
from tasks.harness import machine
from tasks.harness.run import TEST, TRAINING, WEIGHTS, rng_for

FILE = Path(__file__).resolve().parents[2] / "docs" / "results" / "bench" / "initial_weights.json"
LAST = 100  # steps over which the training loss is averaged


def as_in_pytorch(layer: Linear, rng: np.random.Generator) -> None:
    """U(±1/√fan_in) for weight and bias."""
    fan_in = layer.weight.shape[0]
    for parameter in (layer.weight, layer.bias):
        parameter.data[:] = init.fan_in_uniform(rng, parameter.shape, fan_in).data


def start(config: task.Config, preserving: bool, at_mean: bool) -> task.Counter:
    net, rng = task.network(config), rng_for(config.seed, WEIGHTS, 1)
    for module in net.modules():
        if isinstance(module, rFF) and not preserving:
            for layer in module.layers:
                as_in_pytorch(layer, rng)
    if not at_mean:
        as_in_pytorch(net.network.head, rng)
    return net


def train(config: task.Config, net: task.Counter, parts: dict[str, np.ndarray]) -> dict[str, float]:
    images, optimizer, losses = parts["train"].astype(config.dtype), Adam(net.parameters(), lr=config.lr), []
    for step in range(config.steps):
        optimizer.lr = config.schedule()(step)
        sets = task.sample(config, rng_for(config.seed, TRAINING, step), config.batch, len(images))
        loss = poisson_negative_log_likelihood(net(task.pixels(images, sets), sets.mask), count=sets.counts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scores = task.evaluate(config, net, parts["test"], TEST, config.test_sets)
    return {"loss": float(np.mean(losses[-LAST:]))} | {key: scores[key] for key in ("Accuracy", "constant")}


def table(found: dict[str, Any]) -> str:
    lines = ["| initial weights | initial λ | training loss | accuracy |", "|---|---|---|---|"]
    for row in found["rows"]:
        weights, rate = "variance-preserving" if row["preserving"] else "PyTorch's", "4.5" if row["at_mean"] else "0.7"
        lines.append(f"| {weights} | {rate} | {row['loss']:.2f} | {row['Accuracy']:.3f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("omniglot", "synthetic"), default="synthetic", help="default: synthetic")
    parser.add_argument("--steps", type=int, default=1_500, help="default: 1500")
    parser.add_argument("--stored", action="store_true", help="print the stored table")
    parser.add_argument("--write", action="store_true", help=f"store what was measured in {FILE.name}")
    given = parser.parse_args()
    if given.stored:
        print(table(json.loads(FILE.read_text(encoding="utf-8"))))
        return 0
    config = task.Config(arch="rFF + Pooling", data=given.data, steps=given.steps, lr=5e-4, drop=0.8, test_sets=1_000)
    parts, rows = task.images_of(given.data), []
    machine.keep_memory()
    for preserving, at_mean in itertools.product((False, True), repeat=2):
        scores = train(config, start(config, preserving, at_mean), parts)
        rows.append({"preserving": preserving, "at_mean": at_mean, **scores})
        print(rows[-1], flush=True)
    found = {"data": given.data, "steps": given.steps, **machine.environment(), "rows": rows}
    if given.write:
        FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
