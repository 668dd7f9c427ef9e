"""Models in kernel space: pickled, of several classes, scored part by part."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MultiTaskKernelSVC,
    ParetoMKLClassifier,
    TaskKernel,
    Windows,
)
from seqmtl.exceptions import UnknownTaskError
from seqmtl.kernels import RBF, GappedKmerKernel, Precomputed, SpectrumKernel
from tests.oracles import kernel_space as oracle

NUMBERS = ["linear", "poly:3", RBF(0.5)]
TEXTS = ["spectrum:2", GappedKmerKernel(4, 2), "wd:3:1"]


def numbers():
    data = oracle.data(0)
    return data.X, data.y, data.names


def texts(n=36, seed=0):
    rng = np.random.default_rng(seed)
    X = np.array(["".join(rng.choice(list("ACGT"), 10)) for _ in range(n)])
    return X, np.tile([0, 1], n // 2), np.repeat(["fly", "worm", "yeast"], n // 3)


def windows():
    X, y, names = texts()
    letters = X.copy()
    letters[3] = "NNNNACGTAC"
    return Windows.from_strings(letters, labels=np.where(y, 1, -1), tasks=names), y, names


def assert_same(model, X, tasks):
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X, tasks), model.decision_function(X, tasks))
    assert_array_equal(again.predict(X, tasks), model.predict(X, tasks))
    if len(again.classes_) == 2:
        assert_array_equal(again.predict_proba(X, tasks), model.predict_proba(X, tasks))
    assert again.tasks_ == model.tasks_
    assert again.kernels_ == model.kernels_


TWO = [Precomputed(np.diag(np.arange(1.0, 43))), Precomputed(np.eye(42))]


@pytest.mark.parametrize(
    ("model", "make"),
    [
        (IndividualMKLClassifier(NUMBERS, tol=0.01), numbers),
        (KernelMKLClassifier(TEXTS, tol=0.01), windows),
        (ParetoMKLClassifier(TWO), lambda: (np.arange(42)[:, None], *numbers()[1:])),
        (MultiTaskKernelSVC("poly"), lambda: (numbers()[0], numbers()[1] > 0, numbers()[2])),
        (MultiTaskKernelSVC(SpectrumKernel(3)), windows),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_come_back(model, make):
    X, y, tasks = make()
    model.fit(X, y, tasks)
    assert_same(model, X, tasks)
    assert_same(model, X, tasks[0])


def test_several_classes_come_back():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((45, 2)), np.tile(["x", "y", "z"], 15)
    model = ParetoMKLClassifier(["rbf"]).fit(X, y)
    assert_same(model, X, None)
    assert model.decision_function(X).shape == (45, 3)
    with pytest.raises(ValueError, match="tasks must be None to choose between 3 classes"):
        model.predict(X, "x vs y")


def test_tasks_without_examples_are_not_in_the_model():
    X, y, names = numbers()
    K = TaskKernel(["a", "b", "c", "d"], np.full((4, 4), 0.5) + 0.5 * np.eye(4))
    for model in (MultiTaskKernelSVC(task_kernel=K), KernelMKLClassifier(["rbf"], [K, "union"])):
        model.fit(X, y, names)
        assert model.tasks_ == ("a", "b", "c")
        with pytest.raises(UnknownTaskError, match="task 'd' is not in the model"):
            model.predict(X, "d")


def test_scores_are_computed_part_by_part(monkeypatch):
    X, y, names = numbers()
    model = ParetoMKLClassifier(NUMBERS).fit(X, y, names)
    whole = model.decision_function(X, names)
    monkeypatch.setattr("seqmtl.kernel_mkl.kernel_model._BLOCK", 7)
    assert_allclose(model.decision_function(X, names), whole, rtol=1e-12)
    assert model.model_.decision_function(X[:0], "a").shape == (0,)
