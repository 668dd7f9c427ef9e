"""Transformers of scikit-learn for examples that carry their tasks."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from seqmtl.sequences import TaskArray


def _has_feature_names(transformer: Any) -> bool:
    return hasattr(transformer.transformer_, "get_feature_names_out")


class TaskTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A transformer of scikit-learn, by which a TaskArray keeps its tasks.

    In a pipeline, a transformer turns a TaskArray into a plain array, and scikit-learn passes
    `tasks` to `fit` and `score` only. With this one, pipelines score in `cross_val_predict` too.

    Parameters
    ----------
    transformer : transformer, optional
        Fitted to the numbers of all tasks. Default: ``StandardScaler()``.

    Attributes
    ----------
    transformer_ : transformer
        The fitted one.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_predict
    >>> from sklearn.pipeline import make_pipeline
    >>> from seqmtl import MultiTaskSVC, TaskArray, TaskTransformer
    >>> X = TaskArray([[0.0], [100.0], [10.0], [90.0]] * 2, list("aabb") * 2)
    >>> pipe = make_pipeline(TaskTransformer(), MultiTaskSVC(C=10.0))
    >>> cross_val_predict(pipe, X, [0, 1, 0, 1] * 2, cv=2)
    array([0, 1, 0, 1, 0, 1, 0, 1])
    """

    def __init__(self, transformer: Any = None) -> None:
        self.transformer = transformer

    def _unfitted(self) -> Any:
        return StandardScaler() if self.transformer is None else self.transformer

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._unfitted())
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags

    def fit(self, X: Any, y: Any = None, **parameters: Any) -> Self:
        """Fit the transformer to the examples of all tasks.

        Parameters
        ----------
        X : TaskArray, array_like or sparse matrix of shape (n, d)
            Examples.
        y : array_like, shape (n,), optional
            Targets, if the transformer takes them.
        **parameters
            Further arguments of its `fit`.

        Returns
        -------
        self
        """
        plain = X.X if isinstance(X, TaskArray) else X
        self.transformer_ = clone(self._unfitted()).fit(plain, y, **parameters)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.transformer_, name):
                setattr(self, name, getattr(self.transformer_, name))
        return self

    def transform(self, X: Any) -> Any:
        """Transform examples: a TaskArray to one with the same tasks, others as they are."""
        check_is_fitted(self)
        if isinstance(X, TaskArray):
            return TaskArray(self.transformer_.transform(X.X), X.tasks)
        return self.transformer_.transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Let the transformer return data frames, "pandas" or "polars"; see scikit-learn."""
        self.transformer = self._unfitted()
        for each in (self.transformer, getattr(self, "transformer_", self.transformer)):
            each.set_output(transform=transform)
        return self

    @available_if(_has_feature_names)
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names that the transformer gives."""
        return self.transformer_.get_feature_names_out(input_features)
