"""Checkpoints: an interrupted run, continued, ends where an uninterrupted one does."""

import errno
import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import TaskKernel, WeightedDegree
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.models.checkpoint import Checkpoint
from seqmtl.models.fit import train_windows
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows
from seqmtl.solvers.dcd import initial_state

SETTINGS = Settings(C=2.0, tol=1e-5, dtype="float64", seed=3)
# hashed features have no quick kernel matrix: training takes epochs, not one joint move
FEATURES = WeightedDegree(degree=4, hash_bits=12)


def _windows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, 16)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.4, 1, -1)
    hit = (labels > 0)[:, None] & (rng.random((n, 4)) < 0.6)
    letters[:, 6:10] = np.where(hit, [0, 2, 1, 1], letters[:, 6:10])
    return Windows(
        letters.ravel(), np.arange(n) * 16, 16,
        labels=labels, task_ids=np.arange(n) % 2, task_names=("worm", "fly"),
    )  # fmt: skip


def _checkpoint(path, windows, features=FEATURES, kernel="easy", settings=SETTINGS):
    return Checkpoint(str(path), windows, features, kernel, settings)


def _train(windows, checkpoint=None, stop_after=None, state=None, settings=SETTINGS):
    """Train; raise KeyboardInterrupt after some epochs, as Ctrl-C does."""

    def on_epoch(state, progress):
        if checkpoint is not None:
            checkpoint.save(state)
        if stop_after is not None and progress.epoch >= stop_after:
            raise KeyboardInterrupt

    return train_windows(
        windows, features=FEATURES, task_kernel="easy", settings=settings,
        state=state, on_epoch=on_epoch,
    )  # fmt: skip


@pytest.fixture
def interrupted(tmp_path):
    """Return the windows and the checkpoint of a run that was stopped after two epochs."""
    windows = _windows()
    checkpoint = _checkpoint(tmp_path / "run.checkpoint", windows)
    with pytest.raises(KeyboardInterrupt):
        _train(windows, checkpoint, stop_after=2)
    return windows, checkpoint


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_resumed_run_reaches_the_same_optimum(tmp_path, epochs):
    windows = _windows()
    _, whole = _train(windows)
    assert whole.n_epochs > epochs
    checkpoint = _checkpoint(tmp_path / "run.checkpoint", windows)
    with pytest.raises(KeyboardInterrupt):
        _train(windows, checkpoint, stop_after=epochs)
    assert checkpoint.is_written
    state = _checkpoint(checkpoint.path, windows).load()
    assert state.epoch == epochs
    assert state.work > 0
    model, resumed = _train(windows, state=state)
    assert resumed.converged
    assert resumed.n_epochs > epochs
    assert resumed.primal == pytest.approx(whole.primal, rel=2e-5)
    scores = model.decision_function(windows)
    assert_allclose(scores * windows.labels, whole.margins, atol=0.05)


def test_resuming_loses_no_progress(interrupted):
    windows, checkpoint = interrupted
    stopped = _train(windows, settings=replace(SETTINGS, max_epochs=2))[1]
    state = checkpoint.load()
    assert_array_equal(state.alpha, stopped.alpha)
    duals = [[h.dual for h in run.history] for run in (state, stopped)]
    assert duals[0] == duals[1][: len(duals[0])]
    on = _train(windows, state=state, settings=replace(SETTINGS, max_epochs=3))[1]
    assert (stopped.n_epochs, on.n_epochs) == (2, 3)
    assert on.dual > stopped.dual  # it only rises, from what had been reached
    assert on.gap < stopped.gap


def test_the_state_comes_back_as_it_was(tmp_path):
    windows = _windows(n=200)
    state = initial_state(200, seed=4)
    state.alpha[:] = np.random.default_rng(0).random(200)
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


@pytest.mark.parametrize("change", [{"tol": 1e-7}, {"max_epochs": 5}])
def test_the_tolerance_and_the_epoch_limit_may_change(interrupted, change):
    windows, checkpoint = interrupted
    other = _checkpoint(checkpoint.path, windows, settings=replace(SETTINGS, **change))
    assert other.load().epoch == 2


@pytest.mark.parametrize(
    "change",
    [{"C": 3.0}, {"loss": "logistic"}, {"seed": 4}, {"class_weight": "balanced"},
     {"dtype": "float32"}, {"fit_intercept": False}],
)  # fmt: skip
def test_other_settings_are_refused(interrupted, change):
    windows, checkpoint = interrupted
    other = _checkpoint(checkpoint.path, windows, settings=replace(SETTINGS, **change))
    with pytest.raises(
        SeqmtlError, match="belongs to other data or options; resume with the original"
    ):
        other.load()


@pytest.mark.parametrize(
    "change",
    [{"features": WeightedDegree(degree=3, hash_bits=12)}, {"features": WeightedDegree(degree=4)},
     {"kernel": "union"}, {"kernel": TaskKernel.easy(["worm", "fly"])}],
)  # fmt: skip
def test_other_features_and_task_kernels_are_refused(interrupted, change):
    windows, checkpoint = interrupted
    with pytest.raises(SeqmtlError, match="belongs to other data or options"):
        _checkpoint(checkpoint.path, windows, **change).load()


@pytest.mark.parametrize("what", ["letter", "label", "task", "name", "strand", "fewer", "order"])
def test_other_data_are_refused(interrupted, what):
    windows, checkpoint = interrupted
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
    elif what == "fewer":
        other = windows[:-1]
    else:
        other = windows[::-1]
    with pytest.raises(SeqmtlError, match="belongs to other data or options"):
        _checkpoint(checkpoint.path, other).load()


def test_no_checkpoint(tmp_path):
    checkpoint = _checkpoint(tmp_path / "absent", _windows(n=50))
    assert checkpoint.load() is None
    checkpoint.remove()


def test_remove(interrupted):
    _, checkpoint = interrupted
    checkpoint.remove()
    assert not os.path.exists(checkpoint.path)


def test_a_damaged_checkpoint_is_refused(interrupted):
    _, checkpoint = interrupted
    with open(checkpoint.path, "r+b") as stream:
        stream.seek(-100, os.SEEK_END)
        byte = stream.read(1)[0]
        stream.seek(-100, os.SEEK_END)
        stream.write(bytes([byte ^ 4]))
    with pytest.raises(ModelFileError, match="checksum does not match"):
        checkpoint.load()


def test_a_model_is_no_checkpoint(tmp_path):
    windows = _windows(n=200)
    model, _ = _train(windows)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is not a checkpoint"):
        _checkpoint(tmp_path / "model", windows).load()


@pytest.mark.parametrize(
    "arrays",
    [{"alpha": np.zeros(7)}, {"active": np.array([0, 10**9])}, {"active": np.array([-5])},
     {"active": np.zeros((2, 2), dtype=np.int64)}, {"alpha": np.full(3000, np.nan)},
     {"alpha": np.zeros(3000, dtype=np.float32)}],
)  # fmt: skip
def test_a_hostile_checkpoint_is_refused(interrupted, arrays):
    _, checkpoint = interrupted
    description, found = read_arrays(checkpoint.path)
    found = {name: np.array(array) for name, array in found.items()}
    write_arrays(checkpoint.path, description, {**found, **arrays})
    with pytest.raises(ModelFileError, match=r"; the checkpoint is damaged .*; start afresh$"):
        checkpoint.load()


@pytest.mark.parametrize("key", ["fingerprint", "random", "epoch", "work", "seconds"])
def test_a_checkpoint_without_a_key_is_refused(interrupted, key):
    _, checkpoint = interrupted
    description, arrays = read_arrays(checkpoint.path)
    del description[key]
    write_arrays(
        checkpoint.path, description, {name: np.array(array) for name, array in arrays.items()}
    )
    message = rf"{key} is missing; the checkpoint is damaged|belongs to other data"
    with pytest.raises(SeqmtlError, match=message):
        checkpoint.load()


def test_a_full_disk_keeps_the_last_checkpoint(interrupted, monkeypatch):
    windows, checkpoint = interrupted

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SeqmtlError, match="No space left"):
        checkpoint.save(initial_state(len(windows), 0))
    assert checkpoint.load().epoch == 2


def test_what_is_known_of_candidates_comes_back(tmp_path):
    windows = _windows(n=200)
    known = {"tree, trust 0.5": np.array([-1.0, -0.25]), "C 3": np.arange(3.0)}
    checkpoint = _checkpoint(tmp_path / "file", windows)
    checkpoint.scores.update(known)
    checkpoint.save_scores()
    back = _checkpoint(checkpoint.path, windows)
    assert back.load() is None  # training had not begun
    assert list(back.scores) == list(known)
    back.save(initial_state(200, seed=4))
    again = _checkpoint(checkpoint.path, windows)
    assert again.load() is not None
    for name, values in known.items():
        assert_array_equal(again.scores[name], values)


def test_other_choices_are_another_problem(tmp_path):
    windows = _windows(n=200)
    given = (str(tmp_path / "file"), windows, FEATURES, "easy", SETTINGS)
    Checkpoint(*given, choices={"costs": [1.0]}).save_scores()
    assert Checkpoint(*given, choices={"costs": [1.0]}).load() is None
    with pytest.raises(SeqmtlError, match="belongs to other data or options"):
        Checkpoint(*given, choices={"costs": [2.0]}).load()
