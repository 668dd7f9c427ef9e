"""K-mers of a window wherever they are: spectra and gapped k-mers, of one strand or of both.

A feature is a k-mer of a *pattern*, which says which letters of a stretch are read. A spectrum has
one pattern for each k, and gapped k-mers one for each way to place k letters in a stretch, its ends
included. As code of a k-mer, A, C, G, T are the digits 0 to 3 of a base-4 number, the first letter
most significant. Its index is the code plus the number of k-mers of the patterns before.

The reverse complement of ACC is GGT. On both strands they are one feature, that of ACC, as its code
1 * 4 + 1 = 5 is smaller than 2 * 16 + 2 * 4 + 3 = 43:

>>> KmerCounts("spectrum:3").transform(["ACC", "GGT"]).indices.tolist()
[5, 5]

**Tables.** The letters of a stretch determine its k-mers of all patterns, on both strands. So the
sum of their weights is one number for each stretch of S letters, where S is the largest extent, and
one for each shorter stretch, for the end of a window: a table as that of a position of
:mod:`seqmtl.features.table_rows`, here of all positions. A window reads one number per base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._schema import whole, word
from seqmtl._threads import each_part, n_threads
from seqmtl.core.rows import RowBlock, blocks_of
from seqmtl.features._base import FeatureDefinition, empty_block, gram_by_features
from seqmtl.features.grammar import ANYWHERE_VIEWS
from seqmtl.features.kmer_views import (
    KmerView,
    check_names,
    format_view,
    format_views,
    kmer_names,
    parse_views,
    requested_bits,
    rounded_text,
    split_hash,
    table_levels,
)
from seqmtl.features.table_rows import TableRows, count_other
from seqmtl.sequences import Windows

_HASH_BITS = 22  # as of positional k-mers
_LENGTH = 400  # bases that weights are set for; 100 or 1,000 change mean AUROC by .002
_ONE_STRAND, _OWN_MIRROR, _BOTH_STRANDS = range(3)


class Patterns(NamedTuple):
    """The n patterns of all views.

    Attributes
    ----------
    extent, offset : ndarray of int64, shape (n,)
        Bases that a k-mer spans; exact index of the first k-mer.
    strands : ndarray of int64, shape (n,)
        0: k-mers of one strand; 1: of both, the pattern is its own mirror image; 2: of both, for
        this pattern and its mirror image.
    value : ndarray of float64, shape (n,)
        What a k-mer adds to its feature in a window of one letter, the root of its weight.
    shifts, masks : ndarray of int64, shape (n, most runs)
        How far the letters of each run without a gap move right, and where they arrive, in bits.
    """

    extent: NDArray[np.int64]
    offset: NDArray[np.int64]
    strands: NDArray[np.int64]
    value: NDArray[np.float64]
    shifts: NDArray[np.int64]
    masks: NDArray[np.int64]


def lay_out_patterns(views: Sequence[KmerView]) -> tuple[Patterns, int]:
    """Return the patterns of views, and the number of their k-mers."""
    rows, runs, offset = [], [], 0
    for view in views:
        view.check()
        if not view.is_anywhere:
            raise ValueError(
                f"views must be of k-mers anywhere, such as spectrum:1-6, got {format_view(view)}"
            )
        n_patterns = len(view.patterns())
        for letters in _distinct_patterns(view):
            extent, k = letters[-1] + 1, len(letters)
            strands = _ONE_STRAND
            if not view.is_stranded:
                strands = _OWN_MIRROR if _mirror_of(letters) == letters else _BOTH_STRANDS
            square = 1.0 + (_LENGTH - 1.0) / 4.0**k  # of counts n, the expected sum of n**2 / L
            value = (view.weight / n_patterns / square) ** 0.5
            rows.append((extent, offset, strands, value))
            # letter j of the k-mer, at base letters[j]; in a run both rise by 1
            moves: dict[int, int] = {}
            for j, letter in enumerate(letters):
                shift = 2 * (extent - 1 - letter) - 2 * (k - 1 - j)
                moves[shift] = moves.get(shift, 0) | 3 << 2 * (k - 1 - j)
            runs.append(moves)
            offset += 4**k
    shape = len(runs), max(map(len, runs))
    shifts, masks = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for p, moves in enumerate(runs):
        shifts[p, : len(moves)], masks[p, : len(moves)] = [*moves], [*moves.values()]
    extents, first, strands_of, values = map(np.array, zip(*rows, strict=True))
    return Patterns(extents, first, strands_of, values, shifts, masks), offset


def _distinct_patterns(view: KmerView) -> list[tuple[int, ...]]:
    """Return the patterns of a view; on both strands one stands for its mirror image, too."""
    patterns = view.patterns()
    if view.is_stranded:
        return patterns
    return [letters for letters in patterns if letters <= _mirror_of(letters)]


def _mirror_of(letters: tuple[int, ...]) -> tuple[int, ...]:
    """Return the letters that the reverse complement of a pattern reads."""
    return tuple(letters[-1] - letter for letter in reversed(letters))


def scale_of(windows: Windows) -> NDArray[np.float64]:
    """Return 1 / root(n) of every window with n of the letters A, C, G, T, shape (n_windows,)."""
    n_letters = windows.length - count_other(windows)
    return np.asarray(np.maximum(n_letters, 1) ** -0.5, dtype=np.float64)


@dataclass(eq=False, repr=False)
class KmerCounts(FeatureDefinition):
    """Counts of the k-mers of DNA windows, wherever they are; windows may differ in length.

    Parameters
    ----------
    views : str or sequence of KmerView, default="spectrum:1-6=0.4,gapped:9/7=0.6"
        As text, a list with commas between ``spectrum:K1-K2``, the k-mers of K1 to K2 letters, and
        ``gapped:L/K``, K letters in at most L bases. ``:stranded`` behind them tells a k-mer from
        its reverse complement, and ``=W`` is a weight.
    hash_bits : int, optional
        Hash into 2**hash_bits features, 1 to 30; or give ``hash:18`` among the views. Default:
        exact indices if there are no more than 2**22, else 22 bits.

    Notes
    -----
    With the counts n_u(x) of all k-mers u of P patterns of a view with the weight omega, and n(x)
    letters A, C, G, T in a window,

        phi_u(x) = root(omega / (P e_k)) n_u(x) / root(n(x)),   e_k = 1 + 399 / 4**k

    where e_k is the expected square of a pattern in 400 random letters. In windows of one
    length, the score is thus a sum over positions; in others, that sum divided by root(n(x)). A
    k-mer with a letter other than A, C, G, T, also in a gap, is not counted.
    With hashed indices, k-mers that share an index share a weight.

    References
    ----------
    Leslie, Eskin, Noble (2002), spectra; Ghandi et al. (2014), gapped k-mers; Sonnenburg, Franc
    (2010), features on demand.

    Examples
    --------
    >>> from seqmtl import KmerCounts
    >>> KmerCounts("spectrum:2").transform(["ACGT", "ACGTACGT"]).shape
    (2, 16)
    """

    kind = "kmer_counts"
    rules: ClassVar = {"views": word, "hash_bits": whole(0, 30)}
    is_position_free = True
    views: str | Sequence[KmerView] = ANYWHERE_VIEWS
    hash_bits: int | None = None

    def kmer_views(self) -> tuple[KmerView, ...]:
        """Return the views."""
        if not isinstance(self.views, str):
            return tuple(self.views)
        return parse_views(split_hash(self.views)[0] or ANYWHERE_VIEWS)

    def __str__(self) -> str:
        return rounded_text(self.kmer_views(), requested_bits(self.views, self.hash_bits))

    def _layout(self) -> tuple[Patterns, int, int]:
        """Return the patterns, the number of features, and the bits of the hash or 0."""
        patterns, n_exact = lay_out_patterns(self.kmer_views())
        bits = requested_bits(self.views, self.hash_bits)
        if bits is None:
            bits = 0 if n_exact <= 1 << _HASH_BITS else _HASH_BITS
        if bits:
            patterns = patterns._replace(offset=np.zeros_like(patterns.offset))
        return patterns, 1 << bits if bits else n_exact, bits

    def bind(self, data: Windows) -> CountRows:
        """Bind the map to windows.

        Raises
        ------
        ValueError
            If a view is out of range.
        TypeError
            If `data` is not a :class:`~seqmtl.sequences.Windows`.
        """
        self.check_windows(data)
        return CountRows(*self._layout(), data)

    @property
    def is_stranded(self) -> bool:
        """Whether a window and its reverse complement may have other features."""
        return any(view.is_stranded for view in self.kmer_views())

    def n_features(self, length: int = 0) -> int:
        """Return the number of features; the length of the windows does not matter."""
        return self._layout()[1]

    def feature_names(self, length: int = 0) -> NDArray[np.str_]:
        """Return the k-mer of every feature, see :class:`FeatureDefinition`."""
        _, n_features, bits = self._layout()
        check_names(n_features, self.span(), bits > 0)
        views = self.kmer_views()
        patterns = (letters for view in views for letters in _distinct_patterns(view))
        return np.concatenate([*map(kmer_names, patterns)])

    def span(self, length: int = 0) -> int:
        """Return the most bases that a k-mer spans."""
        return max(view.k_max + view.gaps for view in self.kmer_views())

    def position_weights(
        self, w: NDArray[Any], length: int, first: int = 0, last: int | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the contribution of every stretch to <w, phi(x)>, the same at all positions.

        See :meth:`PositionalKmers.position_weights`; the arrays are read-only.
        """
        from seqmtl.features.kmer_loops import fold_patterns

        patterns, _, bits = self._layout()
        span, n = self.span(), (length if last is None else last) - first
        starts, width = table_levels(span)
        require_memory(8.0 * width, f"the weights of all {span}-mers", "train with shorter k-mers")
        table = np.zeros(width)
        fold_patterns(np.array(w), patterns, bits, starts, table, False)
        table *= length**-0.5
        levels = np.split(table, starts[1:])
        return [np.broadcast_to(level, (n, level.size)) for level in levels]

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the map as JSON values (model files)."""
        views = format_views(self.kmer_views())
        return {"kind": self.kind, "views": views, "hash_bits": self._layout()[2]}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> KmerCounts:
        """Rebuild the map from :meth:`to_dict`."""
        features = cls(description["views"], description["hash_bits"] or None)
        features.kmer_views()
        return features


class CountRows(TableRows):
    """K-mer counts of given windows; see :class:`seqmtl.core.rows.Rows`."""

    def __init__(
        self, patterns: Patterns, n_features: int, hash_bits: int, windows: Windows
    ) -> None:
        n_lists = np.where(patterns.strands == _BOTH_STRANDS, 2, 1)
        n_kmers = n_lists * np.maximum(windows.length - patterns.extent + 1, 0)
        row_size = max(int(n_kmers.sum()), 1)
        super().__init__(windows, row_size, int(patterns.extent.max()), hash_bits)
        self.patterns, self.n_features = patterns, n_features
        self._scale = scale_of(windows)
        self._work = float((n_lists * 4.0**patterns.extent).sum())
        self.scoring_bytes = 8.0 * n_features * n_threads()
        self.scoring_cost = 0.05 if self.score_faster(self.n_rows) else 0.5

    def _ranges(self, dtype: Any) -> list[tuple[int, int]]:
        return [(0, self.windows.length)]

    def _tables(self, ends: tuple[int, int], dtype: Any) -> NDArray[Any]:
        return np.zeros((1, self._width))  # one for all positions, in double precision

    def _fold(
        self, W: NDArray[Any], column: int, ends: tuple[int, int], table: NDArray[Any]
    ) -> None:
        from seqmtl.features.kmer_loops import fold_patterns

        w = W[:, column].copy()
        fold_patterns(w, self.patterns, self.hash_bits, self._starts, table[0], False)

    def _unfold(
        self,
        table: NDArray[np.float64],
        coupling: NDArray[np.float64],
        ends: tuple[int, int],
        W: NDArray[Any],
    ) -> None:
        from seqmtl.features.kmer_loops import fold_patterns

        total = np.zeros(self.n_features)
        fold_patterns(total, self.patterns, self.hash_bits, self._starts, table[0], True)
        for column, factor in enumerate(coupling):
            W[:, column] += factor * total

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the features of the given windows."""
        from seqmtl.features.kmer_loops import list_patterns

        block = empty_block(rows.size, self.row_size, dtype)
        of_windows = (*self._where, rows, self.span)
        list_patterns(*of_windows, self.patterns, self.hash_bits, self._scale, block)
        return block

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, shape (n_rows,)."""
        from seqmtl.features.row_loops import square_rows

        norms = np.zeros(self.n_rows)

        def compute(rows: NDArray[np.int64]) -> None:
            total = np.zeros(self.n_features)
            for part in blocks_of(rows, self.row_size):
                square_rows(self.block(part, np.float32), part, total, norms)

        each_part(compute, np.arange(self.n_rows))
        return norms

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Return the kernel matrix of the given windows, shape (m, m)."""
        return gram_by_features(self, rows, dtype, has_repeats=True)
