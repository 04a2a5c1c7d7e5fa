"""Parity with the authors' modules, on stored fixtures, against torch where it is installed; and weights that travel.

The fixtures come from tests/helpers/authors_reference.py, plain loops written without sight of our blocks.
"""

import os

import numpy as np
import pytest

from autograd import Tensor
from minisets import ISAB, MAB, PMA, SAB, build
from minisets.architectures import Network
from minisets.interop import authors_state, load_authors, load_safetensors, save_safetensors
from minisets.nn import BatchNorm, Linear, Module
from tests.helpers.authors_reference import CASES, FIXTURES

rng = np.random.default_rng(0)


def ours(kind: str, heads: int, ln: bool, **sizes: int) -> Module:
    """Our module of style "authors" for one of the cases."""
    style = {"style": "authors", "ln": ln, "rng": rng}
    if kind == "MAB":
        return MAB(sizes["dim_Q"], sizes["dim_K"], sizes["dim_V"], heads, **style)
    if kind == "SAB":
        return SAB(sizes["dim_in"], sizes["dim_out"], heads, **style)
    if kind == "ISAB":
        return ISAB(sizes["dim_in"], sizes["dim_out"], heads, sizes["num_inds"], **style)
    if kind == "PMA":
        return PMA(sizes["dim"], heads, sizes["num_seeds"], **style)
    d_in, d, m, k, d_out = (sizes[s] for s in ("dim_input", "dim_hidden", "num_inds", "num_outputs", "dim_output"))
    encoder = [ISAB(d_in, d, heads, m, **style), ISAB(d, d, heads, m, **style)]
    decoder = [PMA(d, heads, k, **style), SAB(d, d, heads, **style), SAB(d, d, heads, **style)]
    return Network(
        "authors", encoder, decoder, Linear(d, d_out, rng=rng), widths=(d_in, d, d_out), outputs=k, per_seed=True
    )


def stored(case: str) -> tuple[list[np.ndarray], dict[str, np.ndarray], np.ndarray]:
    with np.load(FIXTURES, allow_pickle=False) as archive:
        inputs = [archive[f"{case}/{name}"] for name in ("input", "input_k") if f"{case}/{name}" in archive.files]
        prefix = f"{case}/state/"
        state = {name.removeprefix(prefix): archive[name] for name in archive.files if name.startswith(prefix)}
        return inputs, state, archive[f"{case}/output"]


def loaded(case: str) -> Module:
    module = ours(**CASES[case])
    load_authors(module, stored(case)[1])
    return module


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-10)])
def test_parity_with_the_authors_modules(case: str, dtype: str, tolerance: float):
    inputs, _, output = stored(case)
    got = loaded(case).astype(dtype)(*inputs).data
    np.testing.assert_allclose(got, output, rtol=tolerance, atol=tolerance)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("case", CASES)
def test_parity_with_torch(case: str):
    from tests.helpers import authors_torch

    module = ours(**CASES[case])  # with fresh weights, sent to torch
    inputs, _, _ = stored(case)
    np.testing.assert_allclose(
        module(*inputs).data, authors_torch.run(case, authors_state(module), *inputs), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("case", CASES)
def test_a_round_trip(case: str):
    state = stored(case)[1]
    back = authors_state(loaded(case))
    assert back.keys() == state.keys()
    for name, array in state.items():
        np.testing.assert_array_equal(back[name], array)


def test_names_that_do_not_match_are_listed_and_nothing_is_changed():
    module, state = loaded("isab"), stored("isab")[1]
    before = module.state_dict()
    state["mab2.fc_q.weight"] = state.pop("mab0.fc_q.weight")
    state["I"] = np.zeros((1, 9, 8))
    with pytest.raises(ValueError, match=r"missing 'mab0.fc_q.weight'; unexpected 'mab2.fc_q.weight'; 'I' has shape"):
        load_authors(module, state)
    for name, array in module.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_inducing_points_without_their_leading_one_are_not_turned():
    a, b = (ISAB(3, 8, 2, 8, style="authors", rng=rng) for _ in range(2))  # m = d: a transpose would fit
    state = authors_state(a)
    load_authors(b, state | {"I": state["I"][0]})
    np.testing.assert_array_equal(a.I.data, b.I.data)
    load_authors(b, {name: Tensor(array) for name, array in state.items()})
    with pytest.raises(ValueError, match=r"'I' has shape \(2, 8, 8\) instead of \(8, 8\)"):
        load_authors(b, state | {"I": np.zeros((2, 8, 8))})


def test_other_styles_and_modules_are_refused():
    near = ({"output": True}, {"norm_position": "pre"}, {"scale": "head"}, {"omega": "1+relu"}, {"bias": False})
    for choices in (*near, {"norm_kind": "set", "ln": True}, {"residual": "input"}, {"rff_before_pma": True}):
        for block in (
            SAB(3, 8, 2, style="authors", rng=rng, **choices),
            PMA(8, 2, 1, style="authors", rng=rng, **choices),
        ):
            with pytest.raises(ValueError, match="the authors' parameters fit only blocks of style 'authors'"):
                load_authors(block, {})
    with pytest.raises(ValueError, match="the authors have no BatchNorm"):
        load_authors(BatchNorm(3), {})


def test_networks_by_label_have_the_authors_places():
    """Their point-cloud model counts its dropouts, their DeepSet its ReLUs."""
    cloud = build("ISAB(4) + PMA", task="point_cloud", d_in=3, d_out=40, d=8, style="authors", rng=rng)
    places = {name.split(".")[1] for name in authors_state(cloud) if name.startswith("dec.")}
    assert places == {"1", "3"}
    deep_set = build("rFF + Pooling", d_in=3, d_out=5, d=8, rng=rng)
    assert [n for n in authors_state(deep_set) if n.endswith("weight")] == [
        *(f"enc.{i}.weight" for i in (0, 2, 4, 6)),
        *(f"dec.{i}.weight" for i in (0, 2, 4, 6)),
    ]


def test_safetensors(tmp_path):
    state, path = authors_state(loaded("isab_ln")), tmp_path / "isab.safetensors"
    save_safetensors(path, state)
    back = load_safetensors(path)
    assert back.keys() == state.keys() and all((back[name] == state[name]).all() for name in state)
    load_authors(ours(**CASES["isab_ln"]), back)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"is not a readable \.safetensors file"):
        load_safetensors(path)
    with pytest.raises(ValueError, match="there is no file"):
        load_safetensors(tmp_path / "absent.safetensors")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"pipe is not a readable \.safetensors file: it is not a regular file"):
        load_safetensors(tmp_path / "pipe")


def test_without_safetensors_the_error_names_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"needs the package safetensors; pip install 'minisets\[interop\]'"):
        load_safetensors(tmp_path / "x")
