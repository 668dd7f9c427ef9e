"""Convert sequences to codes and k-mers, the input of all string kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import CHECKED_CODES, OTHER

#: Code of a letter that matches nothing, not even itself.
NOTHING = 255

_INVALID = 254
_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
_OTHER_AMINO_ACIDS = "BJOUXZ*-."


class Alphabet(NamedTuple):
    """The letters that count, and the code of every byte."""

    bits: int  # per letter of a k-mer
    codes: NDArray[np.uint8]
    what: str


class Letters(NamedTuple):
    """Concatenated sequences."""

    codes: NDArray[np.uint8]  # (n_letters,)
    begins: NDArray[np.int64]  # (n + 1,)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of every sequence."""
        return np.diff(self.begins)


class CountMatrix(NamedTuple):
    """The k-mers of a given length in every sequence."""

    kmers: NDArray[np.uint64]  # (n_kmers,), the distinct ones, packed
    counts: Any  # csr_matrix of float64, (n, n_kmers)


def _dna() -> Alphabet:
    codes = np.frombuffer(CHECKED_CODES, dtype=np.uint8).copy()
    codes[codes > OTHER] = _INVALID
    codes[codes == OTHER] = NOTHING
    return Alphabet(2, codes, "nucleotides")


def _protein() -> Alphabet:
    codes = np.full(256, _INVALID, dtype=np.uint8)
    for letter in _OTHER_AMINO_ACIDS:
        codes[[ord(letter), ord(letter.lower())]] = NOTHING
    for code, letter in enumerate(_AMINO_ACIDS):
        codes[[ord(letter), ord(letter.lower())]] = code
    return Alphabet(5, codes, "amino acids")


ALPHABETS = {"dna": _dna(), "protein": _protein()}


def read_letters(X: Any, alphabet: str) -> Letters:
    """Encode sequences.

    Parameters
    ----------
    X : sequence of str, ndarray of str of shape (n,) or (n, 1), or Windows
        Letters in any case.
    alphabet : {"dna", "protein"}
        Alphabet of the sequences.

    Raises
    ------
    ValueError
        If a sequence is missing or empty, or has a letter outside the alphabet.
    TypeError
        If X is a single string, or windows are read as proteins.
    """
    if isinstance(X, Windows):
        return _letters_of_windows(X, alphabet)
    strings = _strings(X)
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    if not lengths.all():
        row = int(np.argmin(lengths))
        raise ValueError(f"sequences must not be empty, got '' in row {row}; leave the row out")
    raw = "".join(strings).encode("latin-1", errors="replace")
    codes = ALPHABETS[alphabet].codes[np.frombuffer(raw, dtype=np.uint8)]
    begins = np.concatenate([[0], np.cumsum(lengths)])
    invalid = np.flatnonzero(codes == _INVALID)
    if invalid.size:
        row = int(np.searchsorted(begins, invalid[0], side="right")) - 1
        letter = strings[row][int(invalid[0] - begins[row])]
        other = " or ".join(repr(name) for name in ALPHABETS if name != alphabet)
        raise ValueError(
            f"sequences must be of {ALPHABETS[alphabet].what}, got the letter {letter!r} in row "
            f"{row}; correct it, or choose alphabet={other}"
        )
    return Letters(codes, begins)


def _strings(X: Any) -> list[str]:
    """Return the sequences as a list, and check that every entry is a string."""
    if isinstance(X, (str, bytes)):
        raise TypeError(f"sequences must be a list or an array of str, got {X!r}; write [{X!r}]")
    strings = X if isinstance(X, list) else np.asarray(X, dtype=object)
    if not isinstance(strings, list):
        if strings.ndim == 2 and strings.shape[1] == 1:
            strings = strings[:, 0]
        if strings.ndim != 1:
            raise ValueError(
                f"sequences must be of shape (n,) or (n, 1), got {strings.shape}; "
                "give one string per example"
            )
        strings = strings.tolist()
    for row, sequence in enumerate(strings):
        if not isinstance(sequence, str):
            raise ValueError(
                f"sequences must be str, got {sequence!r} in row {row}; "
                "leave out rows without a sequence"
            )
    return strings


def _letters_of_windows(windows: Windows, alphabet: str) -> Letters:
    if alphabet != "dna":
        raise TypeError(f"Windows hold DNA, got alphabet={alphabet!r}; choose alphabet='dna'")
    matrix = windows.matrix()
    codes = np.where(matrix == OTHER, np.uint8(NOTHING), matrix).ravel()
    return Letters(codes, windows.length * np.arange(len(windows) + 1, dtype=np.int64))


def letter_matrix(letters: Letters) -> NDArray[np.uint8]:
    """Return sequences of equal length as codes of shape (n, length).

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    lengths = letters.lengths
    if lengths.size == 0:
        return np.empty((0, 0), dtype=np.uint8)
    other = np.flatnonzero(lengths != lengths[0])
    if other.size:
        raise ValueError(
            f"sequences must be of equal length, got {lengths[other[0]]} in row {other[0]} and "
            f"{lengths[0]} in row 0; cut them to the same length, or choose a kernel "
            "that counts k-mers"
        )
    return letters.codes.reshape(lengths.size, lengths[0])


def count_kmers(letters: Letters, length: int, alphabet: str) -> CountMatrix:
    """Count the k-mers of a given length; those with a letter that matches nothing are skipped.

    A letter takes 2 (DNA) or 5 bits (proteins) of a k-mer; the first is the most significant.

    Raises
    ------
    ValueError
        If a sequence is shorter than a k-mer.
    """
    from scipy.sparse import csr_matrix

    n = letters.lengths.size
    too_short = np.flatnonzero(letters.lengths < length)
    if too_short.size:
        raise ValueError(
            f"sequences must have at least {length} letters, got {letters.lengths[too_short[0]]} "
            f"in row {too_short[0]}; leave the row out, or choose shorter k-mers"
        )
    n_starts = max(letters.codes.size - length + 1, 0)
    packed = np.zeros(n_starts, dtype=np.uint64)
    clean = np.ones(n_starts, dtype=bool)
    for j in range(length):
        letter = letters.codes[j : j + n_starts]
        packed = (packed << np.uint64(ALPHABETS[alphabet].bits)) | letter
        clean &= letter != NOTHING
    rows = np.repeat(np.arange(n), letters.lengths)
    # the first and the last letter of a k-mer are of the same sequence
    inside = rows[:n_starts] == rows[rows.size - n_starts :]
    kmers, columns = np.unique(packed[clean & inside], return_inverse=True)
    rows = rows[:n_starts][clean & inside]
    counts = csr_matrix((np.ones(rows.size), (rows, columns)), shape=(n, kmers.size))
    return CountMatrix(kmers, counts)
