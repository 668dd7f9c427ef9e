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
TUNED = [MultiTaskClassifierCV, MultiTaskRegressorCV]
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


WEIGHTS = "class_weight must hold finite numbers above 0, got"
FEATURES = "features must be a feature map"
INTERCEPT = "fit_intercept must be True or False, got"


@pytest.mark.parametrize(
    ("kinds", "name", "values", "message"),
    [
        (WEIGHTED, "class_weight", [{1: 0}, {1: np.inf}, {1: "x"}, {1: None}, {1: True}], WEIGHTS),
        (
            [*LINEAR, KernelMKLClassifier],
            "fit_intercept",
            [None, np.nan, [], np.ones(2)],
            INTERCEPT,
        ),
        (TUNED, "costs", [None, 1.0, "x", [], [0.0], ["a"]], "costs must"),
        (ON_FEATURES, "features", ["x"], "in the features 'x', at character 1"),
        (ON_FEATURES, "features", [5, [], [None], ["wd:3", 5]], FEATURES),
    ],
)
def test_parameters_that_are_none(kinds, name, values, message):
    for kind in kinds:
        for value in values:
            with pytest.raises(ValueError, match=message):
                kind(**{name: value}).fit(TEXTS if name == "features" else X, Y, tasks=TASKS)


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
def test_strings_of_several_lengths_need_features_without_positions(kind):
    model = fit(kind(features=KmerCounts("spectrum:2")), UNEVEN, Y)
    padded = fit(kind(features="spectrum:2"), Windows.from_strings(UNEVEN, pad=True), Y)
    assert_array_equal(model.predict(UNEVEN), padded.predict(UNEVEN))
    assert model.predict(["ACGT" * 20, "ACG"]).shape == (2,)
    for features in (None, "wd:3"):
        with pytest.raises(ValueError, match=r"lengths 12 to 20; .* no positions, such as gapped"):
            fit(kind(features=features), UNEVEN, Y)


@pytest.mark.parametrize("kind", [MultiTaskSVC, KernelMKLClassifier])
def test_nan_is_a_sequence(kind):
    options = {"kernels": ["wd:2"]} if kind is KernelMKLClassifier else {}
    texts = ["nan", *(text[:3] for text in TEXTS[1:])]
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
    y, tasks, weight = (np.ma.array(values, mask=mask) for values in (Y, TASKS, np.ones(60)))
    for name, *arguments in (
        ("X", masked, Y, TASKS),
        ("tasks", X, Y, tasks),
        ("y", X, y, TASKS),
        ("sample_weight", X, Y, TASKS, weight),
    ):
        with pytest.raises(ValueError, match=f"{name} must have no masked values"):
            kind().fit(*arguments)
    with pytest.raises(ValueError, match="X must have no masked values"):
        TaskArray(masked, TASKS)


@every
def test_a_column_of_tasks_is_their_list(kind):
    model = fit(kind(), X, Y, TASKS)
    for column in (TASKS[:, None], [[task] for task in TASKS], (task for task in TASKS)):
        assert fit(kind(), X, Y, column).tasks_ == ("a", "b")
    assert_array_equal(model.predict(X, tasks=TASKS[:, None]), model.predict(X, tasks=TASKS))
    for tasks, message in (
        (np.column_stack([TASKS, TASKS]), r"one name per example, got the shape \(60, 2\)"),
        (5, "tasks must be names, one per example, got 5"),
        (["", *TASKS[1:]], "task of every example, got '' for example 0"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(kind(), X, Y, tasks)


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


def test_given_tasks_do_not_contradict_those_of_windows():
    windows, other = Windows.from_strings(TEXTS, tasks=TASKS[:, None]), ["b", *TASKS[1:]]
    with pytest.raises(ValueError, match="and X has 'a'"):
        MultiTaskSVC().fit(windows, Y, tasks=other)
    with pytest.raises(ValueError, match="and X has 'a'"):
        MultiTaskSVC().fit(windows, Y).predict(windows, other)


@every
def test_numbers_whose_squares_or_sums_are_infinite_are_refused(kind):
    model, huge = fit(kind(), X, Y, TASKS), X * 1e200
    message = r"X must hold numbers of at most 1e\+20, got .*, which is too large; scale them"
    for data in (huge, csr_matrix(huge)) if kind in ON_FEATURES else (huge,):
        with pytest.raises(ValueError, match=message):
            fit(kind(), data, Y, TASKS)
        with pytest.raises(ValueError, match=message):
            model.predict(-data, tasks=TASKS)
    if kind in WEIGHTED:
        with pytest.raises(ValueError, match=r"sample_weight must hold numbers of at most 1e\+20"):
            kind().fit(X, Y, tasks=TASKS, sample_weight=np.full(60, 1e308))


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
