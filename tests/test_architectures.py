"""Every row of every table, by the label that is printed there."""

import numpy as np
import pytest

from minisets import ISAB, PMA, SAB, build, rFF
from minisets.architectures import PLANS, ROWS, Label, parse

rng = np.random.default_rng(0)
ALL_ROWS = [(task, label) for task, rows in ROWS.items() for label in rows]


@pytest.mark.parametrize(("task", "label"), ALL_ROWS, ids=[f"{task}: {label}" for task, label in ALL_ROWS])
def test_every_row_can_be_built(task: str, label: str):
    net = build(label, task=task, d_in=3, d_out=5, rng=rng)
    X, mask = rng.normal(size=(2, 6, 3)), np.arange(6) < np.array([[4], [6]])
    plan, row = PLANS[task], parse(label)
    outputs = plan.outputs or row.k or plan.seeds
    assert net(X, mask).shape == ((2, 5) if outputs == 1 else (2, outputs, 5))
    assert net.d == plan.d


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("rFF + Pooling", Label("rff", "pooling")),
        ("rff+pooling", Label("rff", "pooling")),
        ("  RFF  +  POOLING ", Label("rff", "pooling")),
        ("rFF + Pooling ($\\mathrm{mean}$)".replace("\\mathrm", ""), Label("rff", "pooling", kind="mean")),
        ("rFF + Pooling (max)", Label("rff", "pooling", kind="max")),
        ("rFFp-max + Pooling", Label("rffp-max", "pooling")),
        ("rFFp-mean + Pooling [Zaheer et al., 2017]", Label("rffp-mean", "pooling")),
        ("rFF+Dotprod", Label("rff", "dotprod")),
        ("SAB + Dotprod", Label("sab", "dotprod")),
        ("SAB + PMA (ours)", Label("sab", "pma")),
        ("SAB + PMA (4)", Label("sab", "pma", k=4)),
        ("ISAB(16) + PMA(4)", Label("isab", "pma", m=16, k=4)),
        ("isab_16 + pma_4", Label("isab", "pma", m=16, k=4)),
        ("SAB (32) + PMA (6)", Label("isab", "pma", m=32, k=6)),  # the paper's way of writing ISAB (32)
        ("Set Transformer (16)", Label("isab", "pma", m=16)),
        ("set transformer", Label("sab", "pma")),
    ],
)
def test_labels_are_read(text: str, meant: Label):
    assert parse(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SAB + PMB", "there is no architecture 'SAB \\+ PMB'; the nearest are 'SAB \\+ PMA'"),
        ("", "there is no architecture ''; the tables have ISAB"),
        ("ISAB + PMA", "does not say how many inducing points"),
        ("ISAB (0) + PMA", "at least one inducing point"),
        ("SAB + PMA (0)", "at least one seed"),
        ("SAB", "there is no architecture 'SAB'"),
    ],
)
def test_unknown_labels_get_the_nearest(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        parse(text)


def test_the_example_of_the_documentation():
    net = build("ISAB(16) + PMA(4)", d_in=2, d=128, heads=4, d_out=5, rng=rng)
    assert [type(b) for b in net.encoder] == [ISAB, ISAB] and [type(b) for b in net.decoder] == [PMA, SAB]
    assert net(np.zeros((10, 30, 2))).shape == (10, 4, 5)
    assert net.encoder[0].I.shape == (16, 128)


def test_the_tables_of_the_supplement():
    """Layers counted off the printed tables."""
    net = build("rFF + Pooling", task="image_clustering", d_in=512, d_out=1025, rng=rng)
    assert len(net.encoder[0].layers) == 6 and net.encoder[0].last is None
    assert len(net.decoder[1].layers) == 5 and net.head.weight.shape == (256, 4 * 1025)
    assert len(build("SAB + PMA", task="set_anomaly", d_in=256, d_out=8, rng=rng).encoder) == 4
    net = build("rFF + Pooling (sum)", task="max_regression", d_in=1, d_out=1, rng=rng)
    assert net.decoder[0].kind == "sum" and isinstance(net.encoder[0], rFF) and net.d == 64
    net = build("rFF + Pooling", task="point_cloud", d_in=3, d_out=40, rng=rng)
    assert net.decoder[0].kind == "max" and [m.notation for m in net.decoder].count("Dropout(0.5)") == 2
    assert build("rFFp-max + Pooling", d_in=2, d_out=5, rng=rng).encoder[0].pooling == "max"


def test_settings_stand_in_for_the_tables():
    net = build("SAB + PMA(8)", task="unique_characters", d_in=3, d_out=1, rng=rng)
    assert net(np.zeros((2, 4, 3))).shape == (2, 1)  # one output from all eight seeds
    net = build("SAB + PMA", d_in=3, d_out=2, outputs=1, dropout=0.1, style="authors", ln=True, rng=rng)
    assert net(np.zeros((2, 4, 3))).shape == (2, 2) and net.encoder[0].mab.style.norm == "post"
    with pytest.raises(ValueError, match="must be at least 1, given 3, 0, 128, 4"):
        build("SAB + PMA", d_in=3, d_out=0, rng=rng)
    with pytest.raises(ValueError, match="there is no task 'chess'; the tasks are max_regression"):
        build("SAB + PMA", task="chess", d_in=1, d_out=1, rng=rng)


def test_a_network_draws_itself():
    net = build("ISAB(16) + PMA(4)", d_in=2, d_out=5, rng=rng)
    assert str(net).splitlines() == [
        "ISAB(16) + PMA(4): 455,685 parameters",
        "  X                 (B, n, 2)",
        "  ISAB_16(128, 4)   (B, n, 128)      120,192",
        "  ISAB_16(128, 4)   (B, n, 128)      168,192",
        "  PMA_4(128, 4)     (B, 4, 128)       83,584",
        "  SAB(128, 4)       (B, 4, 128)       83,072",
        "  FC(5, –)          (B, 4, 5)            645",
    ]
    assert sum(p.size for p in net.parameters()) == 455_685
