"""Score every window of a contig on either strand, in bounded memory and on several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from seqmtl.scan._scan_kernels import (
    AHEAD,
    GROUP,
    STEP,
    add_rows,
    finish_mixed_scores,
    finish_scores,
    index_rows,
    shift_left,
)
from seqmtl.scan.tables import PRECISION, ScoreTables, build_tables
from seqmtl.sequences import Windows, reverse_complement
from seqmtl.sequences.alphabet import OTHER

_WINDOWS_AT_A_TIME = 16_384

Job = TypeVar("Job")
Result = TypeVar("Result")


class RangeScores(NamedTuple):
    """Scores of a range of windows, and how many of them hold a letter other than A, C, G, T."""

    scores: NDArray[np.float32]
    n_mixed: int


class Scanner:
    """Score windows at every position of a contig.

    The score of a window x of L letters is ``bias + (1/norm) sum_d sum_l w_d[l, code(x[l:l+d])]``.
    A d-mer that covers a letter other than A, C, G, T adds nothing, and is missing in the norm.

    Parameters
    ----------
    position_weights : sequence of ndarray, shapes (L, 4), (L, 16), ..., (L, 4**D), optional
        ``w_d[l, c]`` is the weight of the d-mer with the base-4 number c (A, C, G, T = 0 to 3,
        first letter most significant) at position l, already times sqrt(beta_d).
    bias : float, default=0.0
        Added to every score.
    beta : sequence of float, shape (D,), optional
        Given if windows are normalised: norm**2 is the sum of beta_d over the d-mers of the
        window that hold only A, C, G, T. Default: norm = 1.
    score_windows : callable, optional
        In place of `position_weights`: takes :class:`~seqmtl.sequences.Windows` and returns their
        scores, bias and norm included. Far slower; for features that cannot be folded.
    length : int, optional
        Window length L; needed with `score_windows`.
    site_offset, site_length : int
        Place of the site in the window, in reading direction. Default: the base at L // 2.
    n_threads : int, default=1
        Chunks scored at the same time. Results do not depend on it.

    Attributes
    ----------
    length : int
        Window length L.
    max_error : float
        Bound on the error of a score by the rounding of the tables, beside that of float32.

    Raises
    ------
    ValueError
        If the weights have other shapes or are not finite, or the site is not in the window.
    MemoryLimitError
        If the tables do not fit.

    Notes
    -----
    The weights of all degrees are folded into one table with a row of L numbers for every D-mer,
    which is added to the L scores that contain the D-mer's first letter. The numbers are integers
    in a unit that keeps the error of a score below 8e-5 (see :mod:`seqmtl.scan.tables`), so
    results are the same to the last bit however a contig is cut into chunks. The minus strand is
    the plus strand of the reverse complement, turned round.
    """

    def __init__(
        self,
        position_weights: Sequence[NDArray[Any]] | None = None,
        bias: float = 0.0,
        *,
        beta: Sequence[float] | NDArray[Any] | None = None,
        score_windows: Callable[[Windows], NDArray[Any]] | None = None,
        length: int | None = None,
        site_offset: int | None = None,
        site_length: int = 1,
        n_threads: int = 1,
    ) -> None:
        if (position_weights is None) == (score_windows is None):
            raise ValueError("a scanner needs either position_weights or score_windows")
        self.bias = float(bias)
        self.n_threads = int(n_threads)
        self.score_windows = score_windows
        self.max_error = 0.0
        if position_weights is not None:
            self.length = _check_weights(position_weights, length)
            self._prepare(position_weights[: self.length], beta)
        elif length is None or length < 1:
            raise ValueError(f"length must be given with score_windows, got {length}")
        else:
            self.length = int(length)
        self.site_offset = self.length // 2 if site_offset is None else int(site_offset)
        self.site_length = int(site_length)
        if not 0 <= self.site_offset < self.site_offset + self.site_length <= self.length:
            raise ValueError(
                f"the site must lie in the window of {self.length} bases, got offset "
                f"{self.site_offset} and length {self.site_length}"
            )
        if self.n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, got {n_threads}")

    def _prepare(
        self,
        weights: Sequence[NDArray[Any]],
        beta: Sequence[float] | NDArray[Any] | None,
    ) -> None:
        """Build the tables, with a unit by which no window can be wrong by PRECISION."""
        L, D = self.length, len(weights)
        self._beta = np.zeros(0)
        squared_norm, per_unit = 1.0, float(L)
        if beta is not None:
            self._beta = np.asarray(beta, dtype=np.float64)[:D].copy()
            if self._beta.shape != (D,) or not (np.all(self._beta >= 0) and self._beta.sum() > 0):
                raise ValueError(f"beta must be {D} numbers >= 0, one per degree, got {beta}")
            squared_norm = 0.0
            for d in range(D):  # in the order in which the kernel adds
                squared_norm += float(self._beta[d]) * (L - d)
            # n positions add at most n half units, and at least n least_beta to the squared norm
            least_beta = self._beta[self._beta > 0][0]
            per_unit = float(np.sqrt(L / least_beta))
        self.tables: ScoreTables = build_tables(weights, 2 * PRECISION / per_unit)
        self._factor = self.tables.unit / float(np.sqrt(squared_norm))
        self.max_error = self.tables.unit / 2 * per_unit

    def count(self, codes: NDArray[np.uint8]) -> int:
        """Return the number of windows that lie in a contig, 0 if it is shorter than a window."""
        return max(0, codes.size - self.length + 1)

    def scan_contig(self, codes: NDArray[np.uint8], strand: str = "+") -> NDArray[np.float32]:
        """Score all windows of a contig on one strand.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n,)
            Encoded contig, forward strand.
        strand : {"+", "-"}
            ``"-"``: the reverse complement of every window is scored.

        Returns
        -------
        ndarray of float32, shape (max(0, n - L + 1),)
            Entry i belongs to the window ``[i, i + L)`` of the forward strand, on either strand.
        """
        scores = np.empty(self.count(codes), dtype=np.float32)
        for first, part in self.scan_chunks(codes, strand):
            scores[first : first + part.size] = part
        return scores

    def scan_chunks(
        self, codes: NDArray[np.uint8], strand: str = "+", chunk: int = 1 << 20
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Score a contig piece by piece, in order.

        Yields
        ------
        first : int
            0-based start of the first window of the piece.
        scores : ndarray of float32, shape (at most `chunk`,)
            Scores of the windows that start at ``first``, ``first + 1``, ...
        """
        is_reverse = is_minus(strand)
        if chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {chunk}")
        n = self.count(codes)
        firsts = range(0, n, chunk)

        def score(first: int) -> NDArray[np.float32]:
            return self.score_range(codes, first, min(first + chunk, n), is_reverse).scores

        yield from zip(firsts, self.run(score, firsts), strict=True)

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Do the jobs on n_threads threads and yield the results in order, a few ahead at most."""
        if self.n_threads == 1:
            yield from map(work, jobs)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            queue = iter(jobs)
            pending = deque(pool.submit(work, job) for job in islice(queue, self.n_threads + 1))
            try:
                while pending:
                    result = pending.popleft().result()
                    pending.extend(pool.submit(work, job) for job in islice(queue, 1))
                    yield result
            finally:
                for future in pending:
                    future.cancel()

    def score_range(
        self, codes: NDArray[np.uint8], first: int, last: int, is_reverse: bool
    ) -> RangeScores:
        """Score the windows that start at first..last-1 of a contig on one strand."""
        if last <= first:
            return RangeScores(np.zeros(0, dtype=np.float32), 0)
        if self.score_windows is not None:
            starts = np.arange(first, last, dtype=np.int64)
            n_mixed = self.count_mixed(codes, starts)
            return RangeScores(self.score_starts(codes, starts, is_reverse), n_mixed)
        piece = codes[first : last + self.length - 1]
        if is_reverse:
            piece = reverse_complement(piece)
        scores, n_mixed = self._score_forward(np.ascontiguousarray(piece), last - first)
        return RangeScores(scores[::-1] if is_reverse else scores, n_mixed)

    def _score_forward(
        self, codes: NDArray[np.uint8], n_scores: int
    ) -> tuple[NDArray[np.float32], int]:
        tables, n = self.tables, -(-codes.size // GROUP) * GROUP
        clean = np.empty(codes.size, dtype=np.uint8)
        rows = np.zeros(n + AHEAD, dtype=np.int32)
        coarse_rows = np.zeros(n + AHEAD if tables.coarse_degree else 0, dtype=np.int32)
        index_rows(
            codes, tables.degree, tables.coarse_degree, tables.first_row, rows, coarse_rows, clean
        )
        total = np.zeros(n + self.length + GROUP + STEP, dtype=np.int32)
        if tables.coarse_degree:
            add_rows(tables.coarse, tables.stride, self.length, coarse_rows, n, total)
            shift_left(total, tables.shift)
        add_rows(tables.fine, tables.stride, self.length, rows, n, total)
        total = total[self.length - 1 :]
        scores = np.empty(n_scores, dtype=np.float32)
        if codes.max(initial=0) < OTHER:
            finish_scores(total, self.bias, self._factor, scores)
            return scores, 0
        n_mixed = finish_mixed_scores(
            total, codes, clean, self.length, self._beta, self.bias, tables.unit, scores
        )
        return scores, int(n_mixed)

    def score_starts(
        self, codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: bool
    ) -> NDArray[np.float32]:
        """Score the windows at the given starts by `score_windows`, a block at a time.

        Raises
        ------
        ValueError
            If the callable returns another number of scores, or one that is not finite.
        """
        assert self.score_windows is not None
        scores = np.empty(starts.size, dtype=np.float32)
        for first in range(0, starts.size, _WINDOWS_AT_A_TIME):
            part = starts[first : first + _WINDOWS_AT_A_TIME]
            strands = np.full(part.size, is_reverse)
            values = self.score_windows(Windows(codes, part, self.length, is_reverse=strands))
            if np.shape(values) != (part.size,) or not np.all(np.isfinite(values)):
                raise ValueError(
                    f"score_windows must return {part.size} finite scores for as many windows, "
                    f"got shape {np.shape(values)}"
                )
            scores[first : first + part.size] = values
        return scores

    def count_mixed(self, codes: NDArray[np.uint8], starts: NDArray[np.int64]) -> int:
        """Count the windows at the given starts that hold a letter other than A, C, G, T."""
        n_before = np.concatenate([[0], np.cumsum(codes >= OTHER)])
        return int(np.count_nonzero(n_before[starts + self.length] > n_before[starts]))


def is_minus(strand: str) -> bool:
    """Return whether a strand is the minus strand.

    Raises
    ------
    ValueError
        If it is neither ``"+"`` nor ``"-"``.
    """
    if strand not in ("+", "-"):
        raise ValueError(f"strand must be '+' or '-', got {strand!r}")
    return strand == "-"


def _check_weights(weights: Sequence[NDArray[Any]], length: int | None) -> int:
    if len(weights) == 0:
        raise ValueError("position_weights must hold at least the weights of degree 1")
    L = weights[0].shape[0]
    for d, w in enumerate(weights, start=1):
        if w.shape != (L, 4**d):
            shape = (L, 4**d)
            raise ValueError(f"position_weights[{d - 1}] must have shape {shape}, got {w.shape}")
        if not np.all(np.isfinite(w)):
            raise ValueError(f"position_weights[{d - 1}] must be finite; train the model again")
    if L < 1 or length not in (None, L):
        raise ValueError(f"length must be that of position_weights, {L}, got {length}")
    return L
