"""Base class of the feature maps: scikit-learn parameters, memory checks."""

from __future__ import annotations

import inspect
import itertools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._schema import Rule
from seqmtl._threads import ahead, run_all
from seqmtl.core.rows import RowBlock, Rows, blocks_of
from seqmtl.exceptions import SeqmtlError
from seqmtl.sequences import Windows

_FREQUENT = 0.05  # share of rows above which a dense product is faster than lists of rows
_DENSE = 1 << 24  # numbers in a dense matrix at most
_MIRRORED = 1024  # rows of a kernel matrix at a time; a plain choice
_ENTRY_BYTES = 32.0  # of a value in a kernel matrix, beside the value: its index, and sorting these
#: What to do where features do not fit into memory.
REMEDY = "choose other features (--features): shorter k-mers, fewer gaps or bits of hash"


class FeatureDefinition:
    """A feature map; behaves like a scikit-learn transformer without importing scikit-learn.

    Attributes
    ----------
    kind : {"positional_kmers", "kmer_counts", "numeric", "joint"}
        Name of the kind of map in model files.
    rules : dict of str to Rule
        What model files must say of a map, beside its kind: the keys of :meth:`to_dict`.
    is_position_free : bool
        Whether no feature of a window depends on where it is, so that windows may differ in length.
    """

    kind: ClassVar[str]
    rules: ClassVar[dict[str, Rule]] = {}
    is_position_free: ClassVar[bool] = False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> FeatureDefinition:
        """Set constructor parameters.

        Raises
        ------
        ValueError
            If a name is not a parameter.
        """
        current = self.get_params()
        for name, value in params.items():
            if name not in current:
                raise ValueError(
                    f"parameter of {type(self).__name__} must be one of {sorted(current)}, "
                    f"got {name!r}"
                )
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any = None) -> FeatureDefinition:
        """Do nothing; parameters and window length define the map."""
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Transform X."""
        return self.transform(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags, TransformerTags  # called by scikit-learn only

        return Tags(None, TargetTags(required=False), TransformerTags())

    def transform(self, X: Any) -> Any:
        """Return the features as a SciPy CSR matrix of shape (n, n_features), float32.

        For export and tests; the solvers never form this matrix.

        Parameters
        ----------
        X : Windows or list of str
            Windows; texts may differ in length if the features are position-free.
        """
        from scipy.sparse import vstack

        windows = X
        if not isinstance(X, Windows):
            windows = Windows.from_strings(list(X), pad=self.is_position_free)
        rows = self.bind(windows)
        all_rows = np.arange(rows.n_rows)
        parts = [sparse_rows(rows, p, np.float32) for p in blocks_of(all_rows, rows.row_size)]
        joined = vstack(parts or [sparse_rows(rows, all_rows, np.float32)], format="csr")
        joined.sum_duplicates()
        return joined

    def anchored(self, offset: int, n_tasks: int) -> FeatureDefinition:
        """Return the map for training: anchored at the site, its memory shared by the tasks.

        The first base of the site is `offset` (0-based). A map with an anchor keeps it.
        """
        params = self.get_params()
        if "anchor" in params and params["anchor"] is None:
            params["anchor"] = offset
        if "max_memory" in params:
            params["max_memory"] /= n_tasks
        return type(self)(**params)

    def n_features(self, length: int) -> int:
        """Return the number of features of examples of `length` bases or numbers."""
        raise NotImplementedError

    def feature_names(self, length: int) -> NDArray[np.str_]:
        """Return what every feature counts, for examples of `length` bases or numbers.

        Returns
        -------
        ndarray of str, shape (n_features,)
            ``ACG@-2`` is a k-mer whose first base is at -2 from the anchor, that of the site if
            there is one, and ``ACG@-4..0`` one in a bin of positions, 0-based half-open. ``ACG`` is
            anywhere, and so is ``A.C``, with a gap. ``x0`` is a number. Names of joint maps begin
            with the number of the map: ``1:ACG``.

        Raises
        ------
        SeqmtlError
            If features are hashed: several k-mers share one.
        MemoryLimitError
            If the names do not fit into memory.
        """
        raise NotImplementedError

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the map as JSON values (model files)."""
        return {"kind": self.kind}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> FeatureDefinition:
        """Rebuild the map from :meth:`to_dict`."""
        return cls()

    def position_weights(
        self, w: NDArray[Any], length: int, first: int = 0, last: int | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the contribution of every k-mer to <w, phi(x)> at every position.

        See :meth:`PositionalKmers.position_weights`.

        Raises
        ------
        SeqmtlError
            If the inputs are not DNA windows.
        """
        raise SeqmtlError(f"the model must be one of windows of DNA, this has {self}")

    @property
    def is_stranded(self) -> bool:
        """Whether a window and its reverse complement may have other features."""
        return True

    def flat_views(self) -> list[FeatureDefinition]:
        """Return the views, each of which may have its own task kernel."""
        return [self]

    def view_columns(self, length: int) -> list[slice]:
        """Return the columns of every map of :meth:`flat_views`."""
        ends = [0, *itertools.accumulate(m.n_features(length) for m in self.flat_views())]
        return [slice(*pair) for pair in itertools.pairwise(ends)]

    def span(self, length: int) -> int:
        """Return the length of the longest k-mers.

        Raises
        ------
        SeqmtlError
            If the inputs are not DNA windows.
        """
        raise SeqmtlError(f"the model must be one of windows of DNA, this has {self}")

    def bind(self, data: Any) -> Rows:
        """Bind the map to examples."""
        raise NotImplementedError

    def check_windows(self, data: Any) -> None:
        """Raise TypeError for examples that are not windows of DNA."""
        if not isinstance(data, Windows):
            raise TypeError(
                f"{type(self).__name__} needs Windows of DNA, got {type(data).__name__}; "
                "read them with read_windows or Windows.from_strings"
            )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = {k: v for k, v in self.get_params().items() if v != defaults[k].default}
        arguments = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        return f"{type(self).__name__}({arguments})"


def empty_block(n_rows: int, row_size: int, dtype: Any) -> RowBlock:
    """Return arrays for n_rows rows of at most row_size values."""
    size = max(n_rows * row_size, 1)
    indptr = np.empty(n_rows + 1, np.int64)
    indices = np.empty(size, np.int32)
    return RowBlock.of(indptr, indices, np.empty(size, dtype=dtype))


def score_by_blocks(
    rows: Rows, chosen: NDArray[np.int64], W: NDArray[Any], columns: NDArray[Any]
) -> NDArray[np.float64]:
    """Score the chosen rows from their features; entries of other rows stay 0."""
    from seqmtl.features.row_loops import score_block

    scores = np.zeros(rows.n_rows)
    columns = np.ascontiguousarray(columns, dtype=np.int64)
    W = np.ascontiguousarray(W)

    def score(part: NDArray[np.int64]) -> None:
        score_block(rows.block(part, W.dtype), part, W, columns, scores)

    run_all(score, blocks_of(chosen, rows.row_size))
    return scores


def add_by_blocks(
    rows: Rows,
    chosen: NDArray[np.int64],
    amount: NDArray[np.float64],
    tasks: NDArray[Any],
    K: NDArray[np.float64],
    W: NDArray[Any],
) -> None:
    """Add ``amount[i] K[tasks[i], :]`` times row i to W, for i in chosen."""
    from seqmtl.features.row_loops import add_rows

    def compute(part: NDArray[np.int64]) -> RowBlock:
        return rows.block(part, W.dtype)

    parts = blocks_of(chosen, rows.row_size)
    for part, block in zip(parts, ahead(compute, parts), strict=True):
        add_rows(block, tasks[part], amount[part], K, W)


def gram_by_features(
    rows: Rows, chosen: NDArray[np.int64], dtype: Any, *, has_repeats: bool = False
) -> NDArray[Any]:
    """Return the kernel matrix of the chosen rows, shape (m, m).

    Frequent features are multiplied as a dense matrix. For each rare feature, all pairs of the
    rows that have it are visited. Repeated features of a row are summed before, in the order of
    their indices: rows with the same features have the same bits.
    """
    from seqmtl.features.row_loops import copy_frequent, gram_lower

    n_values = float(chosen.size * rows.row_size)
    what = f"the kernel matrix of {chosen.size} windows with up to {rows.row_size:,} k-mers each"
    require_memory((_ENTRY_BYTES + np.dtype(dtype).itemsize) * n_values, what, REMEDY)
    if has_repeats:
        X = sparse_rows(rows, chosen, dtype)
        X.sum_duplicates()
        block = RowBlock.of(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    else:
        block = rows.block(chosen, dtype)
    n_entries = int(block.indptr[-1])
    if rows.n_features > n_entries:
        indices = np.unique(block.indices[:n_entries], return_inverse=True)[1].reshape(-1)
        block = block._replace(indices=indices.astype(np.int32))
    columns = np.bincount(block.indices[:n_entries])
    frequent = np.flatnonzero(columns > _FREQUENT * chosen.size)
    columns[frequent] = 0
    n_listed = int(columns.sum())
    columns = np.cumsum(columns) - columns
    columns[frequent] = -1 - np.arange(frequent.size)
    out = np.zeros((chosen.size, chosen.size), dtype=dtype)
    lists = (np.empty(n_listed, dtype=np.int32), np.empty(n_listed, dtype=dtype))
    gram_lower(block, columns, columns.copy(), *lists, out)
    n_columns = max(_DENSE // max(chosen.size, 1), 1)
    for first in range(0, frequent.size, n_columns):
        dense = np.zeros((chosen.size, min(n_columns, frequent.size - first)), dtype=dtype)
        copy_frequent(block, columns, first, dense)
        out += dense @ dense.T
    return mirror(out)


def mirror(G: NDArray[Any]) -> NDArray[Any]:
    """Copy the lower triangle of a matrix to the upper one, with little more memory; return it."""
    for first in range(0, len(G), _MIRRORED):
        rows = slice(first, first + _MIRRORED)
        square = np.tril(G[rows, rows])
        G[rows, rows] = square + np.tril(square, -1).T
        G[rows, rows.stop :] = G[rows.stop :, rows].T
    return G


def gram_matrix(rows: Rows, chosen: NDArray[np.int64], dtype: Any = np.float64) -> NDArray[Any]:
    """Return the kernel matrix of the chosen rows, shape (m, m)."""
    G = rows.gram(chosen, dtype)
    if G is not None:
        return G
    X = sparse_rows(rows, chosen, np.float64)
    return mirror((X @ X.T).toarray()).astype(dtype, copy=False)


def sparse_rows(rows: Rows, chosen: NDArray[np.int64], dtype: Any) -> Any:
    """Return the features of the chosen rows as a CSR matrix, shape (m, n_features)."""
    from scipy.sparse import csr_matrix

    indptr, indices, values, *_ = rows.block(chosen, dtype)
    size = indptr[-1]
    indptr = indptr[:: len(rows.views)]
    return csr_matrix((values[:size], indices[:size], indptr), (chosen.size, rows.n_features))
