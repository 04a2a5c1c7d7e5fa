"""What the pages are told is what the networks compute."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograd import Tensor
from minisets import record_attention
from minisets.nn import evaluating
from tasks.clustering import predict
from tasks.data.standins import glyphs
from tasks.metrics import mixtures
from tasks.play import results, stored
from tasks.play.api import handlers
from tasks.play.library import Library
from tasks.play.messages import BadMessage, plain
from tasks.play.networks import SHIPPED

rng = np.random.default_rng(0)
POINTS = mixtures.sample(rng, [60], k=4)[0][0].round(3)
MASK = np.ones((1, 60), dtype=bool)


@pytest.fixture(scope="module")
def ask(library: Library):
    functions = handlers(library)
    return lambda name, **message: plain(functions[name](json.loads(json.dumps(plain(message)))))


def net_of(name: str, step: int | None = None):
    return results.load(SHIPPED[name], stored.read(name), step)


# ---- clustering


def test_the_mixture_is_the_networks(ask):
    answer = ask("clustering", model="clustering-isab", points=POINTS, em="step")
    found = predict(net_of("clustering-isab"), POINTS[None].astype("float32"), None)
    rows = np.array(answer["mixture"]["rows"])
    np.testing.assert_allclose(rows[:, 0], np.exp(found.log_pi[0]), atol=2e-6)
    np.testing.assert_allclose(rows[:, 1:3], found.mu[0], atol=2e-6)
    assert answer["mixture"]["LL"] == pytest.approx(mixtures.log_likelihood(POINTS[None], MASK, found)[0], abs=1e-4)
    assert answer["assigned"] == mixtures.assign(POINTS[None], found)[0].tolist()
    better = mixtures.em_step(POINTS[None], MASK, found)
    assert answer["em"]["LL"] == pytest.approx(mixtures.log_likelihood(POINTS[None], MASK, better)[0], abs=1e-4)
    converged = ask("clustering", model="clustering-isab", points=POINTS, em="converged")["em"]["LL"]
    assert converged >= answer["em"]["LL"] > answer["mixture"]["LL"]


@pytest.mark.parametrize("layer", ["encoder.0.mab0", "encoder.1.mab1", "decoder.0.mab"])
@pytest.mark.parametrize("head", [None, 2])
def test_attention_is_what_the_layer_applies(ask, layer: str, head: int | None):
    answer = ask("clustering", model="clustering-isab", points=POINTS, layer=layer, head=head)
    net = net_of("clustering-isab")
    with evaluating(net), record_attention(net) as seen:
        net(POINTS[None].astype("float32"))
    W = seen[f"{layer}.attention"][0][0]
    W = W.mean(axis=0) if head is None else W[head]
    W = W.T * W.shape[-1] if layer.endswith("mab1") else W * 60
    np.testing.assert_allclose(answer["attention"]["weights"], W, atol=1e-3)


def test_attention_between_points(ask):
    answer = ask("clustering", model="clustering-sab", points=POINTS, layer="encoder.0.mab", head=1, focus=7)
    net = net_of("clustering-sab")
    with evaluating(net), record_attention(net) as seen:
        net(POINTS[None].astype("float32"))
    W = seen["encoder.0.mab.attention"][0][0, 1] * 60
    np.testing.assert_allclose(answer["attention"]["to"], W[7], atol=1e-3)
    np.testing.assert_allclose(answer["attention"]["from"], W[:, 7], atol=1e-3)
    assert ask("clustering", model="clustering-sab", points=POINTS, layer="encoder.0.mab")["attention"] == {}


def test_sab_is_bounded(ask):
    with pytest.raises(BadMessage, match="SAB compares every pair of points and takes at most 2,000 here, given 2,001"):
        ask("clustering", model="clustering-sab", points=[[0, 0]] * 2_001)
    with pytest.raises(BadMessage, match="for at most 1,000 points, given 1,500"):
        ask("clustering", model="clustering-sab", points=[[0, 0]] * 1_500, layer="encoder.0.mab")
    assert len(ask("clustering", model="clustering-isab", points=[[0, 0]] * 10_000)["assigned"]) == 10_000


CHANGES = [{"shuffle": 5}, {"duplicate": True}, {"pad": True}, {"shuffle": 9, "duplicate": True, "pad": True}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_changes_of_the_list(ask, change: dict):
    """Nothing to rounding for a set network; something large for the one that knows positions."""
    for model in ("clustering-isab", "clustering-sab", "clustering-rff-pma", "clustering-pooling"):
        answer = ask("clustering", model=model, points=POINTS, change=change)
        assert answer["change"]["zero"] and answer["change"]["largest"] < 1e-4, model
    broken = ask("clustering", model="clustering-position", points=POINTS, change=change)["change"]
    assert not broken["zero"] and broken["largest"] > 0.01
    numbers = [3, 77, 50, 12.5]
    assert ask("maximum", model="maximum-max", numbers=numbers, change=change)["change"]["zero"]
    sums = ask("maximum", model="maximum-sum", numbers=numbers, change=change)["change"]
    assert sums["zero"] == ("duplicate" not in change)  # a sum counts elements


def test_a_network_with_positions_does_not_see_the_order_of_the_page(ask):
    """Before a change it is shown its points as in training, from left to right, whatever their order on the page."""
    order = rng.permutation(60)
    a = ask("clustering", model="clustering-position", points=POINTS, layer="decoder.0.mab")
    b = ask("clustering", model="clustering-position", points=POINTS[order], layer="decoder.0.mab")
    np.testing.assert_allclose(a["mixture"]["rows"], b["mixture"]["rows"], atol=1e-5)
    np.testing.assert_allclose(np.array(a["attention"]["weights"])[:, order], b["attention"]["weights"], atol=2e-3)


def test_checkpoints_show_learning(ask):
    steps = next(m["steps"] for m in ask("models")["models"] if m["name"] == "clustering-isab")
    LL = [ask("clustering", model="clustering-isab", points=POINTS, step=step)["mixture"]["LL"] for step in steps]
    assert len(steps) >= 6 and steps[0] == 0 and LL[-1] > LL[0] + 1


# ---- the other pages


def test_the_gradient_of_the_maximum(ask):
    """Against central differences of the network itself, in float64."""
    numbers = np.array([12.0, 71.5, 33.0])
    answer = ask("maximum", model="maximum-mean", numbers=numbers)
    net = net_of("maximum-mean").astype("float64")

    def f(x: np.ndarray) -> float:
        return 100 * net(Tensor(x[None, :, None] / 100)).item()

    assert answer["y"] == pytest.approx(f(numbers), abs=1e-2)
    for i in range(3):
        step = np.eye(3)[i] * 1e-4
        assert answer["gradient"][i] == pytest.approx((f(numbers + step) - f(numbers - step)) / 2e-4, abs=1e-3)


def test_a_drawing_by_hand_looks_like_one_of_the_stand_in(ask):
    """A stroke along a Bézier curve of the stand-in, as a mouse would send it, leaves the same ink."""
    points = np.array([[[0.2, 0.2], [0.8, 0.3], [0.2, 0.7], [0.8, 0.8]]])[None, None]
    image = glyphs._render(points)[0, 0]
    curve = glyphs._bezier_weights() @ points[0, 0, 0]
    answer = ask("characters", model="characters-sab", drawings=[{"strokes": [curve]}])
    drawn = np.array(answer["pixels"][0]).reshape(28, 28) / 255
    assert np.corrcoef(drawn.ravel(), image.ravel())[0, 1] > 0.95
    assert drawn.sum() == pytest.approx(image.sum(), rel=0.1)  # in finer steps less of it is cut off at black
    again = ask("characters", model="characters-sab", drawings=[{"pixels": answer["pixels"][0]}])
    assert again["rate"] == pytest.approx(answer["rate"], abs=0.02)
    assert ask("characters", model="characters-sab", drawings=[{"strokes": [[[0.5, 0.5]]]}])["rate"] > 0


def test_characters_count(ask):
    off = []
    for seed in range(20):
        found = ask("characters/sample", n=6, seed=seed)
        answer = ask("characters", model="characters-sab", drawings=found["drawings"])
        assert np.array(answer["attention"]).shape == (6, 6) and len(set(found["labels"])) == found["different"]
        off.append(abs(answer["nearest"] - found["different"]))
    assert np.mean(off) < 1.5  # guessing 3 or 4 is off by 1.5


@pytest.mark.parametrize("drawing", [None, {}, {"strokes": 1}, {"strokes": [[]]}, {"strokes": [[[0]]]}, {"pixels": [0]},
                                     {"pixels": [256] * 784}, {"pixels": [0] * 784, "strokes": []}])  # fmt: skip
def test_bad_drawings(ask, drawing):
    with pytest.raises(BadMessage, match="drawing"):
        ask("characters", model="characters-sab", drawings=[drawing])


def test_clouds(ask):
    right, layer = 0, ask("layers", page="clouds", model="clouds-isab")["layers"][-1]["name"]
    for label in range(16):
        points = ask("clouds/sample", model="clouds-isab", label=label, seed=1, n=200)["points"]
        answer = ask("clouds", model="clouds-isab", points=points, layer=layer, change={"shuffle": 3})
        assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-4) and answer["change"]["zero"]
        assert np.array(answer["attention"]["weights"]).shape == (1, 200)
        right += int(np.argmax(answer["probabilities"]) == label)
    assert right >= 9


# ---- the tape


@pytest.mark.parametrize("fast", [False, True])
def test_the_tape_holds_values_and_gradients(ask, fast: bool):
    message = {"page": "maximum", "model": "maximum-mean", "numbers": [10, 60, 30], "fast": fast}
    drawing = ask("tape", **message)
    names = [node["name"] for node in drawing["nodes"]]
    assert drawing["svg"].count("data-value=") == len(names) and {"X", "Y", "loss"} <= set(names)
    for i, node in enumerate(drawing["nodes"]):
        found = ask("tape/node", **message, node=i)
        assert found["value"]["shape"] == found["gradient"]["shape"] and found["name"] == node["name"]
        assert all(j < len(names) for j in node["inputs"])
    loss = ask("tape/node", **message, node=len(names) - 1)
    y = ask("maximum", model="maximum-mean", numbers=[10, 60, 30])
    assert loss["gradient"]["matrix"] == [[1]]
    assert loss["value"]["matrix"][0][0] == pytest.approx(abs(y["y"] - 60) / 100, abs=1e-4)
    X = ask("tape/node", **message, node=names.index("X"))
    np.testing.assert_allclose(np.abs(X["gradient"]["matrix"]).ravel(), np.abs(y["gradient"]), atol=1e-4)
    Y = ask("tape/node", **message, node=names.index("Y"))
    assert Y["value"]["matrix"][0][0] == pytest.approx(y["y"] / 100, abs=1e-4)


def test_the_tape_of_clustering(ask):
    drawing = ask("tape", page="clustering", model="clustering-isab", points=POINTS)
    ops = {node["op"] for node in drawing["nodes"]}
    assert {"leaf", "linear", "attention", "relu", "softplus", "gaussian_mixture_log_likelihood"} <= ops
    linear = next(i for i, node in enumerate(drawing["nodes"]) if node["op"] == "linear")
    found = ask("tape/node", page="clustering", model="clustering-isab", points=POINTS, node=linear)
    assert "y = x W + b" in found["formula"] and found["value"]["rows"] >= 16
