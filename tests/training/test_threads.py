"""Threads: the same results to the last bit, errors that arrive, and no more than there are."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

from seqmtl import JointFeatures, PositionalKmers, _threads, use_threads
from seqmtl._threads import ahead, each_part, in_order, n_threads, stop_if_over, usable_cores
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import LikelihoodCache
from seqmtl.training.fit import fit
from seqmtl.training.selection import SearchSpace
from seqmtl.training.settings import Settings
from tests.linear_model.cases import motif_windows


@pytest.fixture(scope="module")
def windows():
    return motif_windows(600, ("a", "b", "c"), length=40, at=18)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(_threads, "_FEWEST", 10)


FEATURES = {
    "default": PositionalKmers(),
    "hashed": PositionalKmers("wd:5", hash_bits=12),
    "joint": JointFeatures([PositionalKmers("wd:3"), PositionalKmers("kmers:3/inf", anchor=0)]),
}


@pytest.mark.parametrize("features", FEATURES)
def test_training_is_the_same_with_any_number(windows, features):
    def trained():
        model, solution = fit(
            Examples.of(windows), features=FEATURES[features], settings=Settings(tol=1e-5)
        )
        return np.asarray(solution.W), solution.alpha, model.decision_function(windows)

    alone = trained()
    with use_threads(3):
        together = trained()
    for expected, found in zip(alone, together, strict=True):
        np.testing.assert_array_equal(expected, found)


def test_selection_is_the_same_with_any_number(windows):
    space = SearchSpace.of_sharing(windows.task_names)
    told = {1: [], 4: []}
    models = {}
    for threads in told:
        with use_threads(threads):
            models[threads], _ = train_with_few(
                Examples.of(windows),
                task_kernel=space,
                likelihoods=LikelihoodCache(
                    on_score=lambda *progress, n=threads: told[n].append(progress)
                ),
            )
    assert told[1] == told[4]
    assert [done for _, done, _ in told[1]] == list(range(1, len(told[1]) + 1))
    np.testing.assert_array_equal(np.asarray(models[1].W), np.asarray(models[4].W))
    assert models[1].training["selection"] == models[4].training["selection"]


@pytest.mark.parametrize("do", [in_order, ahead])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(do, threads):
    def work(k):
        time.sleep(0.002 * (k % 3))
        return k * k

    with use_threads(threads):
        assert list(do(work, iter(range(20)))) == [k * k for k in range(20)]
        assert list(do(work, [])) == []


def test_an_error_arrives():
    def fail(job):
        raise RuntimeError(f"no {job} today")

    with use_threads(2), pytest.raises(RuntimeError, match="no scores today"):
        list(in_order(fail, ["scores"] * 9))


def test_what_nobody_waits_for_ends():
    ended = threading.Event()

    def endless(job):
        try:
            while True:
                stop_if_over()
        except CancelledError:
            ended.set()
            raise

    with use_threads(2):
        found = in_order(lambda job: endless(job) if job else job, [0, 1, 2])
        assert next(found) == 0
    ended.wait()
    stop_if_over()  # this thread goes on


def test_each_part_is_done_once_and_rows_keep_their_order():
    rows = np.arange(1000)[::-1].copy()
    for threads in (1, 3):
        parts = []
        with use_threads(threads):
            each_part(lambda part, parts=parts: parts.append(part), rows)
        assert len(parts) == threads
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(1000))
        assert all((np.diff(part) == -1).all() for part in parts)


def test_work_within_a_job_has_the_threads_that_are_left():
    with use_threads(4):
        assert n_threads() == 4
        assert list(in_order(lambda _: n_threads(), range(2))) == [2, 2]
        assert list(in_order(lambda _: n_threads(), range(8))) == [1] * 8
        with use_threads(1):
            assert n_threads() == 1
        assert n_threads() == 4
    assert n_threads() == 1


@pytest.mark.parametrize(
    ("limit", "cores"), [(b"max 100000\n", 8), (b"250000 100000\n", 3), (b"1000 100000\n", 1)]
)
def test_cores_are_those_of_affinity_and_cgroup(monkeypatch, limit, cores):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda _: limit)
    assert usable_cores() == cores


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_numbers_that_make_no_sense_are_refused(n):
    with pytest.raises(ValueError, match="n must be"), use_threads(n):
        pass
