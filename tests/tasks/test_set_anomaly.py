"""Set anomaly detection: the paper's protocol, equivariant scores, and runs that learn."""

from pathlib import Path

import numpy as np
import pytest

from autograd import no_grad
from tasks import set_anomaly as task
from tasks.data import DataError
from tasks.data.standins import faces
from tasks.data.standins.faces import Faces
from tasks.harness.cli import main
from tasks.harness.errors import Interrupted, UsageError
from tasks.harness.run import TEST, TRAINING, VALIDATION, Run, rng_for
from tasks.harness.run_folder import RunFolder
from tasks.set_anomaly import Config
from tests.helpers.runs import assert_same_run, change_json
from tests.tasks.data.test_celeba import data as tiny_celeba  # noqa: F401  a CelebA of sixty images, as a fixture

SMALL = {"arch": "rFF + Pooling", "data": "synthetic", "size": 8, "batch": 4, "steps": 12, "train_sets": 20,
         "validation_sets": 5, "test_sets": 10, "evaluate_every": 5, "save_every": 5, "log_every": 3}  # fmt: skip
DATA = faces.load()


def train(folder: Path, **options) -> dict[str, float]:
    config = Config(**SMALL | options)
    place = RunFolder(folder, task.EXPERIMENT)
    if not place.config_path.exists():
        place.begin("quick", config)
    result = task.train(config, Run(place, config, config.arch))
    place.write(place.result_path, {"run": place.name(), "metrics": result, "seconds": 0})
    return result


# ---- the sets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0, 1, 2])
def test_seven_have_both_attributes_and_one_has_neither(part: int):
    members, odd, shared = task.sample(np.random.default_rng(part), DATA, part, 2_000)
    has = DATA.attributes[members[..., None], shared[:, None, :]]  # (sets, 8, 2)
    is_odd = np.arange(8) == odd[:, None]
    assert has[~is_odd].all() and not has[is_odd].any()
    assert (DATA.split[members] == part).all()
    assert all(len({*eight}) == 8 for eight in members.tolist())
    assert np.bincount(odd, minlength=8).min() > 150  # 250 expected: any position
    pairs = {tuple(pair) for pair in shared.tolist()}
    assert len(pairs) == 12 * 11 // 2 and all(a < b for a, b in pairs)


def test_a_thousand_sets_eight_hundred_to_train_on():
    config = Config(data="celeba")
    assert (config.train_sets, config.test_sets, config.steps, config.lr) == (800, 200, 1_000, 1e-4)


def test_two_attributes_that_too_few_images_have_are_not_sampled():
    rng = np.random.default_rng(0)
    has = rng.random((200, 4)) < 0.5
    has[:, 3] = np.arange(200) < 6  # six images: one too few for seven
    has[:, 2] |= ~has[:, 1]  # no image lacks both 1 and 2
    data = Faces(tuple("abcd"), has, np.zeros(200, dtype=np.uint8), None)
    _, _, shared = task.sample(rng, data, 0, 300)
    assert {tuple(pair) for pair in shared.tolist()} == {(0, 1), (0, 2)}
    with pytest.raises(DataError, match="no two attributes are shared by 7 and lacked by one of the 0 images"):
        task.sample(rng, data, 1, 10)


def test_the_sets_are_the_same_for_every_run_and_no_face_is_in_two_parts():
    sets = [task.sample(rng_for(task.SETS_SEED, p), DATA, task.PARTS[p], 50)[0] for p in (TRAINING, VALIDATION, TEST)]
    assert not any({*a.flat} & {*b.flat} for a, b in ((sets[0], sets[1]), (sets[0], sets[2]), (sets[1], sets[2])))
    a, b = (task.sets_for(Config(**SMALL | {"seed": seed}), TEST, 10) for seed in (0, 1))
    np.testing.assert_array_equal(a.images[a.members], b.images[b.members])
    np.testing.assert_array_equal(a.images[a.members], DATA.images(sets[2][:10].ravel(), 8).reshape(10, 8, 3, 8, 8))


# ---- the network ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", task.EXPERIMENT.rows)
def test_shuffled_images_have_shuffled_scores(label: str):
    """The network with its convolutions; scores by position would be guesses, since the head is invariant to order."""
    net = task.network(Config(**SMALL | {"arch": label, "dtype": "float64"}))
    rng = np.random.default_rng(0)
    X, order = rng.integers(256, size=(2, 8, 3, 8, 8), dtype=np.uint8), rng.permutation(8)
    net.eval()
    with no_grad():
        s, shuffled = net(X).numpy(), net(X[:, order]).numpy()
        Z = rng.normal(size=(2, 8, 256))
        Y = [net.set(z).numpy() for z in (Z, Z[:, order])]
    assert s.shape == (2, 8) and np.ptp(s, axis=1).min() > 1e-6
    np.testing.assert_allclose(shuffled, s[:, order], rtol=1e-9)
    assert Y[0].shape == (2, 8, 256)
    np.testing.assert_allclose(Y[1], Y[0], rtol=1e-8, atol=1e-12)


def test_the_layers_are_those_of_the_table():
    for label, d in (("rFF + Pooling", 128), ("SAB + PMA", 4 * 128)):
        net = task.network(Config(arch=label, data="synthetic"))
        shapes = [p.shape for _, p in net.named_parameters() if p.ndim > 1]
        assert shapes[:3] == [(32, 3, 3, 3), (64, 32, 3, 3), (128, 64, 3, 3)]  # 64 × 64 pixels, then 32, 16 and 8
        assert shapes[3:7] == [(128 * 8 * 8, 1024), (1024, 512), (512, 256), (256, 256)]
        assert shapes[7][0] == 256 and net.set.head.weight.shape == (d, 256 * 8)


def test_differences_between_faces_survive_the_encoder():
    """With PyTorch's default initialization, z would vary between faces a hundredth as much."""
    net = task.network(Config(data="synthetic", size=32))
    net.eval()
    with no_grad():
        Z = net.embed(DATA.images(np.arange(40), 32)).numpy()
    assert 0.1 < Z.std(axis=0).mean() < 3 and Z.shape == (40, 256)


def test_dropout_acts_only_in_training():
    net = task.network(Config(**SMALL))
    X = np.random.default_rng(0).integers(256, size=(1, 8, 3, 8, 8), dtype=np.uint8)
    assert (net(X).numpy() != net(X).numpy()).any()
    sets = task.Sets(X[0], np.arange(8)[None], np.array([3]), [("a", "b")])
    np.testing.assert_array_equal(task.scores(net, sets), task.scores(net, sets))
    assert all(module.training for module in net.modules())


# ---- training -------------------------------------------------------------------------------------------------------


def test_the_metrics_follow_their_definitions():
    s = np.array([[3.0, 2, 1, 0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0, 0, 0]])
    measured = task.evaluate(s, np.array([0, 3, 5]))  # ranks 1 and 5, and a tie
    assert measured["AUROC"] == pytest.approx((1 + 3 / 7 + 0.5) / 3)
    assert measured["AUPR"] == pytest.approx((1 + 1 / 5 + 1 / 8) / 3)
    assert measured["found"] == 1 / 3
    scaled = task.evaluate(s + np.array([[1e3], [-1e3], [5.0]]), np.array([0, 3, 5]))
    assert scaled == pytest.approx(measured)  # a constant added to a set's scores changes nothing
    blind = task.evaluate(np.random.default_rng(0).normal(size=(4_000, 8)), np.full(4_000, 2))
    assert blind["AUROC"] == pytest.approx(0.5, abs=0.02) and blind["AUPR"] == pytest.approx(0.3397, abs=0.02)
    assert blind["AUROC of all"] == pytest.approx(0.5, abs=0.02) and blind["AUPR of all"] == pytest.approx(
        0.125, abs=0.01
    )


@pytest.mark.parametrize("label", ["rFF + Pooling", "SAB + PMA"])
def test_it_learns(label: str, tmp_path: Path):
    options = {"size": 16, "lr": 3e-4, "batch": 16, "train_sets": 400, "style": "authors", "test_sets": 200}
    result = train(tmp_path, arch=label, steps=140, log_every=10, evaluate_every=140, **options)
    losses = [line["loss"] for line in RunFolder(tmp_path).metrics() if "loss" in line]
    assert losses[-1] < losses[0] - 0.1
    assert result["AUROC"] > 0.6 and result["AUPR of all"] > 0.18  # guessing has 0.5 ± 0.02 and 0.125
    assert result["random AUROC"] == 0.5 and result["random AUPR of all"] == 0.125
    assert result["random AUPR"] == pytest.approx(0.33973, abs=1e-5)


def test_a_stopped_run_resumes_with_the_same_bits(tmp_path: Path, monkeypatch):
    straight = train(tmp_path / "straight", arch="SAB + PMA")
    real = Run.log

    def log(run: Run, loss) -> None:
        real(run, loss)
        run.asked_to_stop = run.done in (3, 7)  # as Ctrl-C would, after step 4 and after step 8

    monkeypatch.setattr(Run, "log", log)
    for _ in range(2):
        with pytest.raises(Interrupted):
            train(tmp_path / "stopped", arch="SAB + PMA")
    assert train(tmp_path / "stopped", arch="SAB + PMA") == straight
    assert_same_run(tmp_path / "straight", tmp_path / "stopped")


def test_on_a_device(device: str, tmp_path: Path):
    """The same results on the CPU and on the strict double of a GPU."""
    there, here = (
        train(tmp_path / name, arch="SAB + PMA", steps=3, dtype="float64", dropout=1e-9, device=where)
        for name, where in (("there", device), ("here", "cpu"))
    )
    assert there == pytest.approx(here, rel=1e-6)
    losses = [RunFolder(tmp_path / name).metrics()[-1]["loss"] for name in ("there", "here")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


# ---- the command and the figures ------------------------------------------------------------------------------------


def test_command_table_and_figures(tmp_path: Path, capsys):
    words = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "arch"]
    labels = ["--arch", "rFF + Dotprod", "--arch", "sab+pma"]
    assert main(["train", "set_anomaly", *labels, *words, "--out", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.glob("*.png")} == set(task.EXPERIMENT.figures)
    capsys.readouterr()
    assert main(["table", "set_anomaly", "--runs", str(tmp_path)]) == 0
    lines = {line.split("  ")[0]: line for line in capsys.readouterr().out.splitlines() if line}
    guess = lines["Random guess, synthetic stand-in"].split()
    assert guess[4:10] == ["0.5000", "0.5", "0.3397", "0.125", "0.5000", "0.1250"]
    assert guess[-2:] == ["quick", "[1]"]
    ours = lines["SAB + PMA, synthetic stand-in"]
    assert "0.5941 ± 0.0170" in ours and " quick [2] " in ours and "rFFp-max + Pooling" in lines
    folders = [RunFolder(path.parent) for path in sorted(tmp_path.glob("*/result.json"))]
    figure = task.EXPERIMENT.figures["faces"](folders)
    assert (
        "SAB + PMA chooses the odd one in " in figure.get_suptitle() and "synthetic stand-in" in figure.get_suptitle()
    )
    framed = [[bool(axes.patches) for axes in figure.axes[i : i + 8]] for i in range(0, 64, 8)]
    np.testing.assert_array_equal(np.argmax(framed, axis=1), task.sets_for(folders[0].options(), TEST, 10).odd[:8])
    assert np.sum(framed) == 8 and sum(len(axes.lines) for axes in figure.axes) == 8  # one red, one chosen in a row


def test_no_faces_without_examples_checkpoint_or_data(tmp_path: Path):
    train(tmp_path, steps=1)
    folder = RunFolder(tmp_path)
    original = folder.config_path.read_bytes()
    change_json(folder.config_path, lambda about: about["options"].update(data="celeba"))
    assert task.EXPERIMENT.figures["faces"]([folder]) is None  # the data is not here
    folder.config_path.write_bytes(original)
    assert task.EXPERIMENT.figures["faces"]([folder]) is not None
    folder.checkpoint_path.unlink()
    assert task.EXPERIMENT.figures["faces"]([folder]) is not None  # from examples.npz
    folder.examples_path.unlink()
    assert task.EXPERIMENT.figures["faces"]([folder]) is None


def test_a_missing_image_is_reported_before_anything_is_written(tiny_celeba: Path, tmp_path: Path, capsys):  # noqa: F811
    few = {"size": 8, "steps": 2, "batch": 2, "train-sets": 20, "validation-sets": 5, "test-sets": 20}
    words = ["train", "set_anomaly", "--arch", "rFF + Pooling", "--out", str(tmp_path / "run")]
    words += [word for name, value in few.items() for word in (f"--{name}", str(value))]
    for path in sorted((tiny_celeba / "img_align_celeba").iterdir())[2::3]:  # those to test on, which come last
        path.rename(path.with_suffix(".away"))
    for _ in range(2):  # the same command says the same
        assert main(words) == 2
        assert "other images are in the attribute list but not in" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()
    for path in (tiny_celeba / "img_align_celeba").glob("*.away"):
        path.rename(path.with_suffix(".jpg"))
    assert main(words) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dropout": 1.0}, "--dropout must be less than 1, given 1.0"),
        ({"size": 500}, "--size must be at most 178"),
        ({"size": 4}, "--size must be at least 8"),
        ({"batch": 801}, "--batch 801 is more than --train-sets 800"),
        ({"data": "omniglot"}, "--data must be one of auto, synthetic, celeba"),
    ],
)
def test_impossible_options_are_refused(options: dict, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        Config(**options)
