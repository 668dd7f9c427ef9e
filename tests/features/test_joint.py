"""Joint features against their parts, and comparisons of rows against the written-out matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from seqmtl import JointFeatures, PositionalKmers
from seqmtl.features._base import gram_matrix
from seqmtl.features.joint import features_from_dict
from seqmtl.features.numeric import Numeric, NumericRows
from seqmtl.sequences import Windows

PARTS = [
    PositionalKmers("wd:3"),
    PositionalKmers("kmers:2/inf@0..9", anchor=2),
    PositionalKmers("wd:4", hash_bits=7),
    PositionalKmers("kmers:3/inf", anchor=0),
]


def _windows(n=40, length=15, seed=0):
    """Windows of both strands, some with N, one of N only."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, n * length + 10).astype(np.uint8)
    letters[rng.random(letters.size) < 0.03] = 4
    letters[3 * length : 4 * length] = 4
    return Windows(letters, np.arange(n) * length, length, is_reverse=rng.random(n) < 0.5)


def _explicit(features, windows):
    with np.errstate(over="ignore"):
        return features.transform(windows).toarray().astype(float)


def _matrix(rows):
    """The matrix of all rows in double precision, from their blocks."""
    X = np.zeros((rows.n_rows, rows.n_features))
    indptr, indices, values, *_ = rows.block(np.arange(rows.n_rows), np.float64)
    n_parts = len(rows.views)
    for part in range(indptr.size - 1):
        for p in range(indptr[part], indptr[part + 1]):
            X[part // n_parts, indices[p]] += values[p]
    return X


def _sparse_numbers(rng, n=40, d=9):
    X = rng.standard_normal((n, d))
    X[np.abs(X) < 1] = 0
    X[5] = 0
    return X


def test_features_are_those_of_the_parts_side_by_side():
    windows = _windows()
    joint = JointFeatures(PARTS)
    X = _explicit(joint, windows)
    parts = [_explicit(part, windows) for part in PARTS]
    assert_allclose(X, np.hstack(parts), rtol=1e-6)  # of hashed rows: in another order of sums
    assert joint.n_features(windows.length) == X.shape[1] == joint.bind(windows).n_features
    for view, part in zip(joint.bind(windows).views, parts, strict=True):
        assert_allclose(X[:, view.columns], part, rtol=1e-6)


def test_norms_scores_and_sums_equal_the_explicit_matrix():
    windows, rng = _windows(), np.random.default_rng(1)
    rows = JointFeatures(PARTS).bind(windows)
    X, tasks = _matrix(rows), rng.integers(0, 3, 40)
    exact = [g for g in range(4) if PARTS[g] is not PARTS[2]]  # of hashed rows: before collisions
    for g in exact:
        view = rows.views[g]
        assert_allclose(view.rows.squared_norms(), (X[:, view.columns] ** 2).sum(axis=1))
    norms = [view.rows.squared_norms() for view in rows.views]
    assert_allclose(rows.squared_norms(), np.sum(norms, axis=0))

    W = rng.standard_normal((rows.n_features, 3))
    assert_allclose(rows.scores(W, tasks), (X @ W)[np.arange(40), tasks], atol=1e-12)
    some = np.array([4, 8, 30])
    expected = np.zeros(40)
    expected[some] = (X @ W)[some, tasks[some]]
    assert_allclose(rows.scores(W, tasks, some), expected, atol=1e-12)

    K = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, 0.5], [0.0, 0.5, 0.7]])
    amount = rng.standard_normal(40)
    expected = W + sum(amount[i] * np.outer(X[i], K[tasks[i]]) for i in some)
    rows.accumulate(some, amount, tasks, K, W)
    assert_allclose(W, expected, atol=1e-12)


def _every_kind():
    rng, windows = np.random.default_rng(2), _windows(n=60)
    numbers = rng.standard_normal((60, 5))
    return {
        "weighted degrees": PositionalKmers("wd:4").bind(windows),
        "flat": PositionalKmers("kmers:1-2").bind(windows),
        "long": PositionalKmers("wd:3").bind(_windows(n=60, length=130)),
        "short": PositionalKmers("wd:8").bind(_windows(n=60, length=3)),
        "hashed": PositionalKmers("wd:4", hash_bits=8).bind(windows),
        "spectrum": PositionalKmers("kmers:3/inf", anchor=0).bind(windows),
        "counts": PositionalKmers("kmers:2/inf@0..7", anchor=1).bind(windows),
        "dense": NumericRows(numbers),
        "sparse": NumericRows(csr_matrix(_sparse_numbers(rng, 60))),
        "joint": JointFeatures(PARTS).bind(windows),
    }


KINDS = "weighted degrees,flat,long,short,hashed,spectrum,counts,dense,sparse,joint".split(",")


@pytest.mark.parametrize("kind", KINDS)
def test_virtual_grams_are_products_of_virtual_weights(kind):
    rows, rng = _every_kind()[kind], np.random.default_rng(3)
    X, tasks = _matrix(rows), rng.choice([0, 1, 3], rows.n_rows)  # nothing of task 2
    for chosen in (np.arange(60), np.array([50, 2, 7, 11]), np.zeros(0, dtype=int)):
        amount = rng.standard_normal(60)
        V = np.zeros((rows.n_features, 4))
        for i in chosen:
            V[:, tasks[i]] += amount[i] * X[i]
        found = np.zeros((rows.n_features, 4))
        rows.accumulate(chosen, amount, tasks.astype(np.int16), np.eye(4), found)
        S = rows.products(found)
        assert S.shape == (4, 4)
        assert_allclose(S, V.T @ V, atol=1e-10)
        assert_array_equal(S[2], 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_matrices_are_products_of_rows(kind):
    rows = _every_kind()[kind]
    X, chosen = _matrix(rows), np.array([9, 3, 0, 59, 3, 20])
    expected = (X @ X.T)[np.ix_(chosen, chosen)]
    assert_allclose(gram_matrix(rows, chosen), expected, atol=1e-10)
    for dtype in (np.float32, np.float64):
        G = rows.gram(chosen, dtype) if hasattr(rows, "gram") else None
        if G is not None:
            assert G.dtype == dtype
            assert_allclose(G, expected, rtol=1e-5, atol=1e-5)
            assert_array_equal(G, G.T)


def test_description_round_trip():
    joint, windows = JointFeatures(PARTS), _windows()
    again = features_from_dict(joint.to_dict(15))
    assert isinstance(again, JointFeatures)
    assert_array_equal(_explicit(again, windows), _explicit(joint, windows))
    assert again.to_dict(15) == joint.to_dict(15)


def test_joint_features_in_joint_features_are_views_like_others():
    windows = _windows()
    nested = JointFeatures([JointFeatures(PARTS[:2]), JointFeatures(PARTS[2:])])
    rows, flat = nested.bind(windows), JointFeatures(PARTS).bind(windows)
    assert [view.columns for view in rows.views] == [view.columns for view in flat.views]
    assert_array_equal(_matrix(rows), _matrix(flat))


def test_no_views_and_views_without_features_are_refused():
    with pytest.raises(ValueError, match="views must be feature maps, got none; give at least one"):
        JointFeatures([]).bind(_windows())
    with pytest.raises(ValueError, match="every view must have features, got none from Numeric"):
        JointFeatures([Numeric()]).bind(np.zeros((3, 0)))


def test_more_features_than_indices_are_refused():
    large = PositionalKmers("wd:12", max_memory=8.0)
    windows = _windows(n=2, length=50)
    assert large.bind(windows).n_features < 2**31
    with pytest.raises(ValueError, match=r"views must have fewer than 2\*\*31 features in all"):
        JointFeatures([large, large]).bind(windows)
