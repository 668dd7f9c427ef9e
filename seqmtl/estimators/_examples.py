"""Examples as users give them: validated, with tasks as numbers and two classes as signs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from seqmtl._names import check_distinct
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.joint import JointFeatures, parse_features
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.sequences.task_array import refuse_masked, refuse_other_tasks, split_tasks
from seqmtl.sequences.windows import UNNAMED, name_table

_LARGEST = 1e20  # of the numbers of examples; a plain choice
_MATRIX: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": np.float64,
}


def plain_examples(X: Any, tasks: Any, y: Any = None) -> tuple[Any, Any]:
    """Return examples without their tasks if they are a TaskArray, and the tasks that are given.

    Raises
    ------
    ValueError
        If the examples have other tasks, or values are masked, also of the targets `y`.
    """
    X, tasks = split_tasks(X, tasks)
    refuse_masked("y", y)
    if isinstance(X, Windows) and X.task_names != (UNNAMED,):
        refuse_other_tasks(X.tasks, tasks)
    return X, tasks


def feature_map(features: Any) -> Any:
    """Return the feature map of an estimator, of several its views, or None.

    Raises
    ------
    ValueError
        If it is neither a feature map nor the description of one.
    """
    if features is None:
        return None
    if isinstance(features, (list, tuple)):
        maps = [feature_map(view) for view in features]
        if not maps or None in maps:
            raise ValueError(
                f"features must be a feature map or a list of them, got {features!r}; give at "
                "least one"
            )
        return JointFeatures(maps)
    if isinstance(features, str):
        return parse_features(features)
    if not isinstance(features, FeatureDefinition):
        raise ValueError(
            "features must be a feature map, its description such as 'wd:5', or a list of them, "
            f"got {features!r}"
        )
    return features


def as_windows(X: Any, features: FeatureDefinition | None) -> Any:
    """Return sequences as windows, and other examples as they are.

    The sequences are padded to one length if no feature needs positions.

    Raises
    ------
    ValueError
        If X is the name of a file, has masked numbers, or the sequences differ in length.
    """
    if isinstance(X, (str, os.PathLike)):
        raise ValueError(
            f"X must be Windows, sequences or numbers, got a path; use read_windows({str(X)!r})"
        )
    texts = as_texts(X)
    if texts is None:
        return X
    return Windows.from_strings(
        texts.tolist(), pad=features is not None and features.is_position_free
    )


def as_texts(X: Any) -> NDArray[Any] | None:
    """Return a list or a column of texts as an array, shape (n,), or None if X is none.

    Raises
    ------
    ValueError
        If the first is a text, but not all are, or values are masked.
    """
    refuse_masked("X", X)
    if isinstance(X, Windows) or hasattr(X, "tocsr"):
        return None
    if isinstance(X, (list, tuple)):
        first = X[0] if X else None
        while isinstance(first, (list, tuple, np.ndarray)) and len(first) == 1:
            first = first[0]
        if not isinstance(first, (str, bytes)):
            return None
    elif not hasattr(X, "__array__"):
        return None
    texts = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    if texts.dtype.kind not in "OSTU" or texts.shape not in {(texts.size,), (texts.size, 1)}:
        return None
    column = texts.reshape(-1).astype(object)
    is_text = [isinstance(value, (str, bytes)) for value in column]
    if not is_text[:1] or not is_text[0] or _is_number(column[0]):
        return None
    if not all(is_text):
        i = is_text.index(False)
        raise ValueError(
            f"X must hold sequences, got {column[i]!r} for example {i}; leave the example out"
        )
    return np.array([v.decode("latin-1") if isinstance(v, bytes) else v for v in column])


def _is_number(text: Any) -> bool:
    """Return whether a text is a number in digits; NAN is a sequence, too."""
    try:
        float(text)
    except ValueError:
        return False
    return not text.strip().isalpha()


def check_sizes(numbers: Any, name: str = "X") -> Any:
    """Return numbers whose squares and products are finite.

    Raises
    ------
    ValueError
        If there are others.
    """
    values = numbers.data if hasattr(numbers, "tocsr") else numbers
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest > _LARGEST:
        raise ValueError(
            f"{name} must hold numbers of at most {_LARGEST:g}, got {largest:g}, which is too "
            "large; scale them"
        )
    return numbers


def check_X(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:  # noqa: N802
    """Return validated examples; with `reset`, set the estimator's number of features."""
    X = as_windows(X, feature_map(estimator.features) if reset else estimator.model_.features)
    if not isinstance(X, Windows):
        return check_sizes(validate_data(estimator, X, reset=reset, **_MATRIX))
    if reset:
        estimator.n_features_in_ = X.length
    return X


def check_X_y(  # noqa: N802
    estimator: BaseEstimator, X: Any, y: Any, *, numeric: bool = False
) -> tuple[Any, NDArray[Any]]:
    """Return validated examples and targets, as float64 if `numeric`."""
    X = as_windows(X, feature_map(getattr(estimator, "features", None)))
    if numeric and y is not None:
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if not isinstance(X, Windows):
        X, y = validate_data(estimator, X, y, y_numeric=numeric, **_MATRIX)
        return check_sizes(X), check_sizes(np.asarray(y), "y") if numeric else np.asarray(y)
    if y is None:
        raise ValueError("y must be given: sequences and windows carry no targets")
    y = check_sizes(np.asarray(y), "y") if numeric else np.asarray(y)
    if y.shape != (len(X),):
        raise ValueError(f"y must have one label per window ({len(X)}), got {y.shape}")
    estimator.n_features_in_ = X.length
    return X, y


def gather_examples(X: Any, y: NDArray[Any], tasks: Any, sample_weight: Any) -> Examples:
    """Return validated examples with their tasks as indices, without those of weight 0."""
    names, ids = _number_tasks(X, tasks)
    if sample_weight is None:
        return Examples(X, y, ids, names)
    refuse_masked("sample_weight", sample_weight)
    weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    check_sizes(weight, "sample_weight")
    used = np.flatnonzero(weight)
    return Examples(X[used], y[used], ids[used], names, weight[used])


def _number_tasks(X: Any, tasks: Any) -> tuple[tuple[str, ...], NDArray[np.int16]]:
    """Return the sorted task names and the task index of every example."""
    if tasks is None:
        tasks = X.tasks if isinstance(X, Windows) else np.full(X.shape[0], "task")
    else:
        tasks = _checked_names(tasks)
    listed, ids = name_table(tasks)
    if isinstance(X, Windows):
        check_distinct(listed)
    if ids.size != X.shape[0]:
        raise ValueError(
            f"tasks must have one entry per example ({X.shape[0]}), got {ids.size}; for "
            "cross-validation use a TaskArray or Windows, which carry them"
        )
    order = sorted(range(len(listed)), key=listed.__getitem__)
    rank = np.argsort(order).astype(np.int16)
    return tuple(listed[i] for i in order), rank[ids]


def _checked_names(tasks: Any) -> list[Any]:
    """Raise ValueError for missing tasks, as None, NaN and '' would otherwise be tasks."""
    names = list(tasks)
    missing = next((i for i, name in enumerate(names) if _is_missing(name)), None)
    if missing is not None:
        raise ValueError(
            f"tasks must name the task of every example, got {names[missing]!r} for example "
            f"{missing}; fill it in or leave the example out"
        )
    return names


def _is_missing(name: Any) -> bool:
    """Return whether a name is None, '', NaN, or the NA of pandas, which has no truth value."""
    try:
        return name is None or name == "" or bool(name != name)
    except TypeError:
        return True


def classification_examples(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    tasks: Any,
    sample_weight: Any,
    check: Callable[..., tuple[Any, NDArray[Any]]] = check_X_y,
) -> Examples:
    """Return validated examples with classes as y, and set `classes_`.

    Raises
    ------
    ValueError
        If X, y, tasks or weights are invalid, or the number of classes is not 2, nor above it for
        an estimator of several classes.
    """
    X, tasks = plain_examples(X, tasks, y)
    if y is None and isinstance(X, Windows):
        y = X.labels
    X, y = check(estimator, X, y)
    check_classification_targets(y)
    examples = gather_examples(X, y, tasks, sample_weight)
    estimator.classes_ = np.unique(examples.y)
    n_classes = estimator.classes_.size
    if n_classes < 2:
        raise ValueError(
            "y must have two classes, but the data contains only one class: "
            f"{estimator.classes_.tolist()[0]!r}"
        )
    if n_classes > 2 and not estimator.__sklearn_tags__().classifier_tags.multi_class:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass "
            f"({n_classes} classes)."
        )
    return examples


def with_signs(examples: Examples, classes: NDArray[Any]) -> Examples:
    """Return the examples with their two classes as -1 and +1."""
    return replace(examples, y=np.where(examples.y == classes[1], 1.0, -1.0))


def signed_class_weight(weight: Any, classes: NDArray[Any]) -> Any:
    """Return the class weights with +1 and -1 for the classes."""
    if not isinstance(weight, dict):
        return weight
    names = classes.tolist()
    if unknown := [name for name in weight if name not in names]:
        raise ValueError(
            f"class_weight must be for the classes of y, {names}, got {unknown[0]!r}; correct it"
        )
    return {1: weight.get(classes[1], 1.0), -1: weight.get(classes[0], 1.0)}


def seed_of(random_state: Any) -> int:
    """Return the seed that follows from `random_state`."""
    if not isinstance(random_state, (int, np.integer)):
        random_state = check_random_state(random_state).randint(2**31 - 1)
    return int(random_state)
