# SPDX-License-Identifier: Apache-2.0
"""Rank and least squares by the rule of `spatial.rank`: rounding counts for nothing, units for nothing."""

import ast
from pathlib import Path

import numpy as np
import pytest

import rbd_dynamics
from rbd_dynamics.spatial.rank import least_squares, measures_of, normal_solution, screws_rank
from rbd_dynamics.theory.screws import subspaces

RNG = np.random.default_rng(5)
TINY = [0.0, 1e-17, 1e-15, 1e-13, 1e-12]
PACKAGE = Path(rbd_dynamics.__file__).parent


@pytest.mark.parametrize("solve", [least_squares, lambda A, b: normal_solution(A.T @ A, A.T @ b)])
@pytest.mark.parametrize("tiny", TINY)
def test_a_column_of_rounding_takes_no_part(solve, tiny):
    A = RNG.normal(size=(40, 4))
    b = A @ [1.0, -2.0, 0.5, 3.0] + 0.01 * RNG.normal(size=40)
    wanted = np.linalg.lstsq(A, b, rcond=None)[0]
    with_it = np.column_stack([A[:, :2], tiny * RNG.normal(size=40), A[:, 2:]])
    found = solve(with_it, b)
    assert found[2] == 0.0
    np.testing.assert_allclose(np.delete(found, 2), wanted, rtol=1e-9)


@pytest.mark.parametrize("solve", [least_squares, lambda A, b: normal_solution(A.T @ A, A.T @ b)])
def test_units_of_columns_do_not_matter(solve):
    A, units = RNG.normal(size=(40, 4)), np.array([1e-6, 1.0, 1e3, 1e-2])
    A[:, 3] = A[:, 0] + A[:, 1]  # one of them follows from others
    b = RNG.normal(size=(40, 2))
    np.testing.assert_allclose(solve(A * units, b), solve(A, b) / units[:, None], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(A @ solve(A, b), A @ np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-6, atol=1e-9)


def test_a_small_column_that_is_none_of_rounding_counts():
    A = np.array([[1.0, 1e-6], [1.0, -1e-6], [1.0, 0.0]])
    np.testing.assert_allclose(least_squares(A, [3.0, -1.0, 1.0]), [1.0, 2e6], rtol=1e-12)
    assert np.isfinite(measures_of([1.0, 1e-12])).all()
    assert np.isinf(measures_of([0.0, 0.0])).all()


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])  # of lengths
@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0), (1e-4, 1.0, 1e5)])  # of screws, which are of no account
def test_the_rank_of_screws_is_one_of_geometry(unit, sizes):
    def screws(*columns):
        S = np.array([np.concatenate([w, unit * np.asarray(v, dtype=float)]) for w, v in columns]).T
        return S * sizes[: S.shape[1]]

    z, y = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    near = (z, np.cross([1e-3, 0.0, 0.0], z))  # parallel, a millimetre apart
    assert screws_rank(screws((z, 0 * z), near)) == 2
    assert screws_rank(screws((z, 0 * z), near, (0 * z, y))) == 2  # two parallel axes translate across
    assert screws_rank(screws((z, 0 * z), (z, 0 * z))) == 1
    assert screws_rank(screws((0 * z, z), (0 * z, y))) == 2
    assert screws_rank(screws((z, 0 * z), (y, 0 * z), (0 * z, y))) == 3


@pytest.mark.parametrize("tiny", TINY)
def test_an_axis_of_rounding_is_none(tiny):
    axes = np.zeros((6, 2))
    axes[2, 0], axes[:, 1] = 1.0, tiny
    with pytest.raises(ValueError, match="not independent"):
        subspaces(axes, np.eye(6))


#: where a decision of rank is not by the rule, and why
OTHERWISE = {
    "analysis/operational_space.py": "the user's own tolerance",
    "contacts/newton.py": "the step of a method that is tried again: 1e-11 of the largest",
    "trajectories/path.py": "SciPy's fit of a spline",
}


def test_no_other_place_decides_what_is_rounding():
    """Tolerances of rank in calls: `rcond`, `tol` of `matrix_rank` and `pinv`."""
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                named = {keyword.arg for keyword in node.keywords}
                if named & {"rcond", "cond"} or node.func.attr in ("matrix_rank", "pinv"):
                    found.add(file.relative_to(PACKAGE).as_posix())
    assert found - {"spatial/rank.py"} == OTHERWISE.keys() - {"trajectories/path.py"}
