"""Runs of methods on splits: the same results on any number of threads."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from seqmtl import PositionalKmers, TaskKernel, use_threads
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.comparison import Comparison, run_comparison, runs
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.selection import SearchSpace
from seqmtl.training.settings import Settings

NAMES = ("worm", "fly", "bee")
JOBS = [(split, method) for split in (0, 1) for method in ("individual", "mtl")]


def _windows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, 16)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.4, 1, -1)
    hit = (labels > 0)[:, None] & (rng.random((n, 4)) < 0.6)
    letters[:, 6:10] = np.where(hit, [0, 2, 1, 1], letters[:, 6:10])
    columns = {"labels": labels, "task_ids": np.arange(n) % 3, "task_names": NAMES}
    return Windows(letters.ravel(), np.arange(n) * 16, 16, **columns)


@pytest.fixture(scope="module")
def comparison():
    kernel, costs = TaskKernel.easy(NAMES), (0.1, 1.0)
    features = PositionalKmers("wd:3")
    options = {"kernel": kernel, "train_size": 30}
    return Comparison(_windows(), features, Settings(), costs, **options)


@pytest.fixture(scope="module")
def expected(comparison):
    return [comparison.run(*job) for job in JOBS]


def test_a_run_is_training_and_testing_on_its_split(comparison, expected):
    rows = comparison.draw(1)
    windows, test = (comparison.windows[part] for part in rows)
    examples = Examples.of(windows)
    space = SearchSpace.of_cost(comparison.kernel, (0.1, 1.0))
    model, _ = train_with_few(examples, space, features=comparison.features)
    scores = model.decision_function(test)
    found = expected[JOBS.index((1, "mtl"))]
    for t, name in enumerate(comparison.windows.task_names):
        own = test.task_ids == t
        y, s, areas = test.labels[own] > 0, scores[own], found.tasks[name]
        assert areas["auroc"] == pytest.approx(roc_auc_score(y, s))
        assert areas["auprc_windows"] == pytest.approx(average_precision_score(y, s))
    assert found.chosen == model.training["selection"]["tasks"]
    assert found.converged


def test_results_do_not_depend_on_threads(comparison, expected):
    seen = []
    with use_threads(3):
        note = lambda result, seconds: seen.append((result.split, result.method))  # noqa: E731
        assert run_comparison(comparison, JOBS, note) == expected
    assert seen == JOBS


def test_an_error_of_a_run_is_raised(comparison):
    with pytest.raises(ValueError, match="'mkl' needs a task kernel"):
        run_comparison(comparison, [(0, "mkl")])


@pytest.mark.parametrize("kernel", [None, TaskKernel.from_tree("((bee,fly),worm);")])
def test_an_unseen_organism_lends_no_label(comparison, kernel):
    windows = _windows()
    windows.splits = np.where(np.arange(len(windows)) % 10 < 5, 0, 1).astype(np.int16)
    windows.split_names = ("train", "test")
    is_flipped = (windows.task_ids == 0) & (windows.splits == 0)
    found, labels = [], windows.labels
    for windows.labels in (labels, np.where(is_flipped, -labels, labels)):
        changed = replace(comparison, windows=windows, train_size=None, kernel=kernel)
        found.append(changed.run(0, "unseen"))
    assert found[0].tasks["worm"] == found[1].tasks["worm"]
    assert found[0].tasks["worm"]["auroc"] > 0.6
    assert found[0].tasks["fly"] != found[1].tasks["fly"]
    assert list(found[0].chosen["worm"]) == ["fly", "bee"]


def test_the_default_is_what_train_does_and_every_method_has_all_labels(comparison, monkeypatch):
    kernels = TaskKernel.hierarchical("((worm,fly),bee);", comparison.windows.task_names)
    whole = replace(comparison, kernels=kernels, C=(1.0,))
    seen = []

    def note(examples, *arguments, **options):
        seen.append(len(examples.data))
        return train_with_few(examples, *arguments, **options)

    monkeypatch.setattr(runs, "train_with_few", note)
    results = {method: whole.run(0, method) for method in runs.METHODS}
    assert seen == [90] * 5 + [60] * 3
    windows = whole.windows[whole.draw(0)[0]]
    examples = Examples.of(windows)
    space = SearchSpace.of_sharing(windows.task_names, comparison.kernel)
    model, _ = train_with_few(examples, space, features=comparison.features)
    assert results["default"].chosen == model.training["selection"]["tasks"]
    assert results["mkl"].chosen == {name: {"C": 1.0} for name in windows.task_names}
    assert {task["trust"] for task in results["individual"].chosen.values()} == {1.0}
