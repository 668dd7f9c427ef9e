"""Models in kernel space as files: what is read is what was written, and nothing else is read."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MultiTaskKernelSVC,
    ParetoMKLClassifier,
    PartiallySharedMKLClassifier,
    TaskKernel,
    Windows,
)
from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.kernel_mkl.kernel_model import KernelModel
from seqmtl.kernels import RBF, GappedKmerKernel, Precomputed, SpectrumKernel
from seqmtl.linear_model.model import MultiTaskModel
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


def reloaded(model, tmp_path):
    model.model_.save(tmp_path / "model")
    return KernelModel.load(tmp_path / "model")


def assert_same(model, X, tasks, tmp_path):
    again = reloaded(model, tmp_path)
    assert_array_equal(again.decision_function(X, tasks), model.decision_function(X, tasks))
    assert_array_equal(again.predict(X, tasks), model.predict(X, tasks))
    if len(again.classes) == 2:
        assert_array_equal(again.predict_proba(X, tasks), model.predict_proba(X, tasks))
    assert again.tasks == model.tasks_
    assert again.classes == tuple(model.classes_.tolist())
    assert again.training == json.loads(json.dumps(model.model_.training))
    assert again.kernels == model.kernels_
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert b"pickle" not in (tmp_path / "model").read_bytes()


TWO = [Precomputed(np.diag(np.arange(1.0, 43))), Precomputed(np.eye(42))]


@pytest.mark.parametrize(
    ("model", "make"),
    [
        (IndividualMKLClassifier(TEXTS, tol=0.01), texts),
        (PartiallySharedMKLClassifier(NUMBERS, tol=0.01), numbers),
        (KernelMKLClassifier(TEXTS, tol=0.01), windows),
        (ParetoMKLClassifier(TWO), lambda: (np.arange(42)[:, None], *numbers()[1:])),
        (MultiTaskKernelSVC("poly"), lambda: (numbers()[0], numbers()[1] > 0, numbers()[2])),
        (MultiTaskKernelSVC("mismatch:3:1"), lambda: (texts()[0], [*"ab"] * 18, texts()[2])),
        (MultiTaskKernelSVC(SpectrumKernel(3)), windows),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_come_back(model, make, tmp_path):
    X, y, tasks = make()
    model.fit(X, y, tasks)
    assert_same(model, X, tasks, tmp_path)
    assert_same(model, X, tasks[0], tmp_path)


def test_several_classes_come_back(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((45, 2)), np.tile(["x", "y", "z"], 15)
    model = ParetoMKLClassifier(["rbf"]).fit(X, y)
    assert_same(model, X, None, tmp_path)
    again = reloaded(model, tmp_path)
    assert again.decision_function(X).shape == (45, 3)
    with pytest.raises(ValueError, match="tasks must be None to choose between 3 classes"):
        again.predict(X, "x vs y")


def test_tasks_without_examples_are_not_in_the_model():
    X, y, names = numbers()
    K = TaskKernel(["a", "b", "c", "d"], np.full((4, 4), 0.5) + 0.5 * np.eye(4))
    for model in (MultiTaskKernelSVC(task_kernel=K), KernelMKLClassifier(["rbf"], [K, "union"])):
        model.fit(X, y, names)
        assert model.tasks_ == ("a", "b", "c")
        with pytest.raises(UnknownTaskError, match="task 'd' is not in the model"):
            model.predict(X, "d")


def test_a_model_describes_itself():
    X, y, names = numbers()
    model = ParetoMKLClassifier(NUMBERS).fit(X, y, names).model_
    description = json.loads(json.dumps(model.describe()))
    assert description["tasks"] == ["a", "b", "c"]
    assert description["classes"] == [-1, 1]
    assert [kernel["kind"] for kernel in description["kernels"]] == ["linear", "polynomial", "rbf"]
    text = "\n".join(model.text("m.seqmtl"))
    assert "classes        -1.0, 1.0\nkernels        linear; poly:3" in text
    assert f"support        {description['n_support']} vectors\ntasks          a, b, c" in text


def test_predictions_are_columns():
    X, y, names = numbers()
    y = np.where(y > 0, "yes", "no")
    model = MultiTaskKernelSVC().fit(X, y, names)
    predictions = model.model_.predictions(X, names)
    assert list(predictions) == ["task", "score", "class", "probability"]
    assert_array_equal(predictions["score"], model.decision_function(X, names))
    assert_array_equal(predictions["class"], model.predict(X, names))
    assert model.score(X, y, names) == (model.predict(X, names) == y).mean()
    assert_array_equal(predictions["probability"], model.predict_proba(X, names)[:, 1])
    assert predictions["task"].tolist() == names.tolist()
    model = ParetoMKLClassifier(["rbf"]).fit(X, np.arange(len(X)) % 3)
    predictions = model.model_.predictions(X)
    assert list(predictions) == ["votes_0", "votes_1", "votes_2", "class"]
    assert_array_equal(predictions["votes_1"], model.decision_function(X)[:, 1])
    assert_array_equal(predictions["class"], model.predict(X))


def test_scores_are_computed_part_by_part(monkeypatch):
    X, y, names = numbers()
    model = ParetoMKLClassifier(NUMBERS).fit(X, y, names)
    whole = model.decision_function(X, names)
    monkeypatch.setattr("seqmtl.kernel_mkl.kernel_model._BLOCK", 7)
    assert_allclose(model.decision_function(X, names), whole, rtol=1e-12)
    assert model.model_.decision_function(X[:0], "a").shape == (0,)


# -- files that are refused -----------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    X, y, names = texts()
    path = tmp_path / "model"
    KernelMKLClassifier(TEXTS).fit(X, y, names).model_.save(path)
    return path


def test_the_other_kind_of_model_is_told_apart(saved):
    with pytest.raises(ModelFileError, match="is a model of kernels, not of weights"):
        MultiTaskModel.load(saved)


DAMAGED = "; the file is damaged .*; train again$"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 13}, r"has model format 13, .* reads 1; train again, or"),
        ({"format": None}, r"is not a seqmtl model"),
        (
            {"model": "trees"},
            "model must be one of 'weights', 'kernels', 'pairs', got 'trees'; the",
        ),
        ({"kernels": [{"kind": "quantum"}] * 3}, "kernels: kernel must be one of"),
        ({"kernels": [{"kind": "rbf", "gamma": -1.0}] * 3}, "kernels: gamma"),
        ({"kernels": 3}, DAMAGED),
        ({"kernels": []}, "kernels must be a list of 1 or more"),
        ({"tasks": ["fly"]}, DAMAGED),
        ({"classes": [1]}, DAMAGED),
        ({"examples": "numbers"}, DAMAGED),
        ({"training": 5}, DAMAGED),
        ({"kind": "regression"}, "kind must be 'classification', got"),
        ({"shift": 3}, "shift must be 0, got"),
        ({"amounts": lambda a: a[:-1]}, DAMAGED),  # these are of arrays
        ({"task_ids": lambda a: a + 3}, DAMAGED),
        ({"task_ids": lambda a: a - 1}, DAMAGED),
        ({"task_ids": lambda a: a.astype(float)}, DAMAGED),
        ({"coupling": lambda a: a[0]}, DAMAGED),
        ({"bias": lambda a: a[:1]}, DAMAGED),
        ({"ends": lambda a: a[:-1]}, DAMAGED),
        ({"ends": lambda a: a[::-1].copy()}, DAMAGED),
        ({"ends": lambda a: a + 5}, DAMAGED),
        ({"letters": lambda a: a[:-3]}, DAMAGED),
        ({"amounts": lambda a: a * np.nan}, DAMAGED),
        ({"coupling": lambda a: a * np.inf}, DAMAGED),
        ({"bias": lambda a: a * np.nan}, DAMAGED),
        ({"bias": None}, DAMAGED),
    ],
)
def test_what_does_not_fit_is_refused(saved, tmp_path, change, message):
    description, arrays = read_arrays(saved)
    ((name, value),) = change.items()
    arrays = dict(arrays)
    if name not in arrays:
        description |= change
    elif value:
        arrays[name] = value(arrays[name])
    else:
        del arrays[name]
    write_arrays(tmp_path / "other", description, arrays)
    with pytest.raises(ModelFileError, match=message):
        KernelModel.load(tmp_path / "other")
