"""Kernels of sequences: weighted degree, spectrum and gapped k-mers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_integer
from seqmtl.kernels._base import BaseKernel, inverse_roots
from seqmtl.kernels._sequences import (
    ALPHABETS,
    CountMatrix,
    count_kmers,
    letter_matrix,
    read_letters,
)


@dataclass(frozen=True)
class StringKernel(BaseKernel):
    """A kernel of sequences.

    Examples are a list of str, an array of str of shape (n,) or (n, 1), or
    :class:`~seqmtl.sequences.Windows`. Case is ignored. Letters other than single bases or amino
    acids match nothing, not even themselves.

    Parameters
    ----------
    normalize : bool, default=True
        Return k(x, z) / sqrt(k(x, x) k(z, z)), or 0 if a sequence has nothing that could match.
    alphabet : {"dna", "protein"}, default="dna"
        ``"dna"``: A, C, G, T count (U is read as T); N and the other IUPAC codes match nothing.
        ``"protein"``: the 20 amino acids count; B, J, O, U, X, Z and ``*-.`` match nothing.
    """

    inputs: ClassVar[str] = "sequences"
    normalize: bool = field(default=True, kw_only=True)
    alphabet: str = field(default="dna", kw_only=True)

    def check(self) -> None:
        """Check the parameters."""
        if self.alphabet not in ALPHABETS:
            names = " or ".join(repr(name) for name in ALPHABETS)
            raise ValueError(f"alphabet must be {names}, got {self.alphabet!r}")
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ValueError(f"normalize must be True or False, got {self.normalize!r}")

    def __call__(self, X: Any, Z: Any = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m), of n and m sequences."""
        x = self._read(X)
        z = x if Z is None else self._read(Z)
        values = self._matrix(x, z)
        if self.normalize:
            row = inverse_roots(self._diagonal(x))
            column = row if z is x else inverse_roots(self._diagonal(z))
            values *= np.outer(row, column)
        return values

    @abstractmethod
    def _read(self, X: Any) -> Any:
        """Convert sequences to the form that is compared."""

    @abstractmethod
    def _matrix(self, x: Any, z: Any) -> NDArray[np.float64]:
        """Compare all pairs; z is x if the matrix is symmetric."""

    @abstractmethod
    def _diagonal(self, x: Any) -> NDArray[np.float64]:
        """Compare every sequence with itself."""


@dataclass(frozen=True)
class WeightedDegreeKernel(StringKernel):
    """Weighted-degree kernel: equal substrings at equal, or nearby, positions.

    Parameters
    ----------
    degree : int, default=8
        Longest substring length D.
    shift : int, default=0
        Largest shift S, in letters, at which substrings still match.
    normalize : bool, default=True
        See :class:`StringKernel`.
    alphabet : {"dna", "protein"}, default="dna"
        See :class:`StringKernel`.

    Notes
    -----
    With mu_d(x, l; z, l') = 1 if the d-mers of x at l and of z at l' are equal, and
    beta_d = 2 (D - d + 1) / (D (D + 1)), delta_s = 1 / (2 (s + 1)),

        k(x, z) = sum_d beta_d sum_{s=0..S} delta_s
                  sum_l ( mu_d(x, l + s; z, l) + mu_d(x, l; z, l + s) )

    where both d-mers must lie in the sequence. S = 0 is the kernel without shifts, and equals
    that of the features ``wd:D``. It is computed from runs of matches:
    the last of r matching letters adds beta_1 + ... + beta_min(r, D), so a pair costs O(L (S + 1)).

    The sequences must have equal lengths. The kernel is positive semi-definite for every S, because
    1 + sum_{s=1..S} cos(s w) / (s + 1) > 0 for all w (Rogosinski, Szegoe 1928).

    References
    ----------
    Raetsch, Sonnenburg (2004), weighted-degree kernel; Raetsch, Sonnenburg, Schoelkopf (2005),
    Bioinformatics 21, shifts.

    Examples
    --------
    >>> WeightedDegreeKernel(degree=2, normalize=False)(["ACGT", "AGGT"])
    array([[3.66..., 2.33...],
           [2.33..., 3.66...]])
    """

    degree: int = 8
    shift: int = 0

    def check(self) -> None:
        """Check the parameters."""
        super().check()
        check_integer("degree", self.degree, 1)
        check_integer("shift", self.shift, 0)

    def _read(self, X: Any) -> NDArray[np.uint8]:
        return letter_matrix(read_letters(X, self.alphabet))

    def _matrix(self, x: NDArray[np.uint8], z: NDArray[np.uint8]) -> NDArray[np.float64]:
        from seqmtl.kernels.string_loops import weighted_degree_matrix

        if len(x) and len(z) and x.shape[1] != z.shape[1]:
            raise ValueError(
                f"sequences of X and Z must be of equal length, got {x.shape[1]} and "
                f"{z.shape[1]}; cut them to the same length"
            )
        out = np.empty((len(x), len(z)))
        weighted_degree_matrix(x, z, self.shift, self._gain(x.shape[1]), z is x, out)
        return out

    def _diagonal(self, x: NDArray[np.uint8]) -> NDArray[np.float64]:
        from seqmtl.kernels.string_loops import weighted_degree_diagonal

        out = np.empty(len(x))
        weighted_degree_diagonal(x, self.shift, self._gain(x.shape[1]), out)
        return out

    def _gain(self, length: int) -> NDArray[np.float64]:
        """Return the gain of the last letter of a run of 0 .. length matches: beta_1 + .. + beta_r.

        It ends one d-mer of every d up to r.
        """
        D = self.degree
        beta = 2.0 * np.maximum(D - np.arange(length), 0) / (D * (D + 1))
        return np.concatenate([[0.0], np.cumsum(beta)])


@dataclass(frozen=True)
class KmerKernel(StringKernel):
    """A sum over all pairs of k-mers, one of each sequence, of a value per Hamming distance."""

    @property
    @abstractmethod
    def _length(self) -> int:
        """Length of a k-mer."""

    @abstractmethod
    def _values(self) -> NDArray[np.float64]:
        """Return the value of a pair of k-mers at distance 0 .. length."""

    def _check_length(self, name: str) -> None:
        """Check that a k-mer fits into 64 bits."""
        check_integer(name, self._length, 1, 64 // ALPHABETS[self.alphabet].bits)

    def _read(self, X: Any) -> CountMatrix:
        return count_kmers(read_letters(X, self.alphabet), self._length, self.alphabet)

    def _bits(self) -> tuple[int, np.uint64]:
        """Return the bits per letter, and a number with the lowest bit of every letter set."""
        bits = ALPHABETS[self.alphabet].bits
        return bits, np.uint64(sum(1 << (bits * j) for j in range(self._length)))

    def _matrix(self, x: CountMatrix, z: CountMatrix) -> NDArray[np.float64]:
        from seqmtl.kernels.string_loops import add_kmer_pairs

        values = self._values()
        if not values[1:].any():  # distinct k-mers never match: multiply the counts of shared ones
            common = np.intersect1d(x.kmers, z.kmers, assume_unique=True, return_indices=True)
            both = x.counts[:, common[1]] @ z.counts[:, common[2]].T
            return np.asarray(values[0] * both.toarray())
        n, m = x.counts.shape[0], z.counts.shape[0]
        of_x, of_z = _by_columns(x), _by_columns(z)
        out = np.zeros((m, n))
        add_kmer_pairs(
            x.kmers, z.kmers, of_x, of_z, *self._bits(), values, z is x, np.empty(n), out
        )
        return out + out.T if z is x else out.T

    def _diagonal(self, x: CountMatrix) -> NDArray[np.float64]:
        from seqmtl.kernels.string_loops import kmer_diagonal

        counts = x.counts
        values = self._values()
        if not values[1:].any():
            return values[0] * np.asarray(counts.power(2).sum(axis=1)).ravel()
        out = np.empty(counts.shape[0])
        kmer_diagonal(
            x.kmers, counts.indptr, counts.indices, counts.data, *self._bits(), values, out
        )
        return out


@dataclass(frozen=True)
class SpectrumKernel(KmerKernel):
    """Spectrum kernel: the inner product of the counts of all k-mers, regardless of position.

    Parameters
    ----------
    k : int, default=3
        Length of the k-mers, 1 to 32 (DNA) or 12 (proteins).
    normalize : bool, default=True
        See :class:`StringKernel`.
    alphabet : {"dna", "protein"}, default="dna"
        See :class:`StringKernel`.

    References
    ----------
    Leslie, Eskin, Noble (2002), The spectrum kernel.

    Examples
    --------
    >>> SpectrumKernel(k=2, normalize=False)(["ACAC", "CACACA"])
    array([[ 5.,  7.],
           [ 7., 13.]])
    """

    k: int = 3

    def check(self) -> None:
        """Check the parameters."""
        super().check()
        self._check_length("k")

    @property
    def _length(self) -> int:
        return self.k

    def _values(self) -> NDArray[np.float64]:
        return np.eye(self.k + 1)[0]


@dataclass(frozen=True)
class GappedKmerKernel(KmerKernel):
    """Gapped k-mer kernel: words of l letters, compared at any k of them.

    Parameters
    ----------
    length : int, default=8
        Length l of the words, 1 to 32 (DNA) or 12 (proteins).
    k : int, default=5
        Number of letters compared, 1 to l.
    normalize : bool, default=True
        See :class:`StringKernel`.
    alphabet : {"dna", "protein"}, default="dna"
        See :class:`StringKernel`.

    Notes
    -----
    For every choice of k of the l positions and every word of k letters there is a feature, which
    counts the l-mers with this word at these positions. Two l-mers at Hamming distance h share
    C(l - h, k) of them.

    References
    ----------
    Ghandi, Lee, Mohammad-Noori, Beer (2014), PLoS Computational Biology 10, gkm-SVM.

    Examples
    --------
    >>> GappedKmerKernel(length=3, k=2, normalize=False)(["ACG"], ["ACG", "ACT", "TTG"])
    array([[3., 1., 0.]])
    """

    length: int = 8
    k: int = 5

    def check(self) -> None:
        """Check the parameters."""
        super().check()
        self._check_length("length")
        check_integer("k", self.k, 1, self.length)

    @property
    def _length(self) -> int:
        return self.length

    def _values(self) -> NDArray[np.float64]:
        l = self.length
        return np.array([comb(l - h, self.k) for h in range(l + 1)], dtype=np.float64)


def _by_columns(x: CountMatrix) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return the counts in column format: column starts, rows, counts."""
    columns = x.counts.tocsc()
    return columns.indptr, columns.indices, columns.data
