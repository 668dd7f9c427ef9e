"""Strings, and what converts to them, are examples of every estimator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from seqmtl import (
    MultiTaskClassifierCV,
    MultiTaskKernelSVC,
    MultiTaskMKLClassifier,
    MultiTaskSVC,
    MultiTaskSVR,
    TaskArray,
    TaskKernel,
    Windows,
)

ESTIMATORS = [
    MultiTaskSVC(),
    MultiTaskClassifierCV(costs=(1.0,)),
    MultiTaskMKLClassifier(),
    MultiTaskSVR(),
    MultiTaskKernelSVC("spectrum:2"),
]


class Column:
    """What a column of a data frame is to NumPy."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __len__(self):
        return len(self.values)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    texts = ["".join(row) for row in rng.choice([*"ACGT"], (60, 12))]
    y = np.array([1 if text[6] in "AC" else -1 for text in texts])
    return texts, y, ["ape", "fly"] * 30


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: type(kind).__name__)
def test_strings_are_windows(estimator, data):
    texts, y, tasks = data
    windows = Windows.from_strings(texts, y, tasks)
    expected = estimator.fit(windows, y).predict(windows)
    arrays = [np.array(texts), np.array(texts, object)[:, None], np.array(texts, "S")]
    for X in (texts, tuple(texts), *arrays, Column(np.array(texts, object)), windows):
        fitted = estimator.fit(X, y=Column(y), tasks=Column(tasks))
        assert_allclose(fitted.predict(X, tasks=Column(tasks)), expected)
        assert_allclose(fitted.predict(X[:4] if X is texts else texts[:4], tasks[:4]), expected[:4])
        if hasattr(fitted, "decision_function"):
            scores = fitted.decision_function(X, tasks)
            assert_allclose(scores, fitted.decision_function(windows))
    carried = TaskArray(texts, tasks)
    assert_allclose(estimator.fit(carried, y).predict(carried), expected)


def test_strings_that_are_none(data):
    texts, y, tasks = data
    svc, first = MultiTaskSVC().fit(texts, y, tasks=tasks), texts[:-1]
    fit, letters = MultiTaskSVC().fit, "IUPAC nucleotide letters, got "
    for call, message in (
        (lambda: fit([*first, None], y), "X must hold sequences, got None for example 59"),
        (lambda: fit([*first, "A"], y), "sequences must be of equal length, got lengths 1 to 12"),
        (lambda: fit(texts, y, [*tasks[1:], None]), "name the task of every example, got None for"),
        (lambda: svc.predict(texts), "the examples carry none; give tasks=, or a TaskArray"),
        (lambda: fit([*first, "MKLVAGTWERSD"], y), letters + "'L' at letter 3 of sequence 59"),
        (lambda: fit([""] * 60, y), "sequences must have letters, but sequence 0 is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    numbers = fit([["0"], ["1"]], [0, 1])  # as scikit-learn reads them
    assert_array_equal(numbers.predict([["1"]]), [1])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_matrices_with_wide_indices(kind):
    X, y = sparse.random_array((50, 7), density=0.4, rng=np.random.default_rng(0)), [0, 1] * 25
    narrow, wide = kind(X), kind(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = MultiTaskSVC().fit(narrow, y).decision_function(narrow)
    assert_array_equal(MultiTaskSVC().fit(wide, y).decision_function(wide), expected)
    assert wide.indices.dtype == np.int64  # those of the caller
    MultiTaskSVR().fit(wide, y).predict(wide)


@pytest.mark.parametrize("estimator", [MultiTaskSVC, MultiTaskKernelSVC, MultiTaskClassifierCV])
def test_task_kernels_by_name_and_by_file(estimator, write, tmp_path):
    X, y = np.random.default_rng(0).standard_normal((40, 3)), [0, 1, 1, 0] * 10
    newick, tasks = "((human:1,mouse:1):1,chicken:2);", ["human", "mouse"] * 20
    table, tree = tmp_path / "K.tsv", write(newick, "tree.nwk")
    table.write_text(TaskKernel.from_tree(newick).to_tsv())
    expected = estimator(task_kernel=TaskKernel.from_tree(newick)).fit(X, y, tasks)
    for task_kernel in (tree, str(tree), table, str(table)):
        fitted = estimator(task_kernel=task_kernel).fit(X, y, tasks)
        assert_allclose(fitted.decision_function(X, tasks), expected.decision_function(X, tasks))
    shipped = estimator(task_kernel="eukaryotes").fit(X, y, tasks)
    assert "eukaryotes" in shipped.task_kernel_.source or estimator is MultiTaskClassifierCV
    MultiTaskMKLClassifier(task_kernel=[str(table), "individual"]).fit(X, y, tasks)
    for task_kernel, names, message in (
        ("eukaryote", tasks, r"a shipped tree \(.*eukaryotes.*\), the file of a tree"),
        (str(table), ["human", "yeti"] * 20, "'yeti' is not in the task kernel"),
        (write("no table", "bad.tsv"), tasks, r"bad\.tsv"),
    ):
        with pytest.raises(ValueError, match=message):
            estimator(task_kernel=task_kernel).fit(X, y, names)


class Missing:
    """What pandas has for a missing text: it is neither true nor false."""

    def __eq__(self, other):
        return self

    __ne__ = __eq__
    __hash__ = None

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


def test_what_scikit_learn_would_pass_over_is_refused(data):
    """Weights of other classes count as none."""
    X, y, tasks = np.random.default_rng(1).normal(size=(60, 3)), *data[1:]
    whole = np.ma.masked_array(X, np.zeros_like(X, bool))
    assert_allclose(*(MultiTaskSVC().fit(part, y, tasks).coef_ for part in (whole, X)))
    with pytest.raises(ValueError, match=r"for the classes of y, \[-1, 1\], got 0; correct it"):
        MultiTaskSVC(class_weight={0: 2.0}).fit(X, y, tasks)
    with pytest.raises(ValueError, match="name the task of every example, got <"):
        MultiTaskSVC().fit(X, y, [*tasks[:-1], Missing()])
