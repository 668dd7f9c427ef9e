"""K-mers of DNA windows, counted in bins of positions.

A feature is a k-mer that starts in a bin of positions. Its index, the row of its weights in W, is

    offset of the level + bin * 4**k + code of the k-mer

where a level is a view with one of its k, and the code is a base-4 number: A, C, G, T are 0 to 3,
the first letter is most significant. If every position is a bin, as in weighted degrees, the 3-mer
CGT at position 1 of ACGTA has the code 1 * 16 + 2 * 4 + 3 = 27 and the index 1 * 64 + 27 = 91:

>>> PositionalKmers("kmers:3").transform(["ACGTA"]).indices.tolist()
[6, 91, 172]

If there are 2-mers, too, those of all 5 bins come first, so the indices of 3-mers are 80 higher:

>>> PositionalKmers("kmers:2-3").transform(["ACGTA"]).indices.tolist()
[1, 22, 43, 60, 86, 171, 252]

In bins of two positions from the anchor on, here base 2, ACG and CGT are in bin 0, GTA in bin 1:

>>> PositionalKmers("kmers:3/2").transform(["ACGTA"]).indices.tolist()
[6, 27, 108]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._schema import whole, word
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.grammar import DEFAULT_VIEWS
from seqmtl.features.kmer_views import (
    KmerView,
    Layout,
    check_names,
    format_views,
    kmer_names,
    lay_out,
    parse_views,
    requested_bits,
    rounded_text,
    split_hash,
    table_levels,
)
from seqmtl.features.positional_rows import PositionalRows
from seqmtl.sequences import Windows

_HASH_BITS = 22  # 16 MiB of float32 per organism; a plain choice
_MIN_LENGTH = 6  # bases; shorter windows cannot hold the default views


@dataclass(eq=False, repr=False)
class PositionalKmers(FeatureDefinition):
    """K-mers of DNA windows, counted in bins of positions around a site.

    Parameters
    ----------
    views : str or sequence of KmerView, optional
        Views to count, as text (see :mod:`seqmtl.features.kmer_views`) or as
        :class:`~seqmtl.features.kmer_views.KmerView`. Default:
        :data:`~seqmtl.features.grammar.DEFAULT_VIEWS`.
    anchor : int, optional
        First base of the site in the window, 0-based, where bins begin. Default: in training
        the site, else the middle.
    hash_bits : int, optional
        Hash into 2**hash_bits features, 1 to 30; or give ``"hash:18"`` among the views or instead
        of them.
        Default: exact indices if the weights of all tasks fit into `max_memory`, or no more than
        2**22 belong to a task; else 22 bits.
    max_memory : float, default=1.0
        Limit in GiB on the float32 weights of all tasks with exact indices.

    Notes
    -----
    A view counts the k-mers u that start in a bin of positions,

        phi[bin, u](x) = sqrt(omega) #{l : floor((l - anchor) / width) = bin, x[l:l+k] = u}

    All features are divided by the root of the expected squared norm of a random window. As this
    is one constant for all windows, the score of a window is a sum over its positions. K-mers with
    a letter other than A, C, G, T are not counted. In bins of more than one position, k-mers of
    all lengths start where the longest of the view fits into the window.

    The exact index of a k-mer is ``offset + bin * 4**k + code``, see
    :mod:`seqmtl.features.positional_kmers` for an example. The hashed index is the
    splitmix64 finaliser of ``(code + slot * 0x9E3779B97F4A7C15) ^ (slot << 40)``, slot = 65536 *
    level + bin, modulo 2**64, truncated to the lowest hash_bits bits. The hash is part of the
    model format. K-mers with the same hashed index share a weight. As there are no signs, the
    expected kernel of two windows exceeds the exact one by the product of the sums of both rows
    over 2**hash_bits; this is nearly a constant, which the intercept absorbs. Its standard
    deviation is nearly 2**(-hash_bits / 2), which costs accuracy.

    References
    ----------
    Sonnenburg, Franc (2010), COFFIN; Raetsch, Sonnenburg (2004), weighted degrees; Meinicke et al.
    (2004), oligo kernel; Leslie, Eskin, Noble (2002), spectra; Weinberger et al. (2009), hashing.

    Examples
    --------
    >>> from seqmtl import PositionalKmers
    >>> PositionalKmers("wd:2,kmers:3/inf").transform(["ACGTT", "AGGTA"]).shape
    (2, 228)
    """

    kind = "positional_kmers"
    rules: ClassVar = {"views": word, "anchor": whole(), "hash_bits": whole(0, 30)}
    views: str | Sequence[KmerView] | None = None
    anchor: int | None = None
    hash_bits: int | None = None
    max_memory: float = 1.0

    def kmer_views(self, length: int) -> tuple[KmerView, ...]:
        """Return the views for windows of `length` bases."""
        views = split_hash(self.views)[0] if isinstance(self.views, str) else self.views
        if views is None:
            views = "wd:5" if 0 < length < _MIN_LENGTH else DEFAULT_VIEWS
        return parse_views(views) if isinstance(views, str) else tuple(views)

    def __str__(self) -> str:
        return rounded_text(self.kmer_views(0), self._requested_bits())

    def layout(self, length: int) -> Layout:
        """Lay the views out in windows of `length` bases.

        Raises
        ------
        ValueError
            If a parameter is out of range, or a view does not fit.
        """
        return lay_out(self.kmer_views(length), length, self.resolved_anchor(length))

    def resolved_anchor(self, length: int) -> int:
        """Return the base where bins begin in windows of `length` bases."""
        return length // 2 if self.anchor is None else int(self.anchor)

    def bind(self, data: Windows) -> PositionalRows:
        """Bind the map to windows.

        Raises
        ------
        ValueError
            If a parameter is out of range, or a view does not fit into the windows.
        TypeError
            If `data` is not a :class:`~seqmtl.sequences.Windows`.
        """
        self.check_windows(data)
        layout = self.layout(data.length)
        return PositionalRows(layout, data, self._bits(layout))

    def _requested_bits(self) -> int | None:
        return requested_bits(self.views, self.hash_bits)

    def _bits(self, layout: Layout) -> int:
        requested = self._requested_bits()
        n_exact = layout.n_features
        if requested is not None:
            return requested
        fits = n_exact * 4 <= self.max_memory * 2**30 and n_exact < 2**31
        return 0 if fits or n_exact <= 1 << _HASH_BITS else _HASH_BITS

    def n_features(self, length: int) -> int:
        """Return the number of features of windows of `length` bases."""
        layout = self.layout(length)
        bits = self._bits(layout)
        return 1 << bits if bits else layout.n_features

    def feature_names(self, length: int) -> NDArray[np.str_]:
        """Return the k-mer and the position of every feature, see :class:`FeatureDefinition`."""
        layout, anchor = self.layout(length), self.resolved_anchor(length)
        check_names(layout.n_features, layout.span + 12, self._bits(layout) > 0)
        names = []
        for k, bins in zip(layout.k.tolist(), layout.bins, strict=True):
            kmers = kmer_names(range(k))
            for number in range(int(bins.max()) + 1):
                places = np.flatnonzero(bins == number) - anchor
                end = f"..{places[-1] + 1}" * (places.size > 1)
                names.append(np.char.add(kmers, f"@{places[0]}{end}"))
        return np.concatenate(names)

    def span(self, length: int) -> int:
        """Return the length of the longest k-mers."""
        return self.layout(length).span

    def position_weights(
        self, w: NDArray[Any], length: int, first: int = 0, last: int | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the contribution of every k-mer to <w, phi(x)> at every position.

        Parameters
        ----------
        w : ndarray, shape (n_features,)
            Weights of one task, exact or hashed.
        length : int
            Window length L.
        first, last : int
            Range of positions, half-open. Default: all.

        Returns
        -------
        list of ndarray of float64
            For d = 1..S, where S is the longest k, an array of shape (last - first, 4**d).

        Raises
        ------
        MemoryLimitError
            If they do not fit into memory.
        """
        from seqmtl.features.kmer_loops import fold_weights

        layout = self.layout(length)
        starts, width = table_levels(layout.span)
        last = length if last is None else last
        require_memory(
            8.0 * width * (last - first),
            f"the weights of all {layout.span}-mers at {last - first} positions",
            "train with shorter k-mers",
        )
        table = np.zeros((last - first, width))
        column = np.ascontiguousarray(w).reshape(-1, 1)
        bits = self._bits(layout)
        fold_weights(column, 0, first, last, layout.slots(bits > 0), bits, starts, table)
        return [table[:, s : s + 4**d] for d, s in enumerate(starts.tolist(), 1)]

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the map as resolved for windows of `length` bases (model files)."""
        return {
            "kind": PositionalKmers.kind,
            "views": format_views(self.kmer_views(length)),
            "anchor": self.resolved_anchor(length),
            "hash_bits": self._bits(self.layout(length)),
        }

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> PositionalKmers:
        """Rebuild the map from :meth:`to_dict`."""
        bits, views = description["hash_bits"], description["views"]
        parse_views(views)
        return PositionalKmers(views, description["anchor"], bits or None, 1.0 if bits else np.inf)
