"""Score every window of a contig on either strand, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice, check_integer
from seqmtl._threads import run_all
from seqmtl.exceptions import SeqmtlError
from seqmtl.features.kmer_loops import add_prefixes, load_codes
from seqmtl.features.kmer_views import table_levels
from seqmtl.scanning.scan_loops import (
    AHEAD,
    GROUP,
    add_rows,
    add_windows,
    count_mixed,
    finish_scores,
    index_rows,
    slide,
)
from seqmtl.scanning.score_tables import MAX_UNITS, PRECISION, ScoreTables, build_tables
from seqmtl.scanning.writers.lines import max_number
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import OTHER

_SUM_BITS = 60  # of sums in whole units
_SINGLE_COST = 6  # time of a window scored alone, in windows scored in a row


class Scanner:
    """Score windows at every position of a contig.

    The score of a window x of L letters is ``bias + sum_d sum_l w_d[l, code(x[l:l+d])]``. A d-mer
    with a letter other than A, C, G, T adds nothing.

    Parameters
    ----------
    position_weights : sequence of ndarray, shapes (L, 4), (L, 16), ..., (L, 4**D)
        ``w_d[l, c]`` is the weight of the d-mer with the base-4 number c (A, C, G, T = 0 to 3,
        first letter most significant) at position l.
    bias : float, default=0.0
        Added to every score.
    site_offset, site_length : int
        Position of the site in the window, in reading direction. Default: the base at L // 2.

    Attributes
    ----------
    length : int
        Window length L.
    max_error : float
        Bound on the error of a score from rounding the tables, in addition to that of float32.

    Raises
    ------
    ValueError
        If the weights have wrong shapes or are not finite, or the site is not in the window.
    SeqmtlError
        If scores may be too large for five decimals.
    MemoryLimitError
        If the tables do not fit into memory.

    Notes
    -----
    The weights of all degrees are folded into one table with a row of L numbers for every D-mer,
    which is added to the L scores that contain the D-mer's first letter. If few windows are
    selected, the numbers of each are summed separately. They are integers in a unit that keeps
    the error of a score below 1e-5 (see :mod:`seqmtl.scanning.score_tables`), so results are
    bitwise identical however a contig is split into chunks. The minus strand is scanned as the plus
    strand of the reverse complement, and reversed.
    """

    def __init__(
        self,
        position_weights: Sequence[NDArray[Any]],
        bias: float = 0.0,
        *,
        site_offset: int | None = None,
        site_length: int = 1,
    ) -> None:
        self.length = _check_weights(position_weights)
        self.bias = float(bias)
        self.site_offset = self.length // 2 if site_offset is None else int(site_offset)
        self.site_length = int(site_length)
        _check_site(self.site_offset, self.site_length, self.length)
        weights = position_weights[: self.length]
        self.tables: ScoreTables = build_tables(weights, 2 * PRECISION / self.length)
        self.max_error = self.tables.unit / 2 * self.length
        _check_size(self.tables.unit * MAX_UNITS + abs(self.bias))

    def count(self, codes: NDArray[np.uint8]) -> int:
        """Return the number of windows in a contig, 0 if it is shorter than a window."""
        return max(0, codes.size - self.length + 1)

    def scan_contig(
        self, codes: NDArray[np.uint8], strand: str = "+", chunk: int = 1 << 20
    ) -> NDArray[np.float32]:
        """Score all windows of a contig on one strand, on the threads of this context.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n,)
            Encoded contig, forward strand.
        strand : {"+", "-"}
            ``"-"`` scores the reverse complement of every window.
        chunk : int
            Windows that a thread scores at a time.

        Returns
        -------
        ndarray of float32, shape (max(0, n - L + 1),)
            Entry i is the window ``[i, i + L)`` of the forward strand, on either strand.
        """
        check_choice("strand", strand, ("+", "-"))
        check_integer("chunk", chunk, 1)
        scores = np.empty(self.count(codes), dtype=np.float32)

        def score(first: int) -> None:
            last = min(first + chunk, scores.size)
            scores[first:last] = self.score_range(codes, first, last, strand == "-")

        run_all(score, range(0, scores.size, chunk))
        return scores

    def score_range(
        self,
        codes: NDArray[np.uint8],
        first: int,
        last: int,
        is_reverse: bool,
        selected: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float32]:
        """Score the windows that start at first..last-1 of a contig on one strand.

        `selected` holds the starts of those whose scores are returned. Default: all.
        """
        if last <= first:
            return np.zeros(0, dtype=np.float32)
        piece = np.ascontiguousarray(codes[first : last + self.length - 1])
        starts = None if selected is None else selected - first
        return self._scores(piece, is_reverse, starts)

    def n_mixed(self, codes: NDArray[np.uint8], first: int, last: int) -> int:
        """Return how many windows that start at first..last-1 have letters other than ACGT."""
        piece = codes[first : max(first, last + self.length - 1)]
        has_others = last > first and bool(piece.max() >= OTHER)
        return int(count_mixed(piece, self.length)) if has_others else 0

    def _scores(
        self, piece: NDArray[np.uint8], is_reverse: bool, selected: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        """Score all windows of a piece of a contig, or those at the selected starts."""
        tables = self.tables
        n_scores = self.count(piece)
        n = -(-piece.size // GROUP) * GROUP
        rows = np.zeros(n + AHEAD + GROUP, dtype=np.int32)
        index_rows(piece, is_reverse, tables.degree, tables.first_row, rows)
        if selected is not None and _SINGLE_COST * selected.size < n_scores:
            starts = n_scores - 1 - selected if is_reverse else selected
            scores = np.empty(starts.size, dtype=np.float32)
            total = np.zeros(starts.size, dtype=np.int32)
            add_windows(tables.columns, tables.n_rows, rows, starts, total)
            finish_scores(total, self.bias, tables.unit, scores)
        else:
            scores = np.empty(n_scores, dtype=np.float32)
            total = np.zeros(n + tables.stride + GROUP, dtype=np.int32)
            add_rows(tables.rows, tables.stride, rows, n, total)
            finish_scores(total[self.length - 1 :], self.bias, tables.unit, scores)
            scores = scores[::-1] if is_reverse else scores
            scores = scores if selected is None else scores[selected]
        return scores


class WindowScanner(Scanner):
    """Scores each window from its features, for k-mers whose tables would not fit into memory.

    Parameters
    ----------
    score : callable
        Scores :class:`~seqmtl.sequences.Windows`.
    length : int
        Window length.
    site_offset, site_length : int
        See :class:`Scanner`.
    """

    max_error = 0.0

    def __init__(
        self,
        score: Callable[[Windows], NDArray[np.float64]],
        length: int,
        *,
        site_offset: int,
        site_length: int,
    ) -> None:
        self._score = score
        self.length = length
        self.site_offset, self.site_length = site_offset, site_length
        _check_site(site_offset, site_length, length)

    def _scores(
        self, piece: NDArray[np.uint8], is_reverse: bool, selected: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        starts = np.arange(self.count(piece)) if selected is None else selected
        windows = Windows(piece, starts, self.length, is_reverse=np.full(starts.size, is_reverse))
        scores = self._score(windows)
        _check_size(float(np.abs(scores).max(initial=0.0)))
        return scores.astype(np.float32)


class SlidingScanner(Scanner):
    """Scores windows by k-mers anywhere, in time that their length does not change.

    Parameters
    ----------
    weights : sequence of ndarray, shapes (4,), (16,), ..., (4**S,)
        Weights of the stretches of each length at any base, as in windows of letters A, C, G, T.
    bias : float
        Added to every score.
    length : int
        Window length.
    site_offset, site_length : int
        See :class:`Scanner`.
    others : Scanner, optional
        Adds the scores of features that have positions.

    Notes
    -----
    A base adds the weights of the stretches that begin there. Those of the last S - 1 bases of a
    window end with it: their sum is a second table. In windows with other letters, the sum is
    multiplied by root(length / letters), see :class:`~seqmtl.features.kmer_counts.KmerCounts`. Sums
    are of integers, and thus the same from any base on.
    """

    def __init__(
        self,
        weights: Sequence[NDArray[Any]],
        bias: float,
        length: int,
        *,
        site_offset: int,
        site_length: int,
        others: Scanner | None = None,
    ) -> None:
        self.bias, self.length = bias, length
        self.site_offset, self.site_length, self.others = site_offset, site_length, others
        _check_site(site_offset, site_length, length)
        table = np.concatenate(weights)[np.newaxis]
        self._starts = table_levels(len(weights))[0]
        add_prefixes(table, self._starts)
        largest = float(np.abs(table).max()) * length
        self._unit = float(2.0 ** np.ceil(np.log2(largest or 1.0) - _SUM_BITS))
        self._table = np.rint(table[0] / self._unit).astype(np.int64)
        self._tails = np.zeros(1, dtype=np.int64)
        for start in self._starts[:-1]:
            n = 4 * self._tails.size
            self._tails = self._table[start : start + n] + np.tile(self._tails, 4)
        self.max_error = self._unit * length + (0.0 if others is None else others.max_error)

    def _scores(
        self, piece: NDArray[np.uint8], is_reverse: bool, selected: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        scores = np.empty(self.count(piece))
        code, clean = np.empty((2, piece.size), dtype=np.int64)
        load_codes(piece, 0, is_reverse, piece.size, self._starts.size, code, clean)
        slide(code, clean, self.length, self._starts, self._table, self._tails, scores)
        scores *= self._unit
        scores += self.bias
        scores = scores[::-1] if is_reverse else scores
        scores = scores if selected is None else scores[selected]
        if self.others is not None:
            scores += self.others._scores(piece, is_reverse, selected)
        _check_size(float(np.abs(scores).max(initial=0.0)))
        return scores.astype(np.float32)


def _check_size(score: float) -> None:
    """Check that a score can be written with its decimals."""
    if not score < max_number():
        raise SeqmtlError(
            f"scores must be of a size below {max_number():g}, but those of this model may be "
            f"{score:g}: its weights are too large; train it with a smaller -C, or look for what "
            "went wrong in its training"
        )


def _check_site(offset: int, n_bases: int, length: int) -> None:
    if not 0 <= offset < offset + n_bases <= length:
        raise ValueError(
            f"the site must lie in the window of {length} bases, got offset {offset} and length "
            f"{n_bases}"
        )


def _check_weights(weights: Sequence[NDArray[Any]]) -> int:
    if len(weights) == 0:
        raise ValueError("position_weights must hold at least the weights of degree 1")
    L = weights[0].shape[0]
    for d, w in enumerate(weights, start=1):
        if w.shape != (L, 4**d):
            shape = (L, 4**d)
            raise ValueError(f"position_weights[{d - 1}] must have shape {shape}, got {w.shape}")
        if not all(np.isfinite(row).all() for row in w):
            raise ValueError(f"position_weights[{d - 1}] must be finite; train the model again")
    if L < 1:
        raise ValueError(f"position_weights must be those of a window, got {L} positions")
    return L
