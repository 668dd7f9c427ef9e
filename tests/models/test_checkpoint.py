"""Checkpoints: an interrupted run, continued, ends where an uninterrupted one does."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import JointFeatures, Spectrum, TaskKernel, WeightedDegree
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.models.checkpoint import Checkpoint
from seqmtl.models.fit import train_windows
from seqmtl.models.training import Settings
from seqmtl.solvers.dcd import initial_state
from tests.models.cases import motif_windows, rewritten

# hashed features have no quick kernel matrix: training takes epochs, not one joint move
ONE_KERNEL = {
    "features": WeightedDegree(degree=4, hash_bits=12),
    "task_kernel": "easy",
    "settings": Settings(C=2.0, tol=1e-5, dtype="float64", seed=3),
}
KERNEL_WEIGHTS = {
    "features": JointFeatures([WeightedDegree(degree=3, hash_bits=10), Spectrum(2)]),
    "task_kernel": ["union", "individual"],
    "settings": Settings(C=0.5, tol=1e-5, dtype="float64", norm=2.0),
}
N = 1500


@pytest.fixture(scope="module")
def windows():
    return motif_windows(N, ("worm", "fly"), length=16, at=6)


def _checkpoint(path, windows, problem=ONE_KERNEL, choices=None, **changes):
    return Checkpoint(str(path), windows, **(problem | changes), choices=choices)


def _interrupt(windows, checkpoint, problem):
    """Train until the kernel weights have moved, or for two epochs; return the state."""
    states = []

    def on_epoch(state, progress):
        checkpoint.save(state)
        states.append(state)
        moved = np.ptp(state.theta) > 0.05 if state.theta.size else progress.epoch >= 2
        if moved:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_windows(windows, on_epoch=on_epoch, **problem)
    return states[-1]


@pytest.fixture(scope="module")
def written(windows, tmp_path_factory):
    """The checkpoints of two runs that were stopped, and their states."""
    folder, states = tmp_path_factory.mktemp("checkpoints"), []
    for number, problem in enumerate((ONE_KERNEL, KERNEL_WEIGHTS)):
        checkpoint = _checkpoint(folder / str(number), windows, problem)
        states.append(_interrupt(windows, checkpoint, problem))
        assert checkpoint.is_written
    return folder, states


@pytest.fixture
def path(written, tmp_path):
    """The checkpoint of a run with one kernel."""
    return shutil.copy(written[0] / "0", tmp_path / "run.checkpoint")


@pytest.mark.parametrize("number", [0, 1])
def test_a_resumed_run_reaches_the_same_optimum(windows, written, number):
    folder, states = written
    problem = (ONE_KERNEL, KERNEL_WEIGHTS)[number]
    state = _checkpoint(folder / str(number), windows, problem).load()
    assert state.epoch == states[number].epoch
    assert state.work > 0
    assert_array_equal(state.theta, states[number].theta)
    assert (np.ptp(state.theta) > 0.05) if number else not state.theta.size
    whole_model, whole = train_windows(windows, **problem)
    model, resumed = train_windows(windows, state=state, **problem)
    assert resumed.converged
    assert min(resumed.n_epochs, whole.n_epochs) > states[number].epoch
    assert resumed.primal == pytest.approx(whole.primal, rel=2e-5)
    assert_allclose(resumed.theta, whole.theta, atol=0.01)
    scores = [own.decision_function(windows) for own in (model, whole_model)]
    assert_allclose(*scores, atol=0.05)


def test_the_state_comes_back_as_it_was(windows, tmp_path):
    state = initial_state(N, seed=4)
    state.alpha[:] = np.random.default_rng(0).random(N)
    state.active = np.array([3, 5, 190])
    state.epoch, state.work, state.seconds = 7, 2.25, 1.5
    state.rng.random(11)
    checkpoint = _checkpoint(tmp_path / "file", windows)
    checkpoint.save(state)
    back = checkpoint.load()
    assert_array_equal(back.alpha, state.alpha)
    assert_array_equal(back.active, state.active)
    assert (back.epoch, back.work, back.seconds) == (7, 2.25, 1.5)
    assert_array_equal(back.rng.random(5), state.rng.random(5))
    back.alpha[0] = 0.5  # may be written to, unlike the mapped file


def test_only_the_same_problem_is_resumed(windows, written):
    folder, _ = written

    def load(number, windows, problem, **changes):
        return _checkpoint(folder / str(number), windows, problem, **changes).load()

    for own in ({"tol": 1e-7}, {"max_epochs": 5}):
        changed = {"settings": replace(ONE_KERNEL["settings"], **own)}
        assert load(0, windows, ONE_KERNEL, **changed).epoch == 2
    others = [{"C": 3.0}, {"loss": "logistic"}, {"seed": 4}, {"class_weight": "balanced"}]
    others += [{"dtype": "float32"}, {"fit_intercept": False}]
    changes = [(0, {"settings": replace(ONE_KERNEL["settings"], **own)}) for own in others]
    kernels = ("union", TaskKernel.easy(["worm", "fly"]))
    changes += [(0, {"task_kernel": kernel}) for kernel in kernels]
    maps = (WeightedDegree(degree=3, hash_bits=12), WeightedDegree(degree=4))
    changes += [(0, {"features": own}) for own in maps]
    changes += [(1, {"task_kernel": own}) for own in (["union"], ["individual", "union"])]
    norms = (None, np.inf)
    changes += [(1, {"settings": replace(KERNEL_WEIGHTS["settings"], norm=p)}) for p in norms]
    for number, changed in changes:
        with pytest.raises(SeqmtlError, match="other data or options; resume with the original"):
            load(number, windows, (ONE_KERNEL, KERNEL_WEIGHTS)[number], **changed)


@pytest.mark.parametrize("what", ["letter", "label", "task", "name", "strand", "fewer", "order"])
def test_other_data_are_refused(windows, path, what):
    other = windows[:]
    if what == "letter":
        other.codes = windows.codes.copy()
        other.codes[100] ^= 1
    elif what == "label":
        other.labels = windows.labels.copy()
        other.labels[5] *= -1
    elif what == "task":
        other.task_ids = 1 - windows.task_ids
    elif what == "name":
        other.task_names = ("worm", "moth")
    elif what == "strand":
        other.is_reverse = ~windows.is_reverse
    else:
        other = windows[:-1] if what == "fewer" else windows[::-1]
    with pytest.raises(SeqmtlError, match="belongs to other data or options"):
        _checkpoint(path, other).load()


def test_no_checkpoint_and_one_that_is_removed(windows, path, tmp_path):
    absent = _checkpoint(tmp_path / "absent", windows)
    assert absent.load() is None
    absent.remove()
    _checkpoint(path, windows).remove()
    assert not os.path.exists(path)


def test_a_damaged_checkpoint_is_refused(windows, path):
    raw = bytearray(path.read_bytes())
    raw[-100] ^= 4
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match="checksum does not match"):
        _checkpoint(path, windows).load()
    train_windows(windows[:200])[0].save(path)
    with pytest.raises(ModelFileError, match="is not a checkpoint"):
        _checkpoint(path, windows).load()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("alpha", np.zeros(7)),
        ("alpha", np.full(N, np.nan)),
        ("alpha", np.zeros(N, dtype=np.float32)),
        ("active", np.array([0, 10**9])),
        ("active", np.array([-5])),
        ("active", np.zeros((2, 2), dtype=np.int64)),
        ("theta", np.full(4, np.nan)),
        ("theta", np.zeros(4)),
        ("theta", np.array([0.5, -0.5, 1, 1])),
        ("theta", np.ones((2, 2))),
        ("theta", np.ones(4, dtype=np.float32)),
    ],
)
def test_a_hostile_checkpoint_is_refused(windows, path, name, array):
    rewritten(path, path, **{name: array})
    message = rf"{name} must .*; the checkpoint is damaged .*; start afresh$"
    with pytest.raises(ModelFileError, match=message):
        _checkpoint(path, windows).load()


@pytest.mark.parametrize("key", ["fingerprint", "random", "epoch", "work", "seconds"])
def test_a_checkpoint_without_a_key_is_refused(windows, path, key):
    rewritten(path, path, without=[key])
    message = rf"{key} is missing; the checkpoint is damaged|belongs to other data"
    with pytest.raises(SeqmtlError, match=message):
        _checkpoint(path, windows).load()


def test_what_is_known_of_candidates_comes_back(windows, tmp_path):
    known = {"tree, trust 0.5": np.array([-1.0, -0.25]), "C 3": np.arange(3.0)}
    options = {"path": tmp_path / "file", "windows": windows, "choices": {"costs": [1.0]}}
    checkpoint = _checkpoint(**options)
    checkpoint.scores.update(known)
    checkpoint.save_scores()
    back = _checkpoint(**options)
    assert back.load() is None  # training had not begun
    assert list(back.scores) == list(known)
    back.save(initial_state(N, seed=4))
    again = _checkpoint(**options)
    assert again.load() is not None
    for name, values in known.items():
        assert_array_equal(again.scores[name], values)
    with pytest.raises(SeqmtlError, match="belongs to other data or options"):
        _checkpoint(**(options | {"choices": {"costs": [2.0]}})).load()
