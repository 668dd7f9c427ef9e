"""What the solver finds, against what it found before its last redesign."""

import json

import pytest
from numpy.testing import assert_allclose

from tests.core import frozen

CASES = frozen.frozen_cases()
BEFORE = json.loads(frozen.PATH.read_text())


@pytest.mark.parametrize("name", CASES)
def test_the_solver_finds_what_it_found(name):
    """Objectives to 1e-9; scores as far as a gap of 1e-10 tells them, to its square root."""
    now, before = frozen.solve(CASES[name]), BEFORE[name]
    assert 0.0 <= now["gap"] <= 1e-10
    assert now["primal"] == pytest.approx(before["primal"], rel=1e-9)
    assert_allclose(now["scores"], before["scores"], atol=3e-5 * max(1.0, before["primal"] ** 0.5))
    assert_allclose(now["theta"], before["theta"], atol=1e-4)


def test_no_problem_is_left_out():
    assert set(BEFORE) == set(CASES)
    assert len(CASES) >= 20
