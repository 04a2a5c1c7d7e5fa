"""What initial weights do: the table in the docs is the stored one."""

import json

import numpy as np
import pytest

from tasks.bench import initial_weights
from tasks.unique_characters import Config, images_of, network
from tests.helpers.commandline import ROOT


def test_the_table_of_the_docs_is_the_stored_one():
    """If not: python -m tasks.bench.initial_weights --stored"""
    found = json.loads(initial_weights.FILE.read_text(encoding="utf-8"))
    assert found["data"] == "omniglot" and found["steps"] == 1_500
    assert initial_weights.table(found) in (ROOT / "docs" / "14-learning-nothing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("preserving", [False, True])
@pytest.mark.parametrize("at_mean", [False, True])
def test_a_network_is_started_in_four_ways(preserving: bool, at_mean: bool):
    config = Config(arch="rFF + Pooling", data="synthetic", steps=2, batch=2, test_sets=5)
    net = initial_weights.start(config, preserving, at_mean)
    stack = net.network.encoder[0].layers[0]
    assert (np.abs(stack.weight.data).max() > 2 / 16) == preserving  # fan_in is 256
    assert (net.network.head.bias.data[0] > 4) == at_mean
    if preserving and at_mean:
        assert all(
            (a.data == b.data).all() for a, b in zip(net.parameters(), network(config).parameters(), strict=True)
        )
        scores = initial_weights.train(config, net, images_of("synthetic"))
        assert 0 < scores["loss"] < 10 and 0 <= scores["Accuracy"] <= 1
