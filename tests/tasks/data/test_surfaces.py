"""Points on surfaces: uniform by area, from meshes that are valid or refused by name."""

from pathlib import Path

import numpy as np
import pytest

from tasks.data.locations import DataError
from tasks.data.surfaces import read_off, sample_points

TETRAHEDRON = "4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 3\n"


def test_points_are_uniform_by_area():
    """Two triangles of areas 3 and 1: three quarters of the points; within one, centroid and covariance are exact."""
    large, small = np.array([[0, 0, 0], [3, 0, 0], [0, 2, 0.0]]), np.array([[0, 0, 5], [2, 0, 5], [0, 1, 5.0]])
    points = sample_points(np.random.default_rng(0), np.stack([large, small]), 200_000)
    below = points[points[:, 2] == 0]
    assert len(below) / len(points) == pytest.approx(0.75, abs=0.005)
    np.testing.assert_allclose(below.mean(axis=0), large.mean(axis=0), atol=0.01)
    x, y = below[:, 0] / 3, below[:, 1] / 2
    assert (x + y <= 1 + 1e-12).all() and np.corrcoef(x, y)[0, 1] == pytest.approx(-0.5, abs=0.01)
    assert x.var() == pytest.approx(1 / 18, rel=0.02)


def test_a_triangle_without_area_gets_no_points():
    flat = np.array([[0, 0, 9], [1, 0, 9], [2, 0, 9.0]])
    whole = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    points = sample_points(np.random.default_rng(0), np.stack([flat, whole, flat]), 1000)
    assert (points[:, 2] == 0).all()


@pytest.mark.parametrize(
    "head", ["OFF\n4 4 6\n", "OFF4 4 6\n", "OFF 4 4 6\r\n", "OFF\n# made by hand\n4 4 6 # counts\n", "\nOFF\n\n4 4\n"]
)
def test_headers(head: str, tmp_path: Path):
    (tmp_path / "a.off").write_text(head + TETRAHEDRON.split("\n", 1)[1])
    triangles = read_off(tmp_path / "a.off")
    assert triangles.shape == (4, 3, 3)
    np.testing.assert_array_equal(triangles[3], [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


REFUSED = {
    "": "is not an OFF mesh",
    "OFF": "is not an OFF mesh",
    "PLY\n4 4 6\n": "is not an OFF mesh",
    "OFF\n-4 4 6\n": "is not an OFF mesh",
    "OFF\n4.5 4 6\n": "is not an OFF mesh",
    "OFF\n99999999999999999999 4 0\n": "is not an OFF mesh",
    "OFF\n999999999 999999999 0\n1 2 3\n": "are 6,999,999,993 numbers, but 3 follow",
    "OFF" + TETRAHEDRON[:-8]: "4 vertices and 4 triangles, as in its header, are 28 numbers, but 24 follow",
    "OFF" + TETRAHEDRON + "7\n": "but 29 follow",
    "OFF" + TETRAHEDRON.replace("3 0 1 3", "4 0 1 3 2"): "face 1 has 4 vertices; only triangles are supported",
    "OFF" + TETRAHEDRON.replace("3 0 1 3", "2 0 1"): "face 1 has 2 vertices",
    "OFF" + TETRAHEDRON.replace("3 1 2 3", "3 1 2 4"): "a face has a vertex index that is not one of 0 … 3",
    "OFF" + TETRAHEDRON.replace("3 1 2 3", "3 1 2 -1"): "a face has a vertex index that is not one of 0 … 3",
    "OFF" + TETRAHEDRON.replace("3 1 2 3", "3 1 2 2.5"): "a face has a vertex index that is not one of 0 … 3",
    "OFF" + TETRAHEDRON.replace("0 0 1\n", "0 0 x\n"): "something after its header is not a number",
    "OFF" + TETRAHEDRON.replace("0 0 1\n", "0 0 nan\n"): "is not finite",
    "OFF" + TETRAHEDRON.replace("0 0 1\n", "0 0 1e999\n"): "is not finite",
    "OFF" + TETRAHEDRON.replace("0 0 1\n", "0 0 1e25\n"): "a vertex is more than 1,000,000 times as far off as most",
    "OFF\n3 1 0\n0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n": "has no surface",
    "OFF\n3 0 0\n0 0 0\n1 1 1\n2 2 2\n": "has no surface",
    "OFF\n0 0 0\n": "has no surface",
}


@pytest.mark.parametrize("text", REFUSED)
def test_bad_meshes_are_refused_by_name(text: str, tmp_path: Path):
    (tmp_path / "bad.off").write_text(text)
    with pytest.raises(DataError) as refused:
        read_off(tmp_path / "bad.off")
    assert str(tmp_path / "bad.off") in str(refused.value) and REFUSED[text] in str(refused.value)


@pytest.mark.parametrize("size", [1e-300, 1e-6, 1e6, 1e300])
def test_meshes_of_any_size_are_the_same(size: float, tmp_path: Path):
    corners = f"0 0 0\n{size} 0 0\n0 {size} 0\n0 0 {size}\n"
    (tmp_path / "a.off").write_text("OFF4 4 6\n" + corners + TETRAHEDRON.split("0 0 1\n")[1])
    (tmp_path / "b.off").write_text("OFF" + TETRAHEDRON)
    np.testing.assert_allclose(read_off(tmp_path / "a.off"), read_off(tmp_path / "b.off"), rtol=1e-12)
