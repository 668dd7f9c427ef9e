"""Weighted-degree and spectrum features: k-mers in bins of one position, or in a single bin."""

from __future__ import annotations

from seqmtl._checks import check_integer
from seqmtl.features.kmer_views import MAX_K, KmerView
from seqmtl.features.positional_kmers import PositionalKmers


class WeightedDegree(PositionalKmers):
    """Weighted-degree features of DNA windows: the d-mers at every position, d = 1..D.

    Parameters
    ----------
    degree : int, default=8
        Longest d-mer length D, 1 to 20.
    weighting : {"wd", "flat"}, default="wd"
        ``"wd"``: beta_d = 2 (D - d + 1) / (D (D + 1)); ``"flat"``: beta_d = 1 / D.
    hash_bits, max_memory
        See :class:`PositionalKmers`.

    Notes
    -----
    k(x, x') = sum_d beta_d sum_l [x[l:l+d] == x'[l:l+d]], normalised so that k(x, x) = 1 for a
    window without N. The exact index of a d-mer is ``offset_d + l * 4**d + code``, and
    n_features = L (4 + ... + 4**D). D is limited to the window length.

    Examples
    --------
    >>> from seqmtl import WeightedDegree
    >>> WeightedDegree(degree=2).transform(["ACGT", "AGGT"]).shape
    (2, 80)
    """

    def __init__(
        self,
        degree: int = 8,
        weighting: str = "wd",
        hash_bits: int | None = None,
        max_memory: float = 1.0,
    ) -> None:
        self.degree = degree
        self.weighting = weighting
        self.hash_bits = hash_bits
        self.max_memory = max_memory

    def kmer_views(self, length: int) -> tuple[KmerView, ...]:
        """Return the view of all degrees that fit into the window."""
        if self.weighting not in ("wd", "flat"):
            raise ValueError(f"weighting must be 'wd' or 'flat', got {self.weighting!r}")
        check_integer("degree", self.degree, 1, MAX_K)
        if self.weighting == "flat":
            return (KmerView(1, self.degree, weight=1.0 / self.degree),)
        return (KmerView(1, self.degree, decays=True),)


class Spectrum(PositionalKmers):
    """Counts of the k-mers of a region of the window.

    Parameters
    ----------
    k : int, default=5
        Length of the k-mers, 1 to 12.
    begin, end : int, optional
        Region of the window in reading direction, 0-based half-open. Default: the window.

    Notes
    -----
    The index of a k-mer is its base-4 number. As in Leslie, Eskin, Noble (2002), but normalised
    by one constant instead of the norm of every window, so that scores are sums over positions.
    """

    def __init__(self, k: int = 5, begin: int | None = None, end: int | None = None) -> None:
        self.k = k
        self.begin = begin
        self.end = end

    def __str__(self) -> str:
        return repr(self)  # its view depends on the window

    def resolved_anchor(self, length: int) -> int:
        """Return the start of the only bin."""
        return self.begin or 0

    def kmer_views(self, length: int) -> tuple[KmerView, ...]:
        """Return the view."""
        check_integer("k", self.k, 1, 12)
        begin, end = self.begin or 0, length if self.end is None else self.end
        if begin < 0 or end > length or end - begin < self.k:
            raise ValueError(
                f"the region must lie in the window 0..{length} and hold a k-mer of "
                f"{self.k} bases, got {begin}..{end}"
            )
        return (KmerView(self.k, self.k, None, 0, end - begin - self.k + 1),)
