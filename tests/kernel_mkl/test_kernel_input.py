"""What the estimators in kernel space refuse, and how they say so."""

import numpy as np
import pytest

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MultiTaskKernelSVC,
    ParetoMKLClassifier,
    TaskKernel,
    Windows,
)
from seqmtl.exceptions import MemoryLimitError, UnknownTaskError
from seqmtl.kernels import Precomputed
from tests.oracles import kernel_space as oracle

LEARNERS = [
    ParetoMKLClassifier,
    IndividualMKLClassifier,
    KernelMKLClassifier,
]
ALL = [*LEARNERS, MultiTaskKernelSVC]
TWO = [ParetoMKLClassifier, MultiTaskKernelSVC]  # the others read input as these do


DATA = oracle.data(0)
X, Y, NAMES, N = DATA.X, DATA.y, DATA.names, DATA.y.size
EXAMPLES = {"X": X, "y": Y, "tasks": NAMES}
SEVERAL = "y must have two classes where there are tasks, got 3|Only binary classification"
NO_NAME = r"kernel must be a name \(linear, .*\) or one of seqmtl.kernels, got"
NOT_A_NUMBER = NAMES.astype(object)
NOT_A_NUMBER[5] = np.nan

TEXTS, LABELS = ["ACGT", "CCGT", "ACAC", "GGTT"] * 2, [0, 1] * 4
LETTER = [*TEXTS[1:], "ACQT"]
WINDOWS = Windows.from_strings(TEXTS)
NO_TEXTS = "got sequences; choose a kernel such as 'spectrum:4'"


def texts(kernel, X, y, message):
    parameters = {"kernel": kernel} if kernel else {}
    return parameters, {"X": X, "y": y, "tasks": None}, message


@pytest.mark.parametrize("kind", TWO)
@pytest.mark.parametrize(
    ("parameters", "changes", "message"),
    [
        ({}, {"X": np.ones((N, 2))}, "X must have features that vary, but all 42 examples"),
        ({}, {"y": np.where(NAMES == "b", 1.0, Y)}, "but task 'b' has 14 positive and 0 negative"),
        ({}, {"sample_weight": NAMES != "a"}, "but task 'a' has 0 positive and 0 negative"),
        ({}, {"y": np.arange(N) % 3}, SEVERAL),
        (
            {},
            {"y": np.where(Y > 0, "site", "")},
            "y must have classes with names, got ''; name this",
        ),
        ({}, {"tasks": NAMES[1:]}, r"tasks must have one entry per example \(42\), got 41"),
        ({}, {"tasks": NOT_A_NUMBER}, "task of every example, got nan for example 5"),
        (
            {"kernel": "quantum"},
            {},
            "kernel must be one of linear, poly, rbf, wd, .*, got 'quantum'",
        ),
        ({"kernel": 5}, {}, f"{NO_NAME} 5"),
        texts(None, TEXTS, LABELS, NO_TEXTS),
        texts(None, WINDOWS, LABELS, NO_TEXTS),
        texts("spectrum:2", TEXTS, LABELS[1:], r"y must have one label per sequence \(8\), got 7"),
        texts("spectrum:2", TEXTS, None, "y must be given: sequences carry no labels, got None"),
        texts("spectrum:2", LETTER, LABELS, "sequences must be of nucleotides, got the letter 'Q'"),
        texts(
            "spectrum:2", WINDOWS, LABELS[1:], r"must have one label per window \(8\), got \(7,\)"
        ),
        texts("rbf", TEXTS, LABELS, "X must hold numbers with a kernel of numbers"),
    ],
)
def test_what_cannot_be_fitted(kind, parameters, changes, message):
    error = TypeError if parameters.get("kernel") == 5 else ValueError
    if "kernel" in parameters and kind is ParetoMKLClassifier:
        parameters = {"kernels": parameters["kernel"]}
    with pytest.raises(error, match=message):
        kind(**parameters).fit(**EXAMPLES | changes)


@pytest.mark.parametrize("kind", TWO)
def test_what_cannot_be_predicted(kind):
    model = kind().fit(**EXAMPLES)
    for new, tasks, error, message in (
        (X, ["a", "b", "c"], ValueError, r"tasks must have one entry per example \(42\), got 3"),
        (X, "z", UnknownTaskError, "task 'z' is not in the model"),
        (X, None, ValueError, r"tasks must be given: the model has 3 tasks \(a, b, c\)"),
    ):
        with pytest.raises(error, match=message):
            model.predict(new, tasks)


def test_a_matrix_that_is_no_kernel_is_refused():
    with pytest.raises(ValueError, match="must be positive semi-definite, got the eigenvalue -1"):
        MultiTaskKernelSVC(Precomputed(1 - np.eye(N))).fit(np.arange(N)[:, None], Y, NAMES)


def test_a_warning_names_the_settings_that_there_are():
    with pytest.warns(UserWarning, match=r"scale the features, or raise tol$"):
        MultiTaskKernelSVC("linear", C=1e6, tol=1e-300).fit(X * 1e6, Y, NAMES)


NUMBERS = [0, np.nan, np.inf, "1", True]
GAMMA = "gamma must be a finite number above 0"
OTHERS = TaskKernel(["x", "b"], np.eye(2))


@pytest.mark.parametrize(
    ("kinds", "name", "values", "message"),
    [
        (ALL, "C", NUMBERS, "C must be a finite number above 0, got"),
        (ALL, "tol", NUMBERS, "tol must be a finite number above 0, got"),
        (LEARNERS[:1], "p", [0, np.nan, "2", None], "p must be a number above 0, got"),
        (LEARNERS[:1], "p", [1e-3, 1e-300], r"p must be at least 0\.0016 for 3 tasks, got"),
        (LEARNERS, "norm", [0.99, np.nan, "2"], "norm must be a number from 1 to infinity, got"),
        (LEARNERS, "max_iter", [0, 2.5, "5", True], "max_iter must be an integer of at least 1"),
        (LEARNERS, "kernels", [[]], "kernels must hold at least one kernel, got"),
        (ALL[-1:], "gamma", ["auto", 0.0, -1], GAMMA),
        (ALL[-1:], "task_kernel", ["alike"], "task_kernel must be one of individual"),
        (ALL[-1:], "task_kernel", [np.eye(2)], r"one row per task \(3\), got shape"),
        (ALL[-1:], "task_kernel", [OTHERS], "tasks 'a', 'c' are not in"),
        (ALL[-2:-1], "task_kernel", [[]], "task_kernel must hold at least one"),
        (ALL[-2:], "class_weight", ["heavy"], "class_weight must be None, 'balanced' or a mapping"),
    ],
)
def test_settings_out_of_range(kinds, name, values, message):
    for kind in kinds:
        for value in values:
            with pytest.raises(ValueError, match=message):
                kind(**{name: value}).fit(**EXAMPLES)


def test_matrices_that_do_not_fit_into_memory(monkeypatch):
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 100)
    for kind in ALL:
        with pytest.raises(
            MemoryLimitError, match=r"\d x \d kernel matrices of up to \d\d examples"
        ):
            kind().fit(**EXAMPLES)
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 8 * (3 * 596 + 2 * 256))
    ParetoMKLClassifier().fit(**EXAMPLES)  # three tasks of 12, 14 and 16
    with pytest.raises(MemoryLimitError, match="train on fewer examples"):
        ParetoMKLClassifier(["rbf"] * 4).fit(**EXAMPLES)
