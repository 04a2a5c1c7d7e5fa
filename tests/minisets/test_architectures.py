"""Every row of every table, by the label that is printed there."""

import itertools

import numpy as np
import pytest

from minisets import ISAB, MAB, PMA, SAB, Style, build, rFF
from minisets.architectures import HYPERPARAMETERS
from minisets.labels import ROWS, Label, parse
from minisets.nn import Dropout

rng = np.random.default_rng(0)
ALL_ROWS = [(task, label) for task, rows in ROWS.items() for label in rows]


@pytest.mark.parametrize(("task", "label"), ALL_ROWS, ids=[f"{task}: {label}" for task, label in ALL_ROWS])
def test_every_row_can_be_built(task: str, label: str):
    net = build(label, task=task, d_in=3, d_out=5, rng=rng)
    X, mask = rng.normal(size=(2, 6, 3)), np.arange(6) < np.array([[4], [6]])
    hp, row = HYPERPARAMETERS[task], parse(label)
    outputs = hp.outputs or row.k or hp.seeds
    assert net(X, mask).shape == ((2, 5) if outputs == 1 else (2, outputs, 5))
    assert net.d == (hp.d_attention if hp.d_attention and row.encoder == "isab" else hp.d)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("rFF + Pooling", Label("rff", "pooling")),
        ("rff+pooling", Label("rff", "pooling")),
        ("  RFF  +  POOLING ", Label("rff", "pooling")),
        ("rFF + Pooling ($\\mathrm{mean}$)", Label("rff", "pooling", kind="mean")),
        ("rFF + Pooling (Zaheer et al., 2017)", Label("rff", "pooling")),
        ("rFFp-max + Pooling \\citep{Zaheer2017}", Label("rffp-max", "pooling")),
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
    ("text", "message"),
    [
        ("SAB + PMB", "there is no architecture 'SAB \\+ PMB'; the nearest are 'SAB \\+ PMA'"),
        ("sab + pmb", "the nearest are 'SAB \\+ PMA'"),
        ("", "there is no architecture ''; a label is an encoder and a pooling"),
        ("xyz", "there is no architecture 'xyz'; a label is"),
        ("rFF (3) + Pooling", "there is no architecture"),
        ("SAB + Pooling (4)", "there is no architecture"),
        ("SAB + PMA (max)", "there is no architecture"),
        ("SAB + Dotprod (2)", "there is no architecture"),
        ("ISAB(16+PMA4)", "there is no architecture"),
        ("ISAB + PMA", "does not say how many inducing points"),
        ("ISAB (0) + PMA", "at least one inducing point"),
        ("SAB + PMA (0)", "at least one seed"),
        ("SAB", "there is no architecture 'SAB'"),
    ],
)
def test_unknown_labels_get_the_nearest(text: str, message: str):
    with pytest.raises(ValueError, match=message):
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


FOUR, SIX = "FC({d}, ReLU) × 3, FC({d}, –)", "FC(256, ReLU) × 5, FC(256, –)"
TABLES = {  # typed off the supplement's tables: encoder of rFF, of SAB or ISAB, decoder by pooling, by PMA
    "max_regression": (FOUR.format(d=64), "SAB(64, 4) × 2", "mean, FC(64, ReLU)", "PMA_1(64, 4)"),
    "unique_characters": (FOUR.format(d=64), "SAB(64, 4) × 2", "mean, FC(64, ReLU)", "PMA_1(64, 4)"),
    "clustering": ("FC(128, ReLU) × 4", "SAB(128, 4) × 2", "mean, FC(128, ReLU) × 3", "PMA_4(128, 4), SAB(128, 4)"),
    "clustering_large": ("FC(128, ReLU) × 4", "ISAB_32(128, 4) × 2", "mean, FC(128, ReLU) × 3",
                         "PMA_6(128, 4), SAB(128, 4)"),
    "image_clustering": (SIX, "SAB(256, 4) × 3", "mean, FC(256, ReLU) × 5", "PMA_4(256, 4), SAB(256, 4) × 2"),
    "set_anomaly": ("FC(128, ReLU) × 7, FC(128, –)", "SAB(128, 4) × 4", "mean, FC(128, ReLU) × 3",
                    "PMA_4(128, 4), SAB(128, 4)"),
    "point_cloud": (FOUR.format(d=256), "ISAB_16(256, 4) × 2", "max, Dropout(0.5), FC(256, ReLU), Dropout(0.5)",
                    "Dropout(0.5), PMA_1(256, 4), Dropout(0.5)"),
    "point_cloud_5000": (FOUR.format(d=256), "ISAB_16(512, 4)", "max, Dropout(0.5), FC(256, ReLU), Dropout(0.5)",
                         "Dropout(0.5), PMA_1(512, 4), Dropout(0.5)"),
}  # fmt: skip


@pytest.mark.parametrize("task", HYPERPARAMETERS)
def test_every_table_of_the_supplement(task: str):
    def drawn(layers: list) -> str:
        runs = [(text, len(list(group))) for text, group in itertools.groupby(layer.notation for layer in layers)]
        return ", ".join(f"{text} × {count}" if count > 1 else text for text, count in runs)

    rff, attention, pooled, pma = TABLES[task]
    encoder = {"point_cloud": "ISAB (16)", "clustering_large": "ISAB (32)"}.get(task.removesuffix("_5000"), "SAB")
    plain = build("rFF + Pooling", task=task, d_in=3, d_out=2, rng=rng)
    assert drawn(plain.encoder) == rff and drawn(plain.decoder) == pooled
    net = build(f"{encoder} + PMA", task=task, d_in=3, d_out=2, rng=rng)
    assert drawn(net.encoder) == attention and drawn(net.decoder) == pma
    equivariant = build("rFFp-max + Pooling", task=task, d_in=3, d_out=2, rng=rng).encoder[0].notation
    assert equivariant == rff.replace("FC", "rFFp-max")


def test_settings_stand_in_for_the_tables():
    net = build("SAB + PMA(8)", task="unique_characters", d_in=3, d_out=1, rng=rng)
    assert net(np.zeros((2, 4, 3))).shape == (2, 1)  # one output from all eight seeds
    net = build("SAB + PMA", d_in=3, d_out=2, outputs=1, dropout=0.1, style="authors", ln=True, rng=rng)
    assert net(np.zeros((2, 4, 3))).shape == (2, 2) and net.encoder[0].mab.style.norm_position == "post"
    net = build("rFFp-mean + Pooling", d_in=3, d_out=2, coefficients="scalar", rng=rng)
    assert net.encoder[0].coefficients == "scalar"
    net = build("SAB + PMA", d_in=3, d_out=2, d=8, heads=2, dropout=0.1, norm_position="none", scale="head", rng=rng)
    mabs = [module for module in net.modules() if isinstance(module, MAB)]
    assert len(mabs) == 4 and {mab.style for mab in mabs} == {Style(norm_position="none", scale="head")}
    assert {mab.attention.heads for mab in mabs} == {2} and {mab.attention.d for mab in mabs} == {8}
    assert [layer.p for layer in net.decoder if isinstance(layer, Dropout)] == [0.1, 0.1]
    assert build("SAB + PMA", d_in=3, d_out=2, heads=np.int64(2), rng=rng).encoder[0].mab.attention.heads == 2
    wrong = {"d_in": 0, "d_out": 0, "d": 0, "heads": 0, "outputs": 0}
    for name, value in (*wrong.items(), ("d_in", "2"), ("heads", 1.5)):
        with pytest.raises(ValueError, match=f"{name} must be a positive integer, given {value!r}"):
            build("rFF + Pooling", **{"d_in": 3, "d_out": 2, "rng": rng, name: value})
    with pytest.raises(ValueError, match="there is no style 'fancy'"):  # though this row has no attention
        build("rFF + Pooling", d_in=3, d_out=2, style="fancy", rng=rng)
    with pytest.raises(TypeError, match="build has no argument 'dropuot'; did you mean dropout"):
        build("rFF + Pooling", d_in=3, d_out=2, dropuot=0.5, rng=rng)
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
