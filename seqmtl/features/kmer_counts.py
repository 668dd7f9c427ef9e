"""K-mers of a window wherever they are: spectra and gapped k-mers, of one strand or of both.

A feature is a k-mer of a *pattern*, which says which letters of a stretch are read. A spectrum has
one pattern for each k, and gapped k-mers one for each way to place k letters in a stretch, its ends
included. As code of a k-mer, A, C, G, T are the digits 0 to 3 of a base-4 number, the first letter
most significant. Its index is the code plus the number of k-mers of the patterns before.

The reverse complement of ACC is GGT. On both strands they are one feature, that of ACC, as its code
1 * 4 + 1 = 5 is smaller than 2 * 16 + 2 * 4 + 3 = 43:

>>> KmerCounts("spectrum:3").transform(["ACC", "GGT"]).indices.tolist()
[5, 5]
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._threads import each_part, n_threads
from seqmtl.core.rows import RowBlock, Rows
from seqmtl.features._base import (
    REMEDY,
    FeatureDefinition,
    add_by_blocks,
    empty_block,
    gram_by_features,
)
from seqmtl.features.grammar import ANYWHERE_VIEWS as DEFAULT_COUNTS
from seqmtl.features.kmer_views import MAX_K, check_weight, requested_bits, split_hash
from seqmtl.sequences import Windows

TRANSFORMS = ("sqrt", "binary", "counts")
_HASH_BITS = 22  # as of positional k-mers
_MAX_LISTED = 12  # letters: 16 million k-mers
_SUM_BITS = 60  # of sums in whole units
_ONE_STRAND, _OWN_MIRROR, _BOTH_STRANDS = range(3)
_VIEW = re.compile(
    r"(?P<kind>spectrum|gapped):(?P<first>\d+)(?P<sign>[-/])?(?P<second>\d+)?"
    r"(?P<words>(?::[a-z]+)*)(?:=(?P<weight>[0-9.eE+-]+))?"
)


class CountView(NamedTuple):
    """K-mers that are counted together, and the weight of their kernel.

    Attributes
    ----------
    k_min, k_max : int
        Fewest and most letters of a k-mer, 1 to 20.
    extent : int
        Most bases that a k-mer spans; with more than its letters, it has gaps. Gapped k-mers have
        one number of letters, 2 or more, and their first and last base are letters.
    is_stranded : bool
        Whether a k-mer and its reverse complement are two features.
    transform : {"sqrt", "binary", "counts"}
        What becomes of a count.
    weight : float
        Weight omega of the view in the kernel.
    """

    k_min: int
    k_max: int
    extent: int
    is_stranded: bool = False
    transform: str = "sqrt"
    weight: float = 1.0

    @property
    def is_gapped(self) -> bool:
        """Whether k-mers have gaps."""
        return self.extent > self.k_max

    def check(self) -> None:
        """Raise ValueError for a field out of range."""
        if not 1 <= self.k_min <= self.k_max <= MAX_K:
            raise ValueError(
                f"k must be from 1 to {MAX_K}, the shortest first, got {self.k_min} to {self.k_max}"
            )
        if self.extent != self.k_max and not 2 <= self.k_min == self.k_max < self.extent <= MAX_K:
            raise ValueError(
                f"gapped k-mers must have 2 letters or more in at most {MAX_K} bases, "
                f"got {self.k_max} in {self.extent}"
            )
        if self.transform not in TRANSFORMS:
            raise ValueError(
                f"transform must be one of {', '.join(TRANSFORMS)}, got {self.transform!r}"
            )
        check_weight(self.weight)

    def patterns(self) -> list[tuple[int, ...]]:
        """Return the letters that the k-mers of each pattern read, from 0, shortest first."""
        if not self.is_gapped:
            return [tuple(range(k)) for k in range(self.k_min, self.k_max + 1)]
        return [
            (0, *inner, extent - 1)
            for extent in range(self.k_max, self.extent + 1)
            for inner in itertools.combinations(range(1, extent - 1), self.k_max - 2)
        ]

    def __str__(self) -> str:
        lengths = f"{self.k_min}" if self.k_min == self.k_max else f"{self.k_min}-{self.k_max}"
        name = f"gapped:{self.extent}/{self.k_max}" if self.is_gapped else f"spectrum:{lengths}"
        words = [":stranded"] * self.is_stranded
        words += [f":{self.transform}"] * (self.transform != TRANSFORMS[0])
        return name + "".join(words) + ("" if self.weight == 1.0 else f"={self.weight!r}")


class Patterns(NamedTuple):
    """The n patterns of all views.

    Attributes
    ----------
    extent, offset, view : ndarray of int64, shape (n,)
        Bases that a k-mer spans; exact index of the first k-mer; number of the view.
    strands : ndarray of int64, shape (n,)
        0: k-mers of one strand; 1: of both, the pattern is its own mirror image; 2: of both, for
        this pattern and its mirror image.
    shifts, masks : ndarray of int64, shape (n, most runs)
        How far the letters of each run without a gap move right, and where they arrive, in bits.
    """

    extent: NDArray[np.int64]
    offset: NDArray[np.int64]
    view: NDArray[np.int64]
    strands: NDArray[np.int64]
    shifts: NDArray[np.int64]
    masks: NDArray[np.int64]


class KmerFeature(NamedTuple):
    """K-mers of a pattern.

    Attributes
    ----------
    letters : list of int
        The bases of a stretch that are read, from 0.
    is_stranded : bool
        Whether a k-mer differs from its reverse complement.
    codes, indices : ndarray of int64, shape (n,)
        Codes of the k-mers, and their features.
    weights : ndarray of float64, shape (n,)
        Weights, with the root of that of the view: times s(n) / norm, the term of the score.
    """

    letters: list[int]
    is_stranded: bool
    codes: NDArray[np.int64]
    indices: NDArray[np.int64]
    weights: NDArray[np.float64]

    def text(self, i: int) -> str:
        """Return the letters of k-mer i, with dots for gaps."""
        letters = dict(
            zip(self.letters, np.base_repr(self.codes[i], 4).zfill(len(self.letters)), strict=True)
        )
        return "".join(
            "ACGT"[int(letters[j])] if j in letters else "." for j in range(self.letters[-1] + 1)
        )


def _letters(patterns: Patterns) -> list[list[int]]:
    """Return the bases that the k-mers of every pattern read, from 0."""
    all_letters = []
    for extent, shifts, masks in zip(
        patterns.extent.tolist(), patterns.shifts.tolist(), patterns.masks.tolist(), strict=True
    ):
        bits = [
            (shift, bit)
            for shift, mask in zip(shifts, masks, strict=True)
            for bit in range(0, mask.bit_length(), 2)
            if mask >> bit & 3
        ]
        all_letters.append(sorted(extent - 1 - (shift + bit) // 2 for shift, bit in bits))
    return all_letters


def _reverse_complements(k: int) -> NDArray[np.int64]:
    """Return the code of the reverse complement of every k-mer."""
    codes, others = np.arange(4**k), np.zeros(4**k, dtype=np.int64)
    for _ in range(k):
        others = 4 * others + (3 - (codes & 3))
        codes = codes >> 2
    return others


def _n_counts(patterns: Patterns, bits: int) -> int:
    """Return the number of counters for the k-mers of a pattern."""
    return 1 << bits if bits else int(patterns.masks.sum(axis=1).max()) + 1


def _counters(patterns: Patterns, bits: int) -> NDArray[np.int32]:
    """Return counters for the k-mers of a window, all 0, if there is memory for weights, too."""
    n = _n_counts(patterns, bits)
    require_memory(12.0 * n, f"the counts of {n:,} k-mers", "train with fewer bits of hash")
    return np.zeros(n, np.int32)


def lay_out_patterns(views: Sequence[CountView]) -> tuple[Patterns, int]:
    """Return the patterns of views, and the number of their k-mers."""
    rows, runs, offset = [], [], 0
    for v, view in enumerate(views):
        view.check()
        for letters in view.patterns():
            extent, k = letters[-1] + 1, len(letters)
            mirror = tuple(extent - 1 - letter for letter in reversed(letters))
            if not view.is_stranded and mirror < letters:
                continue  # its mirror image stands for both
            strands = _OWN_MIRROR if mirror == letters else _BOTH_STRANDS
            rows.append((extent, offset, v, _ONE_STRAND if view.is_stranded else strands))
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
    extent, begins, view_of, strands_of = np.array(rows, dtype=np.int64).T.copy()
    return Patterns(extent, begins, view_of, strands_of, shifts, masks), offset


def values_of_counts(
    views: Sequence[CountView], length: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the weights of views, and s(n) and s(n)**2 for the counts n of windows.

    Two more k-mers than in a window may be counted, while the next ones enter.
    """
    n = np.arange(2 * length + 3, dtype=np.float64)
    by_transform = {"sqrt": np.sqrt(n), "binary": np.minimum(n, 1.0), "counts": n}
    values = np.array([by_transform[view.transform] for view in views])
    weights = np.array([view.weight for view in views])
    return weights, values, np.rint(values**2).astype(np.int64)


def in_units(w: NDArray[Any], patterns: Patterns, length: int) -> tuple[NDArray[np.float64], float]:
    """Return weights in units of their sums, which are then whole numbers, and the unit."""
    # the sum of a view is at most the largest weight times the number of its k-mers
    n_kmers = 2 * length * int(np.bincount(patterns.view).max())
    largest = float(max(w.max(), -w.min())) * n_kmers or 1.0
    unit = float(2.0 ** (np.ceil(np.log2(largest)) - _SUM_BITS))
    return np.divide(w, unit, dtype=np.float64), unit


class KmerCounts(FeatureDefinition):
    """Counts of the k-mers of DNA windows, wherever they are; windows may differ in length.

    Parameters
    ----------
    views : str or sequence of CountView, default="spectrum:1-6=0.4,gapped:9/7=0.6"
        As text, a list with commas between ``spectrum:K1-K2``, the k-mers of K1 to K2 letters, and
        ``gapped:L/K``, K letters in at most L bases. ``:stranded`` behind them tells a k-mer from
        its reverse complement, ``:binary`` or ``:counts`` replace the square root of the counts,
        and ``=W`` is a weight.
    hash_bits : int, optional
        Hash into 2**hash_bits features, 1 to 30; or give ``hash:18`` among the views. Default:
        exact indices if there are no more than 2**22, else 22 bits.

    Notes
    -----
    With the counts n_u(x) of all k-mers u of a view, its kernel is a cosine,

        k(x, x') = sum_u s(n_u(x)) s(n_u(x')) / (norm(x) norm(x')),   s(n) = root(n), [n > 0], n

    with norm(x)^2 = sum_u s(n_u(x))^2, and the kernel of the map the sum of those of its views with
    the weights omega. With the root, the norm of all counts is the root of the number of k-mers, so
    k-mers of each length have the same part in it. A k-mer with a letter other than A, C, G, T,
    also in a gap, is not counted.
    With hashed indices, k-mers of a pattern that share an index are counted as one.

    References
    ----------
    Leslie, Eskin, Noble (2002), spectra; Ghandi et al. (2014), gapped k-mers; Sonnenburg, Franc
    (2010), features on demand.

    Examples
    --------
    >>> from seqmtl import KmerCounts
    >>> X = KmerCounts("spectrum:2").transform(["ACGT", "ACGTACGT"])
    >>> (X @ X.T).toarray().round(3)
    array([[1.   , 0.926],
           [0.926, 1.   ]], dtype=float32)
    """

    kind = "kmer_counts"
    is_position_free = True

    def __init__(
        self, views: str | Sequence[CountView] = DEFAULT_COUNTS, hash_bits: int | None = None
    ) -> None:
        self.views = views
        self.hash_bits = hash_bits

    def count_views(self) -> tuple[CountView, ...]:
        """Return the views."""
        if not isinstance(self.views, str):
            return tuple(self.views)
        return parse_counts(split_hash(self.views)[0] or DEFAULT_COUNTS)

    def __str__(self) -> str:
        views = [v._replace(weight=float(f"{v.weight:.3g}")) for v in self.count_views()]
        bits = self._requested_bits()
        return ",".join([*map(str, views), *([] if bits is None else [f"hash:{bits}"])])

    def _requested_bits(self) -> int | None:
        return requested_bits(self.views, self.hash_bits)

    def _layout(self) -> tuple[Patterns, int, int]:
        """Return the patterns, the number of features, and the bits of the hash or 0."""
        patterns, n_exact = lay_out_patterns(self.count_views())
        bits = self._requested_bits()
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
        if not isinstance(data, Windows):
            raise TypeError(
                f"{type(self).__name__} needs Windows of DNA, got {type(data).__name__}; "
                "read them with read_windows or Windows.from_strings"
            )
        return CountRows(self.count_views(), *self._layout(), data)

    @property
    def is_stranded(self) -> bool:
        """Whether a window and its reverse complement may have other features."""
        return any(view.is_stranded for view in self.count_views())

    def slide(
        self, codes: NDArray[np.uint8], w: NDArray[Any], length: int, is_reverse: bool = False
    ) -> NDArray[np.float64]:
        """Return <w, phi(x)> of the windows x of so many bases at every base of a sequence.

        The time for a base does not depend on the length of the windows.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n,)
            Letters, see :func:`seqmtl.sequences.encode`.
        w : ndarray, shape (n_features,)
            Weights.
        length : int
            Bases of a window.
        is_reverse : bool, default=False
            Whether windows are read from the other strand.

        Returns
        -------
        ndarray of float64, shape (max(0, n - length + 1),)
            Entry i is the window ``[i, i + length)`` of the forward strand.
        """
        from seqmtl.features.kmer_loops import slide_windows

        out = np.zeros(max(0, codes.size - length + 1))
        if not out.size:
            return out
        patterns, _, bits = self._layout()
        counts = _counters(patterns, bits)
        scaled, unit = in_units(w, patterns, length)
        slide_windows(
            np.ascontiguousarray(codes),
            is_reverse,
            length,
            int(patterns.extent.max()),
            patterns,
            bits,
            values_of_counts(self.count_views(), length),
            scaled,
            counts,
            out,
        )
        out *= unit
        return out[::-1] if is_reverse else out

    def base_parts(self, windows: Windows, w: NDArray[Any]) -> NDArray[np.float64]:
        """Return the part of each base in <w, phi(x)>, shape (n, length), in reading direction.

        The term of a k-mer is shared equally by its occurrences, and by their letters, so that the
        parts of a window sum to <w, phi(x)>.
        """
        from seqmtl.features.kmer_loops import share_weights

        patterns = self._layout()[0]
        reads = np.zeros((patterns.extent.size, int(patterns.extent.max())), dtype=np.bool_)
        for row, letters in zip(reads, _letters(patterns), strict=True):
            row[letters] = True
        out = np.zeros((len(windows), windows.length))
        arguments, unit = self._of_windows(windows, w)
        share_weights(*arguments, reads, out)
        return unit * out

    def substitutions(self, windows: Windows, w: NDArray[Any]) -> NDArray[np.float64]:
        """Return the change of <w, phi(x)> with each letter at each base.

        The time for a substitution does not depend on the length of the windows.

        Returns
        -------
        ndarray of float64, shape (n, length, 4)
            <w, phi(x with A, C, G or T at the base)> - <w, phi(x)>, in reading direction; 0 for
            the letter of x itself.
        """
        from seqmtl.features.kmer_loops import substitute_letters

        out = np.zeros((len(windows), windows.length, 4))
        arguments, unit = self._of_windows(windows, w)
        substitute_letters(*arguments, out)
        return unit * out

    def _of_windows(self, windows: Windows, w: NDArray[Any]) -> tuple[tuple[Any, ...], float]:
        """Return the arguments that loops over windows begin with, and the unit of their sums."""
        patterns, _, bits = self._layout()
        counts = _counters(patterns, bits)
        scaled, unit = in_units(w, patterns, windows.length)
        arguments = (
            windows.codes,
            windows.starts,
            windows.is_reverse,
            windows.length,
            np.arange(len(windows)),
            int(patterns.extent.max()),
            patterns,
            bits,
            values_of_counts(self.count_views(), windows.length),
            scaled,
            counts,
        )
        return arguments, unit

    def kmers(self, w: NDArray[Any]) -> Iterator[KmerFeature]:
        """Yield all k-mers of at most 12 letters with their weights, pattern by pattern.

        A k-mer and its reverse complement are one, the first by letters, unless views are stranded.
        """
        from seqmtl.features.kmer_loops import index_kmers

        patterns, _, bits = self._layout()
        views = self.count_views()
        for p, letters in enumerate(_letters(patterns)):
            k, view = len(letters), views[patterns.view[p]]
            if k > _MAX_LISTED:
                continue
            codes = np.arange(4**k)
            if patterns.strands[p] == _OWN_MIRROR:
                codes = codes[codes <= _reverse_complements(k)]
            indices = codes + patterns.offset[p]
            if bits:
                hashed = np.empty(4**k, dtype=np.int64)
                index_kmers(p, bits, hashed)
                indices = hashed[codes]
            yield KmerFeature(
                letters, view.is_stranded, codes, indices, np.sqrt(view.weight) * w[indices]
            )

    def n_features(self, length: int = 0) -> int:
        """Return the number of features; the length of the windows does not matter."""
        return self._layout()[1]

    def span(self, length: int = 0) -> int:
        """Return the most bases that a k-mer spans."""
        return max(view.extent for view in self.count_views())

    def position_weights(
        self, w: NDArray[Any], length: int, first: int = 0, last: int | None = None
    ) -> list[NDArray[np.float64]]:
        """Return no weights: k-mers have no position."""
        return []

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the map as JSON values (model files)."""
        views = ",".join(map(str, self.count_views()))
        return {"kind": self.kind, "views": views, "hash_bits": self._layout()[2]}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> KmerCounts:
        """Rebuild the map from :meth:`to_dict`."""
        features = cls(description["views"], description["hash_bits"] or None)
        features.count_views()
        return features


class CountRows(Rows):
    """K-mer counts of given windows; see :class:`seqmtl.core.rows.Rows`."""

    scoring_cost = 0.3

    def __init__(
        self,
        views: Sequence[CountView],
        patterns: Patterns,
        n_features: int,
        hash_bits: int,
        windows: Windows,
    ) -> None:
        self.patterns, self.n_features, self.hash_bits = patterns, n_features, hash_bits
        self.windows, self.n_rows = windows, len(windows)
        self.span = int(patterns.extent.max())
        self._values = values_of_counts(views, windows.length)
        transforms = np.array([TRANSFORMS.index(view.transform) for view in views])
        self._views = self._values[0], transforms
        self._shortest = np.array([view.k_min for view in views])
        n_kmers = np.maximum(windows.length - patterns.extent + 1, 0)
        n_kmers = np.where(patterns.strands == _BOTH_STRANDS, 2 * n_kmers, n_kmers)
        letters = patterns.masks.sum(axis=1)  # the largest code
        n_counts = _n_counts(patterns, hash_bits)
        n_distinct = n_kmers if hash_bits else np.minimum(n_kmers, letters + 1)
        self.row_size = max(int(n_distinct.sum()), 1)
        self._n_counts = n_counts
        self.scoring_bytes = 8.0 * n_features + 4.0 * n_counts * n_threads()
        require_memory(self.scoring_bytes, f"the counts of {n_counts:,} k-mers", REMEDY)
        self._of_thread = threading.local()
        self._where = windows.codes, windows.starts, windows.is_reverse, windows.length

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the features of the given windows."""
        from seqmtl.features.kmer_loops import count_rows

        block = empty_block(rows.size, self.row_size, dtype)
        of_windows = (*self._where, rows, self.span)
        count_rows(*of_windows, self.patterns, self._views, self.hash_bits, self._counts(), block)
        return block

    def _counts(self) -> NDArray[np.int32]:
        """Return the counters of this thread, all 0."""
        if not hasattr(self._of_thread, "counts"):
            self._of_thread.counts = np.zeros(self._n_counts, np.int32)
        return self._of_thread.counts

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, shape (n_rows,): the weights of its views."""
        from seqmtl.features.kmer_loops import clean_lengths

        longest = np.zeros(self.n_rows, dtype=np.int64)
        codes, starts, _, length = self._where

        def compute(rows: NDArray[np.int64]) -> None:
            clean_lengths(codes, starts, length, rows, self.span, longest)

        each_part(compute, np.arange(self.n_rows))
        return np.asarray((longest[:, None] >= self._shortest) @ self._views[0], dtype=np.float64)

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of row i with ``W[:, columns[i]]``, for i in rows or all."""
        from seqmtl.features.kmer_loops import score_counts

        chosen = np.arange(self.n_rows) if rows is None else rows
        of_rows, out = np.asarray(columns)[chosen], np.zeros(self.n_rows)
        for column in np.unique(of_rows):
            scaled, unit = in_units(W[:, column], self.patterns, self.windows.length)

            def score(part: NDArray[np.int64], scaled: NDArray[np.float64] = scaled) -> None:
                of_windows = (*self._where, part, self.span, self.patterns, self.hash_bits)
                score_counts(*of_windows, self._values, scaled, self._counts(), out)

            part = chosen[of_rows == column]
            each_part(score, part)
            out[part] *= unit
        return out

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times row i to W, for i in rows."""
        add_by_blocks(self, rows, amount, tasks, K, W)

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Return the kernel matrix of the given windows, shape (m, m); lower triangle only."""
        return gram_by_features(self, rows, dtype)


def parse_counts(text: str) -> tuple[CountView, ...]:
    """Parse a list of views.

    Raises
    ------
    ValueError
        If the text is malformed; the message has the view.
    """
    return tuple(_parse_count(part.strip(), text) for part in text.split(","))


def _parse_count(part: str, text: str) -> CountView:
    match = _VIEW.fullmatch(part)
    sign = {"spectrum": "-", "gapped": "/"}
    field = {} if match is None else match.groupdict()
    if (
        not field
        or (field["sign"] or "-") != sign[field["kind"]]
        or (bool(field["sign"]) != bool(field["second"]))
    ):
        raise ValueError(
            f"in the features {text!r}: a view must be like spectrum:1-6 or "
            f"gapped:8/6:stranded:binary=0.5, got {part!r}"
        )
    first, second = int(field["first"]), int(field["second"] or field["first"])
    words = field["words"].split(":")[1:]
    transforms = [word for word in words if word != "stranded"]
    if len(transforms) > 1 or len(words) - len(transforms) > 1:
        raise ValueError(f"in the features {text!r}: give each word of {part!r} once")
    k_min, k_max, extent = (
        (first, second, second) if field["kind"] == "spectrum" else (second, second, first)
    )
    try:
        view = CountView(
            k_min,
            k_max,
            extent,
            "stranded" in words,
            transforms[0] if transforms else TRANSFORMS[0],
            float(field["weight"] or 1.0),
        )
        view.check()
    except ValueError as error:
        raise ValueError(f"in the features {text!r}: {error}") from error
    return view
