"""Pipelines with scikit-learn's transformers, with tasks as metadata or carried by the examples."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from seqmtl import MultiTaskSVC, MultiTaskSVR, TaskArray, TaskScorer, TaskTransformer


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, tasks = rng.standard_normal((80, 4)) * [1, 100, 1, 0.01] + 5, np.array([*"ab"] * 40)
    return X, np.where(X[:, 0] * 100 + X[:, 1] > 600, "yes", "no"), tasks


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def _routed(kind):
    model = kind()
    for method in ("fit", "predict", "score", "decision_function", "predict_proba"):
        if hasattr(model, f"set_{method}_request"):
            getattr(model, f"set_{method}_request")(tasks=True)
    return make_pipeline(StandardScaler(), model)


@pytest.mark.usefixtures("routing")
def test_tasks_are_routed_through_pipelines(data):
    X, y, tasks = data
    pipe = _routed(MultiTaskSVC).fit(X, y, tasks=tasks)
    Z = StandardScaler().fit_transform(X)
    alone = MultiTaskSVC().fit(Z, y, tasks)
    assert (pipe.predict(X, tasks=tasks) == alone.predict(Z, tasks)).all()
    for method in ("decision_function", "predict_proba"):
        expected = getattr(alone, method)(Z, tasks)
        assert_allclose(getattr(pipe, method)(X, tasks=tasks), expected)
    assert pipe.score(X, y, tasks=tasks) == alone.score(Z, y, tasks)
    assert cross_val_score(pipe, X, y, params={"tasks": tasks}).min() > 0.5
    scores = cross_val_score(pipe, X, y, params={"tasks": tasks}, scoring=TaskScorer())
    assert scores.min() > 0.7
    search = GridSearchCV(pipe, {"multitasksvc__C": [1e-6, 1.0]}, scoring=TaskScorer())
    assert search.fit(X, y, tasks=tasks).best_params_ == {"multitasksvc__C": 1.0}
    numbers = _routed(MultiTaskSVR).fit(X, X[:, 0], tasks=tasks)
    assert numbers.score(X, X[:, 0], tasks=tasks) > 0.9
    # scikit-learn passes nothing to predict
    with pytest.raises(ValueError, match="give tasks=, or a TaskArray or Windows, which"):
        cross_val_predict(pipe, X, y, params={"tasks": tasks})


@pytest.mark.parametrize(("scaler", "is_routed"), [(None, True), (MinMaxScaler(), False)])
def test_tasks_are_carried_through_pipelines(data, scaler, is_routed):
    X, y, tasks = data
    carried, scale = TaskArray(X, tasks), clone(scaler) if scaler else StandardScaler()
    pipe = make_pipeline(TaskTransformer(scaler), MultiTaskSVC(C=10.0))
    with sklearn.config_context(enable_metadata_routing=is_routed):
        Z = scale.fit_transform(X)
        expected = MultiTaskSVC(C=10.0).fit(Z, y, tasks).decision_function(Z, tasks)
        assert_allclose(pipe.fit(carried, y).decision_function(carried), expected)
        assert np.mean(cross_val_predict(pipe, carried, y) == y) > 0.9
        search = GridSearchCV(pipe, {"multitasksvc__C": [1e-6, 1.0]}, scoring=TaskScorer())
        assert search.fit(carried, y).predict(carried).shape == (80,)
        assert cross_val_score(pipe, carried, y, scoring=TaskScorer()).min() > 0.7
    assert pipe[0].transform(carried).tasks.tolist() == tasks.tolist()
    assert pipe[0].n_features_in_ == 4
    assert isinstance(pipe[0].transform(X), np.ndarray)


def test_a_task_array_is_not_made_an_array_without_its_tasks(data):
    X, y, tasks = data
    with pytest.raises(TypeError, match="would lose its tasks; use TaskTransformer"):
        make_pipeline(StandardScaler(), MultiTaskSVC()).fit(TaskArray(X, tasks), y)
