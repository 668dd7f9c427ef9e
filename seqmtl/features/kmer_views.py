"""Views of a window: which k-mers are counted, where, in bins of what width, with which weight.

As text they look like ``wd:6,kmers:3-6/16@-80..80=0.1`` or ``spectrum:1-6,gapped:9/7``. The latter
are anywhere in the window, see :mod:`seqmtl.features.kmer_counts`. Another view has a *level* for
each of its k-mer lengths. In windows of one length, a level counts the k-mers that start at some
positions, and a level and a position are a *slot*. Only the letters at a slot differ between
windows:

>>> layout = lay_out(parse_views("kmers:2-3/2"), length=5, anchor=2)
>>> layout.k, layout.offset  # 3 bins of 16 2-mers come before the 3-mers
(array([2, 3]), array([ 0, 48]))
>>> layout.bins[1]  # bin of every position; one begins at the anchor
array([0, 0, 1, 1, 2], dtype=int32)
>>> slots = layout.slots(is_hashed=False)
>>> slots.position, slots.depth, slots.base
(array([0, 1, 2, 0, 1, 2]), array([2, 2, 2, 3, 3, 3]), array([  0,   0,  16,  48,  48, 112]))

The feature of a slot has the index ``base`` plus the code of the k-mer there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.exceptions import SeqmtlError

MAX_K = 20
_UNBOUNDED = 1 << 30  # bases: wider than any window
_MAX_WEIGHT = 1e12  # float32 holds the square, and its inverse, with room; a plain choice
_SLOT_BYTES = 64.0  # of a position and a k-mer length: a slot, its level, its bin
_MAX_BINS = 1 << 16  # of a level, whose bins are hashed by their numbers
_VIEW = re.compile(
    r"(?:(?P<kind>wd|kmers):(?P<low>\d+)(?:-(?P<high>\d+))?(?:/(?P<width>\d+|inf))?"
    r"(?:@(?P<begin>-?\d+)?\.\.(?P<end>-?\d+)?)?"
    r"|(?:spectrum:(?P<first>\d+)(?:-(?P<last>\d+))?|gapped:(?P<extent>\d+)/(?P<letters>\d+))"
    r"(?P<stranded>:stranded)?)"
    r"(?:=(?P<weight>[0-9.eE+-]+))?"
)
ANYWHERE = ("spectrum:", "gapped:")  # how views of k-mers anywhere begin


def check_weight(weight: float) -> None:
    """Raise ValueError for the weight of a view that is not positive, or of no use in float32."""
    if not 1 / _MAX_WEIGHT <= weight <= _MAX_WEIGHT:
        raise ValueError(
            f"weight must be from {1 / _MAX_WEIGHT:g} to {_MAX_WEIGHT:g}, got {weight:g}"
        )


class KmerView(NamedTuple):
    """K-mers of one or several lengths, counted in bins of positions or anywhere.

    Attributes
    ----------
    k_min, k_max : int
        Shortest and longest k-mer length, 1 to 20.
    width : int or None
        Bin width in positions. 1 counts every position separately, as weighted degrees do; None
        makes one bin before the site and one from it on.
    begin, end : int or None
        Range of first bases of the k-mers relative to the site, 0-based half-open. K-mers that
        extend beyond the window are not counted. Default: the whole window.
    weight : float
        Weight omega of every length in the kernel; with `decays` or anywhere, of all together.
    decays : bool
        Whether weights decay with length: beta_k = 2 (K - k + 1) / (K (K + 1)), K = `k_max`.
    is_anywhere : bool
        Whether k-mers count wherever they are; then there are no bins and no region.
    gaps : int
        Most bases between the letters of a k-mer that are not read. K-mers with gaps are anywhere
        and have one number of letters, 2 or more; their first and last base are letters.
    is_stranded : bool
        Whether a k-mer anywhere and its reverse complement are two features.
    """

    k_min: int
    k_max: int
    width: int | None = 1
    begin: int | None = None
    end: int | None = None
    weight: float = 1.0
    decays: bool = False
    is_anywhere: bool = False
    gaps: int = 0
    is_stranded: bool = False

    def weights(self) -> NDArray[np.float64]:
        """Return the weight of each length, shape (k_max - k_min + 1,)."""
        k, K = np.arange(self.k_min, self.k_max + 1), self.k_max
        decay = 2.0 * (K - k + 1) / (K * (K + 1)) if self.decays else np.ones(k.size)
        return np.asarray(self.weight * decay)

    def patterns(self) -> list[tuple[int, ...]]:
        """Return the letters that k-mers anywhere read, by pattern, from 0, shortest first."""
        if not self.gaps:
            return [tuple(range(k)) for k in range(self.k_min, self.k_max + 1)]
        return [
            (0, *inner, extent - 1)
            for extent in range(self.k_max, self.k_max + self.gaps + 1)
            for inner in itertools.combinations(range(1, extent - 1), self.k_max - 2)
        ]

    def check(self) -> None:
        """Raise ValueError for a field out of range."""
        if not 1 <= self.k_min <= self.k_max <= MAX_K:
            raise ValueError(
                f"k must be from 1 to {MAX_K}, the shortest first, got {self.k_min} to {self.k_max}"
            )
        extent = self.k_max + self.gaps
        is_gapped = self.is_anywhere and 2 <= self.k_min == self.k_max < extent <= MAX_K
        if self.gaps and not is_gapped:
            raise ValueError(
                f"gapped k-mers must have 2 letters or more in at most {MAX_K} bases, "
                f"got {self.k_max} in {extent}"
            )
        if self.width is not None and self.width < 1:
            raise ValueError(f"width must be at least 1 position, got {self.width}")
        check_weight(self.weight)
        if self.begin is not None and self.end is not None and self.begin >= self.end:
            raise ValueError(f"a region must begin before it ends, got {self.begin}..{self.end}")


def kmer_names(letters: Sequence[int]) -> NDArray[np.str_]:
    """Return the k-mers of a pattern in the order of their codes, with a dot for a letter not read.

    >>> kmer_names((0, 2))[:5]
    array(['A.A', 'A.C', 'A.G', 'A.T', 'C.A'], dtype='<U3')
    """
    k, extent = len(letters), letters[-1] + 1
    columns = np.full((4**k, extent), ".", dtype="U1")
    for j, letter in enumerate(letters):
        columns[:, letter] = np.array(list("ACGT"))[np.arange(4**k) >> 2 * (k - 1 - j) & 3]
    return columns.view(f"U{extent}").ravel()


def check_names(n_features: int, longest: int, is_hashed: bool) -> None:
    """Check that features have names, and that these fit into memory.

    Raises
    ------
    SeqmtlError
        If features are hashed.
    MemoryLimitError
        If they do not fit.
    """
    if is_hashed:
        raise SeqmtlError(
            "the features are hashed, so several k-mers share one and it has no name; choose "
            "fewer or shorter k-mers, or see seqmtl explain"
        )
    n_bytes = 4.0 * longest * n_features
    require_memory(2 * n_bytes, f"the names of {n_features:,} features", "choose shorter k-mers")


class Slots(NamedTuple):
    """The n slots of a window: positions and lengths of its k-mers, and their first features.

    All windows of one length have the same slots. So a block of windows needs one index per slot
    and window, and no values.

    Attributes
    ----------
    position, depth : ndarray of int64, shape (n,)
        Position and length of the k-mer.
    base : ndarray of int64, shape (n,)
        Index of the feature of AA...A in its bin; if features are hashed, the number of the bin.
    reads : ndarray of float64, shape (n,)
        Value of the feature, the factor on its weight in a score.
    shares : ndarray of float64, shape (n, 2)
        Factors on a step of the k-mer, and of its prefix one letter shorter; see pair sums in
        :mod:`seqmtl.features.positional_rows`.
    """

    position: NDArray[np.int64]
    depth: NDArray[np.int64]
    base: NDArray[np.int64]
    reads: NDArray[np.float64]
    shares: NDArray[np.float64]


class Layout(NamedTuple):
    """The n levels of views in windows of a given length; a level is a view and a k-mer length.

    Attributes
    ----------
    k, begin, end : ndarray of int64, shape (n,)
        Length of the k-mers; range of their first bases, 0-based half-open.
    offset : ndarray of int64, shape (n,)
        Exact index of the first k-mer of the first bin.
    view : ndarray of int64, shape (n,)
        View of every level.
    weight : ndarray of float64, shape (n,)
        omega times the square of the constant that all features are divided by.
    bins : ndarray of int32, shape (n, length)
        Bin of every position, from 0; -1 outside.
    """

    k: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    offset: NDArray[np.int64]
    view: NDArray[np.int64]
    weight: NDArray[np.float64]
    bins: NDArray[np.int32]

    @property
    def span(self) -> int:
        """Length of the longest k-mers."""
        return int(self.k.max())

    @property
    def n_features(self) -> int:
        """Number of features with exact indices."""
        return int(self.offset[-1]) + ((int(self.bins[-1].max()) + 1) << 2 * int(self.k[-1]))

    def slots(self, is_hashed: bool) -> Slots:
        """Return a slot for every position of every level.

        Raises
        ------
        ValueError
            If hashed features have too many bins.
        """
        k, begin, end, offset, _, weight, bins = self
        n_bins = int(bins.max()) + 1
        if is_hashed and n_bins > _MAX_BINS:
            raise ValueError(
                f"hashed k-mers must have at most {_MAX_BINS:,} bins, got {n_bins:,}; use a "
                "shorter window or region, wider bins, or features without hash"
            )
        level = np.repeat(np.arange(k.size), end - begin)
        position = np.concatenate([np.arange(*ends) for ends in zip(begin, end, strict=True)])
        bin_ = bins[level, position].astype(np.int64)
        base = level * _MAX_BINS + bin_ if is_hashed else offset[level] + (bin_ << (2 * k[level]))
        root = np.sqrt(weight[level])
        return Slots(position, k[level], base, root, np.stack([root, 0.0 * root], axis=1))


def lay_out(views: Sequence[KmerView], length: int, anchor: int) -> Layout:
    """Lay views out in windows of `length` bases whose site begins at `anchor`, 0-based.

    Weights are divided by the expected squared norm of a random window, one constant.

    Raises
    ------
    ValueError
        If a view does not fit into the window, or the anchor is not in it.
    MemoryLimitError
        If the positions do not fit into memory.
    """
    if not 0 <= anchor < length:
        raise ValueError(f"the anchor must lie in the window of {length} bases, got {anchor}")
    n_levels = sum(view.k_max - view.k_min + 1 for view in views)
    require_memory(
        _SLOT_BYTES * n_levels * length,
        f"the positions of {n_levels} k-mer lengths in windows of {length:,} bases",
        "choose a shorter --window, or features without positions",
    )
    rows: list[tuple[Any, ...]] = []
    bins = []
    base = 0
    for v, view in enumerate(views):
        view.check()
        if view.is_anywhere:
            raise ValueError(
                f"views must be in bins of positions, such as wd:5, got {format_view(view)}"
            )
        bin_of, n_bins = _bins(view, length, anchor)
        for k, weight in zip(range(view.k_min, view.k_max + 1), view.weights(), strict=True):
            begins = np.flatnonzero(bin_of >= 0)
            # in wider bins, k-mers of all lengths begin at the same positions
            n_letters = k if view.width == 1 else view.k_max
            begins = begins[begins <= length - n_letters]
            if not begins.size:
                break
            rows.append((k, begins[0], begins[-1] + 1, base, v, weight))
            bins.append(bin_of)
            base += n_bins << (2 * k)
        if not rows or rows[-1][4] != v:
            raise ValueError(_misfit(view, length, anchor))
    *columns, weights = map(np.array, zip(*rows, strict=True))
    ks, begin, end, offset, of_view = (column.astype(np.int64) for column in columns)
    layout = Layout(ks, begin, end, offset, of_view, weights, np.array(bins, np.int32))
    return layout._replace(weight=weights / expected_square(layout))


def expected_square(layout: Layout) -> float:
    """Return the expected squared norm of a window of independent, uniform letters.

    With n independent k-mers in a bin, E[sum of counts**2] = n + n (n - 1) / 4**k. The dependence
    of overlapping k-mers is ignored.
    """
    total = 0.0
    for k, begin, end, _, _, weight, bins in zip(*layout, strict=True):
        n = np.bincount(bins[begin:end]).astype(np.float64)
        total += float(weight * (n + n * (n - 1.0) / 4.0**k).sum())
    return total


def _bins(view: KmerView, length: int, anchor: int) -> tuple[NDArray[np.int64], int]:
    """Return the bin of every position of a view's region, or -1, and the number of bins."""
    positions = np.arange(length)
    begin = 0 if view.begin is None else anchor + view.begin
    end = length if view.end is None else anchor + view.end
    inside = (positions >= begin) & (positions < end)
    if not inside.any():
        raise ValueError(_misfit(view, length, anchor))
    bin_of = (positions - anchor) // (view.width or _UNBOUNDED)
    bin_of -= bin_of[inside].min()
    return np.where(inside, bin_of, -1), int(bin_of[inside].max()) + 1


def _misfit(view: KmerView, length: int, anchor: int) -> str:
    return (
        f"the window of {length} bases, whose site begins at base {anchor}, must hold a k-mer of "
        f"{view.k_min} bases of the view {format_view(view)}; use a longer window, shorter k-mers "
        "or another region"
    )


def format_views(views: Sequence[KmerView]) -> str:
    """Format views as :func:`parse_views` reads them."""
    return ",".join(map(format_view, views))


def rounded_text(views: Sequence[KmerView], bits: int | None) -> str:
    """Format views with rounded weights, and the bits of their hash if there are some."""
    rounded = [view._replace(weight=float(f"{view.weight:.3g}")) for view in views]
    return format_views(rounded) + ("" if bits is None else f",hash:{bits}")


def format_view(view: KmerView) -> str:
    """Format one view as :func:`format_views` does."""
    ends = ["" if end is None else f"{end}" for end in (view.begin, view.end)]
    region = "" if ends == ["", ""] else f"@{ends[0]}..{ends[1]}"
    weight = "" if view.weight == 1.0 else f"={view.weight!r}"
    lengths = f"{view.k_min}" if view.k_min == view.k_max else f"{view.k_min}-{view.k_max}"
    if view.is_anywhere:
        name = (
            f"gapped:{view.k_max + view.gaps}/{view.k_max}" if view.gaps else f"spectrum:{lengths}"
        )
        return name + ":stranded" * view.is_stranded + weight
    if view.decays and view.k_min == 1 and view.width == 1:
        return f"wd:{view.k_max}{region}{weight}"
    width = {1: "", None: "/inf"}.get(view.width, f"/{view.width}")
    return f"kmers:{lengths}{width}{region}{weight}"


def split_hash(text: str) -> tuple[str | None, int | None]:
    """Split a list of views from the bits of ``hash:B``, if it has such an item.

    The views are None if ``hash:B`` is the only item.
    """
    parts = [part.strip() for part in text.split(",")]
    bits = [part.removeprefix("hash:") for part in parts if part.startswith("hash:")]
    if not bits:
        return text, None
    if len(bits) > 1 or not bits[0].isdecimal() or not 1 <= int(bits[0]) <= 30:
        raise ValueError(
            f"the features {text!r} must have one item like hash:18, of 1 to 30 bits, or none"
        )
    views = [part for part in parts if not part.startswith("hash:")]
    return ",".join(views) or None, int(bits[0])


def requested_bits(views: object, hash_bits: int | None) -> int | None:
    """Return the bits of the hash that a list of views, as text, or an argument asks for."""
    bits = split_hash(views)[1] if isinstance(views, str) else None
    if bits is not None and hash_bits not in (None, bits):
        raise ValueError(f"give the hash bits once, got {bits} and {hash_bits}")
    bits = hash_bits if bits is None else bits
    if bits is not None and not 1 <= bits <= 30:
        raise ValueError(f"hash_bits must be from 1 to 30, got {bits}")
    return None if bits is None else int(bits)


def parse_views(text: str) -> tuple[KmerView, ...]:
    """Parse a list of views.

    Raises
    ------
    ValueError
        If the text is malformed; the message gives the position.
    """
    views = []
    offset = 0
    for part in text.split(","):
        views.append(_parse_view(part.strip(), text, offset + 1))
        offset += len(part) + 1
    return tuple(views)


def _parse_view(part: str, text: str, character: int) -> KmerView:
    prefix = f"in the features {text!r}, at character {character}: "
    match = _VIEW.fullmatch(part)
    if match is None:
        raise ValueError(
            f"{prefix}a view must be like wd:6, kmers:3-6/16@-80..80=0.1, spectrum:1-6 or "
            f"gapped:8/6:stranded=0.5, got {part!r}"
        )
    field = match.groupdict()
    is_wd = field["kind"] == "wd"
    if is_wd and (field["high"] or field["width"]):
        raise ValueError(f"{prefix}wd takes one degree and no bins, got {part!r}; see kmers")
    try:
        view = _anywhere(field) if field["kind"] is None else _in_bins(field, is_wd)
        view.check()
    except ValueError as error:
        raise ValueError(f"{prefix}{error}") from error
    return view


def _in_bins(field: dict[str, str | None], is_wd: bool) -> KmerView:
    low = int(field["low"] or 0)
    return KmerView(
        1 if is_wd else low,
        int(field["high"] or low),
        None if field["width"] == "inf" else int(field["width"] or 1),
        None if field["begin"] is None else int(field["begin"]),
        None if field["end"] is None else int(field["end"]),
        float(field["weight"] or 1.0),
        is_wd,
    )


def _anywhere(field: dict[str, str | None]) -> KmerView:
    k_min = int(field["first"] or field["letters"] or 0)
    k_max = int(field["last"] or k_min)
    return KmerView(
        k_min,
        k_max,
        weight=float(field["weight"] or 1.0),
        is_anywhere=True,
        gaps=int(field["extent"] or k_max) - k_max,
        is_stranded=field["stranded"] is not None,
    )


def table_levels(span: int) -> tuple[NDArray[np.int64], int]:
    """Return where 1-mers, 2-mers, ... span-mers begin in a table of all of them, and its size."""
    sizes = 4 ** np.arange(1, span + 1, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sizes.sum())
