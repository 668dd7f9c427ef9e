"""Concatenate feature maps as views, each with its own task kernel; rebuild saved maps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice
from seqmtl._schema import choice, items, record
from seqmtl.core.rows import RowBlock, Rows, View
from seqmtl.features._base import FeatureDefinition, empty_block
from seqmtl.features.kmer_counts import KmerCounts
from seqmtl.features.kmer_views import ANYWHERE
from seqmtl.features.numeric import Numeric
from seqmtl.features.positional_kmers import PositionalKmers


def check_description(name: str, value: Any) -> None:
    """Check the description of a feature map in a model file."""
    record({"kind": choice(*_KINDS)})(name, value)
    record(_KINDS[value["kind"]].rules)(name, value)


class JointFeatures(FeatureDefinition):
    """The concatenated features of several maps.

    Parameters
    ----------
    views : sequence of feature maps
        Maps of the same examples, at least one; for instance weighted degrees around a site and
        spectra upstream and downstream.

    Notes
    -----
    f_t(x) = sum_g <w_gt, phi_g(x)>: the views of Widmer, Kloft, Sreedharan, Raetsch (2015),
    Problem 1, as blocks of columns.

    Examples
    --------
    >>> from seqmtl import JointFeatures, PositionalKmers
    >>> views = [PositionalKmers("wd:2"), PositionalKmers("kmers:2/inf", anchor=0)]
    >>> JointFeatures(views).transform(["ACGT"]).shape
    (1, 96)
    """

    kind = "joint"
    rules: ClassVar = {"views": items(check_description, 1)}

    def __init__(self, views: Iterable[Any]) -> None:
        self.views = views

    @property
    def is_position_free(self) -> bool:  # type: ignore[override]
        """Whether all views are position-free."""
        return all(view.is_position_free for view in self.views)

    @property
    def is_stranded(self) -> bool:
        """Whether a window and its reverse complement may have other features."""
        return any(view.is_stranded for view in self.views)

    def __str__(self) -> str:
        return " + ".join(map(str, self.views))

    def bind(self, data: Any) -> Rows:
        """Bind every map to the examples.

        Raises
        ------
        ValueError
            If there is no view, a view has no features, or the total is 2**31 or more.
        """
        views = list(self.views)
        if not views:
            raise ValueError("views must be feature maps, got none; give at least one")
        bound = [view.bind(data) for view in views]
        for view, rows in zip(views, bound, strict=True):
            if not rows.n_features:
                raise ValueError(f"every view must have features, got none from {view!r}")
        joint = JointRows(bound)
        if joint.n_features >= 2**31:
            raise ValueError(
                f"views must have fewer than 2**31 features in all, got {joint.n_features:,}; "
                "lower the degree, or hash to fewer bits"
            )
        return joint

    def anchored(self, offset: int, n_tasks: int) -> JointFeatures:
        """Return the maps for training."""
        return JointFeatures([view.anchored(offset, n_tasks) for view in self.views])

    def n_features(self, length: int) -> int:
        """Return the number of features of examples of `length` bases or numbers."""
        return sum(view.n_features(length) for view in self.views)

    def feature_names(self, length: int) -> NDArray[np.str_]:
        """Return what every feature counts, with the number of its map."""
        names = (np.char.add(f"{g}:", v.feature_names(length)) for g, v in enumerate(self.views))
        return np.concatenate([*names])

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the maps as JSON values (model files)."""
        return {"kind": self.kind, "views": [view.to_dict(length) for view in self.views]}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> JointFeatures:
        """Rebuild the maps from :meth:`to_dict`."""
        return cls([features_from_dict(view) for view in description["views"]])

    def flat_views(self) -> list[FeatureDefinition]:
        """Return the views; those of nested joint maps are listed individually."""
        return [part for view in self.views for part in view.flat_views()]

    def span(self, length: int) -> int:
        """Return the length of the longest k-mers of all views."""
        return max(view.span(length) for view in self.views)

    def position_weights(
        self, w: NDArray[Any], length: int, first: int = 0, last: int | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the contribution of every k-mer to <w, phi(x)> at every position.

        See :meth:`PositionalKmers.position_weights`.
        """
        totals: list[NDArray[np.float64]] = []
        begin = 0
        for view in self.views:
            end = begin + view.n_features(length)
            parts = view.position_weights(w[begin:end], length, first, last)
            totals = add_levels(totals, parts)
            begin = end
        return totals


def add_levels(
    one: list[NDArray[np.float64]], other: list[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the sums of weights of k-mers of each length; the longer list has the longest."""
    n_common = min(len(one), len(other))
    longer = one[n_common:] or other[n_common:]
    return [a + b for a, b in zip(one, other, strict=False)] + longer


class JointRows(Rows):
    """Rows of several maps; see :class:`seqmtl.core.rows.Rows`."""

    def __init__(self, rows: list[Any]) -> None:
        rows = [view.rows for part in rows for view in part.views]
        ends = np.cumsum([part.n_features for part in rows])
        self._views = tuple(
            View(part, slice(int(end) - part.n_features, int(end)))
            for part, end in zip(rows, ends, strict=True)
        )
        self.n_rows, self.n_features = rows[0].n_rows, int(ends[-1])
        self.row_size = sum(part.row_size for part in rows)
        self.scoring_bytes = sum(part.scoring_bytes for part in rows)
        self.scoring_cost = sum(part.scoring_cost * part.row_size for part in rows) / self.row_size

    @property
    def views(self) -> tuple[View, ...]:
        """The rows of every view and the range of their features."""
        return self._views

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the given rows, concatenating the views of each."""
        from seqmtl.features.row_loops import copy_part

        blocks = [view.rows.block(rows, dtype) for view in self.views]
        sizes = np.column_stack([np.diff(block.indptr) for block in blocks])
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        _, indices, values, *_ = empty_block(rows.size, self.row_size, dtype)
        for g, (view, block) in enumerate(zip(self.views, blocks, strict=True)):
            copy_part(block, view.columns.start, g, len(blocks), (indptr, indices, values))
        return RowBlock.of(indptr, indices, values)

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row over all views, shape (n_rows,)."""
        return np.sum([view.rows.squared_norms() for view in self.views], axis=0)

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of row i with ``W[:, columns[i]]``, for i in rows or all."""
        parts = [view.rows.scores(W[view.columns], columns, rows) for view in self.views]
        return np.sum(parts, axis=0)

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times row i to W, for i in rows."""
        for view in self.views:
            view.rows.accumulate(rows, amount, tasks, K, W[view.columns])


def parse_features(text: str | None) -> Any:
    """Return the map that a text describes, see :mod:`seqmtl.features.grammar`, or the default.

    Raises
    ------
    ValueError
        If the text is malformed.
    """
    if text is None:
        return PositionalKmers()
    maps = [part for one in text.split("+") for part in _parse_list(one)]
    return JointFeatures(maps) if len(maps) > 1 else maps[0]


def _parse_list(text: str) -> list[FeatureDefinition]:
    """Return the map of the positional views of a list, and that of the others, if any."""
    views = [view.strip() for view in text.split(",")]
    hashes = [view for view in views if view.startswith("hash:")]
    counts = [view for view in views if view.startswith(ANYWHERE)]
    positional = [view for view in views if view not in counts and view not in hashes]
    maps: list[FeatureDefinition] = []
    if positional or not counts:
        maps.append(PositionalKmers(",".join(positional + hashes)))
    if counts:
        maps.append(KmerCounts(",".join(counts + hashes)))
    return maps


_KINDS: dict[str, Any] = {
    kind.kind: kind for kind in (PositionalKmers, KmerCounts, Numeric, JointFeatures)
}


def features_from_dict(description: dict[str, Any]) -> Any:
    """Rebuild a feature map from the result of its ``to_dict``.

    Raises
    ------
    ValueError
        If the kind is unknown to this version.
    """
    check_choice("features", description["kind"], _KINDS)
    return _KINDS[description["kind"]].from_dict(description)
