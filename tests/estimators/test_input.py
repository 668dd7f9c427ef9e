"""What estimators take and refuse alike: examples, tasks, labels, weights and parameters."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    KmerCounts,
    MultiTaskClassifierCV,
    MultiTaskKernelSVC,
    MultiTaskMKLClassifier,
    MultiTaskRegressorCV,
    MultiTaskSVC,
    MultiTaskSVR,
    ParetoMKLClassifier,
    PositionalKmers,
    TaskArray,
    TaskTransformer,
    Windows,
)

LINEAR = [MultiTaskSVC, MultiTaskClassifierCV, MultiTaskMKLClassifier]
ON_FEATURES = [*LINEAR, MultiTaskSVR]
WEIGHTED = [*LINEAR, MultiTaskKernelSVC, KernelMKLClassifier]
ALL = [
    *WEIGHTED,
    MultiTaskSVR,
    ParetoMKLClassifier,
    IndividualMKLClassifier,
]
every = pytest.mark.parametrize("kind", ALL)
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
Y = np.where(X[:, 0] > 0, 1, -1)
TASKS = np.tile(["a", "b"], 30)
TEXTS = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(60)]
UNEVEN = [text[: 12 + i % 9] for i, text in enumerate(TEXTS)]


def fit(model, data, y, tasks=None):
    return model.fit(data, y, tasks=tasks)


@pytest.mark.parametrize("kind", WEIGHTED)
@pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf, "x", None, True])
def test_class_weights_are_positive(kind, factor):
    with pytest.raises(ValueError, match="class_weight must hold finite numbers above 0, got"):
        kind(class_weight={1: factor}).fit(X, Y, tasks=TASKS)


@pytest.mark.parametrize("kind", ON_FEATURES)
def test_features_may_be_a_description(kind):
    model = clone(kind(features="wd:3"))
    assert model.features == "wd:3"
    texts = fit(model, TEXTS, Y, TASKS)
    assert_array_equal(
        texts.coef_, fit(kind(features=PositionalKmers("wd:3")), TEXTS, Y, TASKS).coef_
    )
    views = fit(kind(features=["wd:2", "spectrum:2"]), TEXTS, Y, TASKS)
    assert [str(view) for view in views.model_.features.views] == ["wd:2", "spectrum:2"]


@pytest.mark.parametrize("kind", ON_FEATURES)
@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("x", "in the features 'x', at character 1"),
        (5, "features must be a feature map, its description such as 'wd:5', .* got 5"),
        ([], r"features must be a feature map or a list of them, got \[\]"),
        ([None], "features must be a feature map or a list of them"),
        (["wd:3", 5], "features must be a feature map, .* got 5"),
    ],
)
def test_other_features_are_refused(kind, features, message):
    with pytest.raises(ValueError, match=message):
        fit(kind(features=features), TEXTS, Y)


@pytest.mark.parametrize("kind", ON_FEATURES)
def test_strings_of_several_lengths_need_features_without_positions(kind):
    model = fit(kind(features=KmerCounts("spectrum:2")), UNEVEN, Y)
    padded = fit(kind(features="spectrum:2"), Windows.from_strings(UNEVEN, pad=True), Y)
    assert_array_equal(model.predict(UNEVEN), padded.predict(UNEVEN))
    assert model.predict(["ACGT" * 20, "ACG"]).shape == (2,)
    for features in (None, "wd:3"):
        with pytest.raises(ValueError, match=r"lengths 12 to 20; .* no positions, such as gapped"):
            fit(kind(features=features), UNEVEN, Y)


@pytest.mark.parametrize("first", ["NAN", "nan"])
@pytest.mark.parametrize("kind", [MultiTaskSVC, KernelMKLClassifier])
def test_nan_is_a_sequence(kind, first):
    options = {"kernels": ["wd:2"]} if kind is KernelMKLClassifier else {}
    texts = [first, *(text[:3] for text in TEXTS[1:])]
    model = kind(**options).fit(texts, Y)
    assert model.predict(texts).shape == (60,)
    missing = [*texts[:5], np.nan, *texts[6:]]
    with pytest.raises(ValueError, match="X must hold sequences, got nan for example 5"):
        kind(**options).fit(missing, Y)


def test_numbers_as_texts_stay_numbers():
    assert MultiTaskSVC().fit([["1.5"], ["2"]] * 5, [1, -1] * 5).coef_.shape == (1, 1)


@every
def test_masked_values_are_refused(kind):
    mask = np.arange(60) == 3
    masked = np.ma.array(X, mask=np.repeat(mask[:, None], 4, axis=1))
    with pytest.raises(ValueError, match="X must have no masked values"):
        fit(kind(), masked, Y, TASKS)
    with pytest.raises(ValueError, match="X must have no masked values"):
        fit(kind(), TaskArray(masked, TASKS), Y)
    with pytest.raises(ValueError, match="tasks must have no masked values"):
        fit(kind(), X, Y, np.ma.array(TASKS, mask=mask))
    with pytest.raises(ValueError, match="y must have no masked values"):
        kind().fit(X, np.ma.array(Y, mask=mask), tasks=TASKS)
    with pytest.raises(ValueError, match="sample_weight must have no masked values"):
        kind().fit(X, Y, TASKS, np.ma.array(np.ones(60), mask=mask))


@every
def test_a_column_of_tasks_is_their_list(kind):
    model = fit(kind(), X, Y, TASKS)
    for column in (TASKS[:, None], [[task] for task in TASKS], (task for task in TASKS)):
        assert fit(kind(), X, Y, column).tasks_ == ("a", "b")
    assert_array_equal(model.predict(X, tasks=TASKS[:, None]), model.predict(X, tasks=TASKS))
    with pytest.raises(ValueError, match=r"one name per example, got the shape \(60, 2\)"):
        fit(kind(), X, Y, np.column_stack([TASKS, TASKS]))
    with pytest.raises(ValueError, match="tasks must be names, one per example, got 5"):
        fit(kind(), X, Y, 5)
    with pytest.raises(ValueError, match="task of every example, got '' for example 0"):
        fit(kind(), X, Y, ["", *TASKS[1:]])


def test_a_column_of_tasks_of_windows_is_their_list():
    column = TASKS[:, None]
    assert Windows.from_strings(TEXTS, tasks=column).task_names == ("a", "b")
    assert Windows.from_strings(TEXTS).with_tasks(column).task_names == ("a", "b")
    assert_array_equal(TaskArray(X, column).tasks, TASKS)


@every
def test_given_tasks_do_not_contradict_those_of_the_examples(kind):
    array, other = TaskArray(X, TASKS), ["b", *TASKS[1:]]
    model = fit(kind(), array, Y)
    assert_array_equal(fit(kind(), array, Y, TASKS).predict(array), model.predict(array))
    message = "tasks must be those that X carries, got 'b' for example 0, and X has 'a'"
    with pytest.raises(ValueError, match=message):
        fit(kind(), array, Y, other)
    with pytest.raises(ValueError, match=message):
        model.predict(array, other)
    if hasattr(model, "score"):
        with pytest.raises(ValueError, match=message):
            model.score(array, Y, other)
    with pytest.raises(ValueError, match="got 5 names, and X has 60 examples"):
        model.predict(array, TASKS[:5])
    assert_array_equal(model.predict(array, "b"), model.predict(X, ["b"] * 60))  # all as another


@pytest.mark.parametrize("kind", [MultiTaskSVC, MultiTaskSVR])
def test_given_tasks_do_not_contradict_those_of_windows(kind):
    windows, other = Windows.from_strings(TEXTS, tasks=TASKS), ["b", *TASKS[1:]]
    with pytest.raises(ValueError, match="and X has 'a'"):
        kind().fit(windows, Y, tasks=other)
    assert kind().fit(Windows.from_strings(TEXTS), Y, tasks=other).tasks_ == ("a", "b")
    with pytest.raises(ValueError, match="and X has 'a'"):
        kind().fit(windows, Y).predict(windows, other)


@pytest.mark.parametrize("value", [None, "x", np.nan, np.inf, [], np.ones(2), 2])
@pytest.mark.parametrize("kind", [*LINEAR, MultiTaskSVR, KernelMKLClassifier])
def test_an_intercept_is_fitted_or_not(kind, value):
    with pytest.raises(ValueError, match="fit_intercept must be True or False, got"):
        kind(fit_intercept=value).fit(X, Y, tasks=TASKS)


@pytest.mark.parametrize("kind", [MultiTaskClassifierCV, MultiTaskRegressorCV])
@pytest.mark.parametrize("costs", [None, 1.0, "x", [], [0.0], ["a"], [np.nan]])
def test_costs_are_a_list_of_positive_numbers(kind, costs):
    with pytest.raises(ValueError, match="costs must"):
        kind(costs=costs).fit(X, Y, tasks=TASKS)


def test_targets_are_numbers():
    with pytest.raises(ValueError, match="y contains NaN"):
        MultiTaskSVR().fit(X, [None, *Y[1:]], tasks=TASKS)


@every
def test_numbers_whose_squares_are_infinite_are_refused(kind):
    model, huge = fit(kind(), X, Y, TASKS), X * 1e200
    message = r"X must hold numbers of at most 1e\+20, got .*, which is too large; scale them"
    for data in (huge, csr_matrix(huge)) if kind in ON_FEATURES else (huge,):
        with pytest.raises(ValueError, match=message):
            fit(kind(), data, Y, TASKS)
        with pytest.raises(ValueError, match=message):
            model.predict(-data, tasks=TASKS)


@pytest.mark.parametrize("kind", WEIGHTED)
def test_weights_whose_sums_are_infinite_are_refused(kind):
    weight = np.full(len(Y), 1e308)
    with pytest.raises(ValueError, match=r"sample_weight must hold numbers of at most 1e\+20"):
        kind().fit(X, Y, tasks=TASKS, sample_weight=weight)


@every
def test_a_frame_keeps_the_names_of_its_columns(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("uvwx"))
    array = TaskArray(frame, TASKS)
    model = fit(kind(), array[np.arange(60)], Y)
    assert_array_equal(model.feature_names_in_, list("uvwx"))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(TaskArray(frame[list("xuvw")], TASKS))


def test_a_frame_keeps_its_names_in_pipelines():
    pandas = pytest.importorskip("pandas")
    array = TaskArray(pandas.DataFrame(X, columns=list("uvwx")), TASKS)
    scaler = TaskTransformer().fit(array)
    assert_array_equal(scaler.get_feature_names_out(), list("uvwx"))
    assert list(array[np.arange(3)[:, None], [0, 2]].X.columns) == ["u", "w"]
    pipe = make_pipeline(TaskTransformer(), MultiTaskSVC()).fit(array, Y)
    assert_array_equal(pipe.get_feature_names_out(), list("uvwx"))
    pipe.set_output(transform="pandas").fit(array, Y)
    assert list(pipe[0].transform(array).X.columns) == list("uvwx")
    assert_array_equal(pipe[-1].feature_names_in_, list("uvwx"))
    plain = cross_val_score(MultiTaskSVC(), TaskArray(X, TASKS), Y, cv=3)
    assert_array_equal(cross_val_score(MultiTaskSVC(), array, Y, cv=3), plain)
