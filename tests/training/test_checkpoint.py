"""Checkpoints: a run from the checkpoint of another ends at the same certified gap, sooner."""

import copy
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from seqmtl import JointFeatures, PositionalKmers, TaskKernel
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.core.dcd import WarmStart
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.sequences.examples import Examples
from seqmtl.training.checkpoint import Checkpoint
from seqmtl.training.fit import fit
from seqmtl.training.settings import Settings
from tests.linear_model.cases import assert_same_optimum, motif_windows, rewritten

TOL = 1e-7
ONE_KERNEL = {
    "features": PositionalKmers("wd:4", hash_bits=12),
    "task_kernel": "easy",
    "settings": Settings(C=0.5, tol=TOL, dtype="float64", seed=3),
}
LOGISTIC = ONE_KERNEL | {"settings": replace(ONE_KERNEL["settings"], loss="logistic")}
KERNEL_WEIGHTS = {
    "features": JointFeatures(
        [PositionalKmers("wd:3", hash_bits=10), PositionalKmers("kmers:2/inf", anchor=0)]
    ),
    "task_kernel": ["union", "individual"],
    "settings": Settings(C=0.5, tol=TOL, dtype="float64", norm=2.0),
}
PROBLEMS = [ONE_KERNEL, LOGISTIC, KERNEL_WEIGHTS]
N = 1500


@pytest.fixture(scope="module")
def windows():
    return motif_windows(N, ("worm", "fly"), length=16, at=6)


def _checkpoint(path, windows, problem=ONE_KERNEL, choices=None, **changes):
    return Checkpoint(str(path), windows, **(problem | changes), choices=choices)


def _interrupt(windows, path, problem, after, train=fit, **options):
    """Train until Ctrl-C is pressed after some epochs; return what was saved last."""
    checkpoint, saved = _checkpoint(path, windows, problem), []

    def on_epoch(now, progress):
        checkpoint.save(now)
        saved.append(copy.deepcopy(now))
        if progress.epoch == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Examples.of(windows), on_epoch=on_epoch, **problem, **options)
    assert checkpoint.is_written
    return saved[-1]


@pytest.fixture(scope="module")
def whole(windows):
    """The models and solutions of uninterrupted runs."""
    return [fit(Examples.of(windows), **problem) for problem in PROBLEMS]


@pytest.fixture(scope="module")
def written(windows, tmp_path_factory):
    """The checkpoints of runs that were stopped after two epochs."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for number, problem in enumerate(PROBLEMS):
        _interrupt(windows, folder / str(number), problem, after=2)
    return folder


@pytest.fixture
def path(written, tmp_path):
    """The checkpoint of a run with one kernel."""
    return shutil.copy(written / "0", tmp_path / "run.checkpoint")


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_a_resumed_run_ends_at_the_same_gap_in_fewer_epochs(windows, whole, tmp_path, number):
    problem, (model, solution) = PROBLEMS[number], whole[number]
    path = tmp_path / "checkpoint"
    saved = _interrupt(windows, path, problem, max(solution.n_epochs // 2, 1))
    start = _checkpoint(path, windows, problem).load()
    assert_array_equal(start.alpha, saved.alpha)
    assert_array_equal(start.theta, saved.theta)
    again, resumed = fit(Examples.of(windows), start=start, **problem)
    norm = problem["settings"].norm
    assert_same_optimum(windows, again, model, TOL, norm=norm)
    assert resumed.n_epochs < solution.n_epochs
    assert resumed.work < solution.work
    assert bool(start.theta.size) == (norm is not None)
    if norm is not None:
        assert np.ptp(start.theta) > 0.01  # they had been learnt


def test_tasks_that_are_learnt_after_the_others(windows, tmp_path):
    problem, path = ONE_KERNEL | {"task_kernel": None}, tmp_path / "checkpoint"
    some = windows[np.flatnonzero((windows.task_ids == 0) | (np.arange(N) < 200))]
    saved = _interrupt(some, path, problem, 3, train_with_few, few=["fly"])
    assert not saved.alpha[some.task_ids == 1].any()
    start = _checkpoint(path, some, problem).load()
    assert_array_equal(start.alpha, saved.alpha)
    again, resumed = train_with_few(Examples.of(some), start=start, few=["fly"], **problem)
    model, solution = train_with_few(Examples.of(some), few=["fly"], **problem)
    assert resumed.n_epochs < solution.n_epochs
    assert resumed.primal == pytest.approx(solution.primal, rel=1.01 * TOL)
    assert again.tasks == model.tasks == ("worm", "fly")


def test_only_the_same_problem_is_resumed(windows, written):
    def load(number, **changes):
        return _checkpoint(written / str(number), windows, PROBLEMS[number], **changes).load()

    def changed(number, **options):
        return {"settings": replace(PROBLEMS[number]["settings"], **options)}

    others = [{"C": 3.0}, {"loss": "logistic"}, {"seed": 4}, {"class_weight": "balanced"}]
    others += [{"dtype": "float32"}, {"fit_intercept": False}]
    cases = [(0, *own, changed(0, **own)) for own in others]
    for kernel in ("union", TaskKernel.easy(["worm", "fly"])):
        cases.append((0, "task kernel", {"task_kernel": kernel}))
    for features in (PositionalKmers("wd:3", hash_bits=12), PositionalKmers("wd:4")):
        cases.append((0, "features", {"features": features}))
    for kernels in (["union"], ["individual", "union"]):
        cases.append((2, "task kernel", {"task_kernel": kernels}))
    cases += [(2, "norm", changed(2, norm=norm)) for norm in (None, np.inf)]
    for number, name, change in cases:
        message = rf"belongs to other data or options \({name}\); resume with the original"
        with pytest.raises(SeqmtlError, match=message):
            load(number, **change)
    with pytest.raises(SeqmtlError, match=r"\(C, seed\)"):
        load(0, **changed(0, C=2.0, seed=1))


@pytest.mark.parametrize("what", ["letter", "label", "task", "name", "strand", "order", "site"])
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
    elif what == "site":  # that features are anchored at
        other.site = 3
    else:
        other = windows[::-1]
    name = "site" if what == "site" else "windows"
    with pytest.raises(SeqmtlError, match=rf"belongs to other data or options \({name}\)"):
        _checkpoint(path, other).load()


def test_no_checkpoint_and_one_that_is_removed(windows, path, tmp_path):
    absent = _checkpoint(tmp_path / "absent", windows)
    assert absent.load() is None
    absent.remove()
    _checkpoint(path, windows).remove()
    assert not os.path.exists(path)


def test_a_damaged_checkpoint_is_refused(windows, written, path):
    raw = bytearray(path.read_bytes())
    raw[-100] ^= 4
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match="checksum does not match"):
        _checkpoint(path, windows).load()
    fit(Examples.of(windows[:200]))[0].save(path)
    with pytest.raises(ModelFileError, match="is not a checkpoint"):
        _checkpoint(path, windows).load()
    for key in ("problem", "scores"):
        rewritten(written / "0", path, without=[key])
        with pytest.raises(SeqmtlError, match=rf"{key} is missing; the checkpoint is damaged"):
            _checkpoint(path, windows).load()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("alpha", np.zeros(7)),
        ("alpha", np.full(N, np.nan)),
        ("alpha", np.ones((N, 1))),
        ("theta", np.zeros(4)),
        ("theta", np.array([0.5, -0.5, 1, 1])),
        ("theta", np.ones((2, 2))),
    ],
)
def test_a_hostile_checkpoint_is_refused(windows, written, tmp_path, name, array):
    path = rewritten(written / "2", tmp_path / "checkpoint", **{name: array})
    message = rf"{name} must .*; the checkpoint is damaged .*; start afresh$"
    with pytest.raises(ModelFileError, match=message):
        _checkpoint(path, windows, KERNEL_WEIGHTS).load()


def test_what_is_known_of_candidates_comes_back(windows, tmp_path):
    known = {"tree, trust 0.5": np.array([-1.0, -0.25]), "C 3": np.arange(3.0)}
    options = {"path": tmp_path / "file", "windows": windows, "choices": {"costs": [1.0]}}
    checkpoint = _checkpoint(**options)
    checkpoint.scores.update(known)
    checkpoint.save_scores()
    back = _checkpoint(**options)
    assert back.load() is None  # training had not begun
    assert list(back.scores) == list(known)
    back.save(WarmStart(np.ones(N)))
    again = _checkpoint(**options)
    assert again.load() is not None
    for name, values in known.items():
        assert_array_equal(again.scores[name], values)
    with pytest.raises(SeqmtlError, match=r"\(selection\)"):
        _checkpoint(**(options | {"choices": {"costs": [2.0]}})).load()
