"""All estimators report the results of training as JSON values."""

import json

import numpy as np
import pytest

import seqmtl

SCALARS = {
    "MultiTaskSVC": {"gap": "dual_gap_", "n_iter": "n_iter_"},
    "MultiTaskKernelSVC": {"gap": "dual_gap_"},
    "KernelMKLClassifier": {"objective": "objective_", "gap": "dual_gap_", "n_iter": "n_iter_"},
    "SparseMKLClassifier": {"objective": "objective_", "gap": "gap_", "n_iter": "n_iter_"},
    "ParetoMKLClassifier": {
        "objective": "objective_",
        "gap": "gap_",
        "n_iter": "n_iter_",
        "weights": "weights_",
    },
    "MinimaxClassifier": {
        "objective": "objective_",
        "gap": "dual_gap_",
        "n_iter": "n_iter_",
        "weights": "task_weights_",
        "losses": "losses_",
    },
}


@pytest.mark.parametrize("name", SCALARS)
def test_results_are_those_of_the_fitted_estimator(name):
    rng = np.random.default_rng(0)
    tasks = np.repeat(["a", "b"], 20)
    y = np.tile([0, 1], 20)
    X = rng.normal(size=(40, 3)) + y[:, None]
    estimator = getattr(seqmtl, name)()
    found = estimator.fit(X, y, tasks=tasks).results()
    expected = {key: getattr(estimator, attribute) for key, attribute in SCALARS[name].items()}
    known = {key: value for key, value in expected.items() if np.isfinite(value).all()}
    assert list(found) == list(known)
    for key, value in json.loads(json.dumps(found)).items():
        assert np.array_equal(value, known[key])
