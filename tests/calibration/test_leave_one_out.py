"""Leave-one-out scores: what copies add to a score, and what they must not promise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl import KernelMKLClassifier, KmerCounts, MultiTaskClassifierCV, MultiTaskSVC
from seqmtl.calibration.leave_one_out import find_copies, parts_of_copies
from seqmtl.features.joint import JointFeatures
from seqmtl.features.numeric import Numeric
from seqmtl.training import fit as training
from tests.oracles.annotation import reverse_complement


def test_copies_are_found_by_score_and_norm():
    scores, norms = np.array([1.0, 2.0, 1.0, 1.0]), np.array([3.0, 3.0, 3.0, 4.0])
    groups = find_copies(scores, norms)
    assert groups[0] == groups[2]
    assert np.unique(groups).size == 3


def test_parts_of_copies_are_sums_over_them():
    rng = np.random.default_rng(0)
    copy_of = rng.integers(12, size=40)
    tasks, dual_coef = rng.integers(4, size=40), rng.standard_normal(40)
    X = rng.standard_normal((12, 5))[copy_of]
    A = rng.standard_normal((2, 4, 4))
    K = A @ A.transpose(0, 2, 1)
    rows = JointFeatures([Numeric(), Numeric()]).bind(X)
    found = parts_of_copies(rows, tasks, dual_coef, copy_of, K, 0.5)
    expected = [
        sum(
            K[g, tasks[i], tasks[j]] * (X[i] @ X[j] + 0.25) * dual_coef[j]
            for j in range(40)
            if copy_of[j] == copy_of[i]
            for g in range(2)
        )
        for i in range(40)
    ]
    assert_allclose(found, expected)


def test_scores_without_an_example_at_its_bound_are_those_of_a_model_without_it(monkeypatch):
    left_out = []
    monkeypatch.setattr(training, "calibrate_tasks", lambda s, *_: left_out.append(s) or [[1, 0]])
    rng, n = np.random.default_rng(0), 120
    X = rng.standard_normal((n, 5))
    y = np.where(X[:, 0] + 1.5 * rng.standard_normal(n) > 1.5, 1, -1)
    weight = np.where(y > 0, 5.0, 0.5)  # most are support vectors, few of them below their bound
    svc = MultiTaskSVC(tol=1e-6).fit(X, y, sample_weight=weight)
    at_bound, exact = np.flatnonzero(svc.dual_coef_ == weight)[::4], []
    assert at_bound.size > 15
    for i in at_bound:
        others = np.arange(n) != i
        svc.fit(X[others], y[others], sample_weight=weight[others])
        exact.append(svc.model_.decision_function(X[[i]])[0])
    assert np.std(left_out[0][at_bound] - exact) < 0.1 * np.std(exact)


def _random_texts(n, rng):
    return ["".join(rng.choice(list("ACGT"), 60)) for _ in range(n)]


def _as_given(text):
    return text


@pytest.mark.parametrize(
    ("copy", "is_of_other_task", "share"),
    [
        (_as_given, False, 1.0),
        (_as_given, True, 0.2),
        (reverse_complement, False, 0.2),
        (reverse_complement, True, 1.0),
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [
        MultiTaskSVC(features=KmerCounts("spectrum:1-5")),
        MultiTaskClassifierCV(features=KmerCounts("spectrum:1-5")),
        KernelMKLClassifier(["spectrum:3"]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_copies_do_not_make_noise_look_certain(estimator, copy, is_of_other_task, share):
    if isinstance(estimator, KernelMKLClassifier) and copy is reverse_complement:
        pytest.skip("its kernels are of one strand")
    rng = np.random.default_rng(2)  # no pattern by chance: without copies, probabilities are alike
    texts, new = _random_texts(120, rng), _random_texts(200, rng)
    y, n = np.tile([1, -1], 60), int(120 * share)
    tasks = ["a"] * 120 + ["b" if is_of_other_task else "a"] * n
    estimator.fit([*texts, *map(copy, texts[:n])], np.append(y, y[:n]), tasks)
    assert estimator.predict_proba(new, "a")[:, 1].std() < 0.08
