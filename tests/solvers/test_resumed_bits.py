"""A run that is resumed gives the bits of one without interruption."""

import copy

import pytest
from numpy.testing import assert_array_equal

from seqmtl import PositionalKmers, TaskKernel
from seqmtl.models.fit import train_windows
from seqmtl.models.training import Settings
from seqmtl.solvers import dcd
from seqmtl.solvers.weights import TaskWeights
from tests.models.cases import motif_windows

TREE = "((ape:1,man:1):1,fly:2);"


@pytest.mark.parametrize(
    ("loss", "dtype", "norm"),
    [("hinge", "float32", None), ("logistic", "float64", None), ("hinge", "float64", 2.0)],
)
def test_from_a_state_that_is_resumable(loss, dtype, norm, monkeypatch):
    monkeypatch.setattr(dcd, "_SAVE_AFTER", 1)
    windows = motif_windows(1500, ("ape", "man", "fly"), length=30, at=9)
    kernel = TaskKernel.from_newick(TREE) if norm is None else TaskKernel.hierarchical(TREE)
    options = {
        "features": PositionalKmers("wd:3,kmers:2/inf"),
        "task_kernel": kernel,
        "settings": Settings(loss=loss, dtype=dtype, norm=norm, tol=1e-3),
    }
    _compare(windows, options)


@pytest.mark.parametrize(("norm", "n", "tol"), [(None, 1500, 1e-3), (2.0, 600, 2e-2)])
def test_with_weights_in_groups(norm, n, tol, monkeypatch):
    monkeypatch.setattr(dcd, "_SAVE_AFTER", 1)
    names = [f"t{i}" for i in range(20)]
    windows = motif_windows(n, names, length=30, at=9)
    pairs = [f"({a}:1,{b}:2):1" for a, b in zip(names[::2], names[1::2], strict=True)]
    tree = f"({','.join(pairs)});"
    kernel = TaskKernel.from_newick(tree) if norm is None else TaskKernel.hierarchical(tree)
    options = {
        "features": PositionalKmers("wd:3,kmers:2/inf"),
        "task_kernel": kernel,
        "settings": Settings(norm=norm, tol=tol),
    }
    whole = _compare(windows, options)
    assert isinstance(whole.W, TaskWeights)


def _compare(windows, options):
    """Compare runs from two states on the way with the whole run; return its model."""
    states = []

    def keep(state, progress):
        if state.is_resumable:
            states.append(copy.deepcopy(state))

    whole, end = train_windows(windows, **options, on_epoch=keep)
    assert states
    for state in (states[0], states[len(states) // 2]):
        assert state.epoch < end.n_epochs
        again, also = train_windows(windows, **options, state=state)
        assert_array_equal(again.W, whole.W)
        assert_array_equal(again.bias, whole.bias)
        assert_array_equal(again.calibration, whole.calibration)
        assert (also.n_epochs, also.work, also.gap) == (end.n_epochs, end.work, end.gap)
    return whole
