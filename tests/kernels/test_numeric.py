"""Kernels of numbers, matrices and functions, their names, and checks of kernel matrices."""

import copy
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.svm import SVC

from seqmtl.kernels import (
    RBF,
    GappedKmerKernel,
    Linear,
    Polynomial,
    Precomputed,
    SpectrumKernel,
    WeightedDegreeKernel,
    check_psd,
    make_kernel,
)

FORMULAS = [
    (Linear(), lambda x, z: x @ z),
    (Polynomial(), lambda x, z: (x @ z + 1) ** 2),
    (Polynomial(3, 0.5, 0.0), lambda x, z: (0.5 * (x @ z)) ** 3),
    (RBF(), lambda x, z: np.exp(-((x - z) ** 2).sum())),
    (RBF(0.3), lambda x, z: np.exp(-0.3 * ((x - z) ** 2).sum())),
]
TABLE = np.array([[1.0, 0.1, 300.0], [2.0, 0.1, 100.0], [4.0, 0.1, 200.0], [5.0, 0.1, 150.0]])
M = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
tables = st.integers(1, 4).flatmap(
    lambda d: arrays(float, st.tuples(st.integers(1, 6), st.just(d)), elements=st.floats(-3, 3))
)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS)
@settings(max_examples=20)
@given(X=tables)
def test_values_are_those_of_the_formula(kernel, formula, X):
    K = kernel(X)
    assert K.dtype == np.float64
    expected = np.array([[formula(x, z) for z in X] for x in X])
    assert_allclose(K, expected, rtol=1e-6, atol=1e-7)
    assert_allclose(kernel(X, X[:2]), expected[:, :2], rtol=1e-6, atol=1e-7)
    check_psd(K, "K")


@pytest.mark.parametrize(
    ("kernel", "name"), [(RBF("scale"), "rbf"), (Polynomial(2, "scale", 0.0), "poly")]
)
def test_gamma_from_the_data_is_that_of_svc(kernel, name):
    rng = np.random.default_rng(0)
    X, y = 3 * rng.standard_normal((40, 3)), np.arange(40) % 2
    resolved = kernel.resolve(X)
    assert resolved.gamma == pytest.approx(1 / (3 * X.var()))
    assert resolved.resolve(X[:3]) is resolved
    ours = SVC(kernel=resolved, tol=1e-8).fit(X, y)
    theirs = SVC(kernel=name, degree=2, gamma="scale", tol=1e-8).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    with pytest.raises(ValueError, match="gamma must be a number when the kernel is computed"):
        kernel(X)
    assert kernel.resolve(np.ones((3, 2))).gamma == 1.0
    assert resolved(X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Polynomial(0), "degree must be an integer of at least 1, got 0"),
        (lambda: Polynomial(coef0=-1.0), "coef0 must be a finite number of at least 0, got -1.0"),
        (lambda: Polynomial(gamma=-1.0), "gamma must be a finite number above 0, got -1.0"),
        (lambda: RBF(0.0), "gamma must be a finite number above 0, got 0.0"),
        (lambda: RBF(np.nan), "gamma must be a finite number above 0, got nan"),
        (lambda: RBF("auto"), "gamma must be a finite number above 0 or 'scale', got 'auto'"),
        (lambda: Precomputed([[1.0, 2.0]]), r"matrix must be a square matrix, got shape \(1, 2\)"),
        (lambda: Precomputed([[np.inf]]), "matrix must be finite, got inf for examples 0 and 0"),
        (lambda: Precomputed([[1, 2], [3, 1]]), "matrix must be symmetric, got 2.0 for examples 0"),
        (lambda: make_kernel("sigmoid"), "must be one of linear, poly, rbf, wd, .*, got 'sigmoid'"),
        (lambda: make_kernel("rbf:a"), "kernel must be rbf:GAMMA with numbers, got 'rbf:a'"),
        (lambda: make_kernel("linear:1"), "kernel must be linear, got 'linear:1'"),
        (lambda: make_kernel("rbf:dna"), "kernel must be rbf:GAMMA with numbers, got 'rbf:dna'"),
        (lambda: make_kernel("wd:1:2:3"), "kernel must be wd:DEGREE:SHIFT, got 'wd:1:2:3'"),
        (lambda: check_psd(np.array([[1, 2], [2, 1.0]]), "k"), r"got the eigenvalue -1 \(the"),
        (lambda: check_psd(np.array([[1, 0.5], [0.4, 1]]), "k"), "got 0.5 for examples 0 and 1"),
    ],
)
def test_what_is_no_kernel_or_out_of_range_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("numbers", [[2, 0], np.array([[2], [0]]), np.array([2.0, 0.0])])
def test_precomputed_picks_rows(numbers):
    kernel = Precomputed(M)
    assert_array_equal(kernel(numbers), M[[2, 0]][:, [2, 0]])
    assert_array_equal(kernel(numbers, [1]), M[[2, 0]][:, [1]])
    assert kernel([], [1]).shape == (0, 1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([0, 3], "X must be row numbers from 0 to 2, got 3; the matrix must include"),
        ([-1], "X must be row numbers from 0 to 2, got -1"),
        ([0.5], r"X must be whole numbers of shape \(n,\) or \(n, 1\) with a precomputed kernel"),
        (["a"], "X must be whole numbers"),
        (M, r"X must be whole numbers of shape .*, got float64 of shape \(3, 3\)"),
    ],
)
def test_numbers_of_no_row_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(M)(X)
    with pytest.raises(ValueError, match=message.replace("X", "Z", 1)):
        Precomputed(M)([0], X)


def test_precomputed_is_compared_by_its_matrix():
    kernel = Precomputed(M)
    assert kernel == copy.deepcopy(kernel) == clone(kernel, safe=False)
    assert kernel != Precomputed(2 * M)
    assert kernel != Linear()
    assert repr(kernel) == "Precomputed(<matrix of 3 examples>)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(kernel)


@pytest.mark.parametrize(
    "kernel",
    [*(kernel for kernel, _ in FORMULAS), RBF("scale"), Polynomial(np.int64(2)), Precomputed(M)],
)
def test_kernels_are_values(kernel):
    assert clone(kernel, safe=False) == copy.deepcopy(kernel) == kernel
    with pytest.raises(FrozenInstanceError, match="gamma"):
        kernel.gamma = 2.0


@pytest.mark.parametrize(
    ("spec", "kernel"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(gamma="scale")),
        ("poly:3", Polynomial(3, "scale")),
        ("rbf", RBF("scale")),
        ("rbf:0.5", RBF(0.5)),
        ("wd:8", WeightedDegreeKernel(8)),
        ("WD:8:2", WeightedDegreeKernel(8, 2)),
        ("wd:3:protein", WeightedDegreeKernel(3, alphabet="protein")),
        ("spectrum:4", SpectrumKernel(4)),
        ("gapped:8:5", GappedKmerKernel(8, 5)),
        ("gapped:protein", GappedKmerKernel(alphabet="protein")),
        (RBF(2.0), RBF(2.0)),
    ],
)
def test_what_users_write(spec, kernel):
    assert make_kernel(spec) == kernel


@pytest.mark.parametrize("spec", [RBF, 3, None])
def test_other_types_are_refused(spec):
    with pytest.raises(TypeError, match=r"kernel must be a name \(linear, .* or one of seqmtl"):
        make_kernel(spec)


def test_semi_definite_matrices_pass():
    v = np.arange(5.0)
    for matrix in (np.eye(3), np.zeros((4, 4)), np.outer(v, v), np.empty((0, 0)), M):
        check_psd(matrix, "k")
    check_psd(np.diag([1.0, -1e-9]), "k")
    check_psd(M * (1 + 1e-12 * np.tri(3)), "k")  # rounding is no asymmetry


def test_parameters_of_the_data_weigh_rows():
    weight = np.array([2.0, 0.0, 1.0, 1.0])
    for kernel in (RBF("scale"), Polynomial(2, "scale")):
        found, expected = kernel.resolve(TABLE, weight), kernel.resolve(TABLE[[0, 0, 2, 3]])
        assert_allclose(found(TABLE), expected(TABLE))
        assert clone(found, safe=False) == found
