"""Convert letters to codes and back: A, C, G, T in either case are 0 to 3, all others 4."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Code of every letter other than A, C, G or T; it matches nothing, not even itself.
OTHER = 4

LETTERS = b"ACGTN"

#: Value in :data:`CHECKED_CODES` of a byte that is invalid in a nucleotide sequence.
INVALID = 255

#: Valid bytes of a nucleotide sequence: IUPAC letters in either case, X, gaps and stop.
NUCLEOTIDE_BYTES = b"ACGTUNRYSWKMBDHVXacgtunryswkmbdhvx-*."


def _code_table(other: int) -> bytes:
    """Return the code of every byte, for ``bytes.translate``."""
    table = bytearray([other] * 256)
    for byte in NUCLEOTIDE_BYTES:
        table[byte] = OTHER
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
        for byte in letters:
            table[byte] = code
    return bytes(table)


_CODES = _code_table(OTHER)
#: Code of every byte, or :data:`INVALID` if it is not a nucleotide letter.
CHECKED_CODES = _code_table(INVALID)

#: Letters of amino acids that are not letters of nucleotides.
PROTEIN_LETTERS = frozenset("EFILPQ")


def is_protein(sequence: bytes) -> bool:
    """Return whether most letters of a sequence, but N and X, are not A, C, G, T or U."""
    counts = {letter: sequence.upper().count(letter) for letter in b"ABCDEFGHIJKLMOPQRSTUVWYZ"}
    return 2 * sum(counts[letter] for letter in b"ACGTU") < sum(counts.values())


def letter_remedy(sequence: bytes) -> str:
    """Return what to do with a sequence that has a letter that is not of nucleotides."""
    if is_protein(sequence):
        return "this looks like a protein: give nucleotides"
    return "correct the sequence"


_LETTER_OF_CODE = np.frombuffer(LETTERS, dtype=np.uint8)
_COMPLEMENT = np.array([3, 2, 1, 0, OTHER], dtype=np.uint8)


def encode(sequence: bytes | str) -> NDArray[np.uint8]:
    """Encode letters.

    Parameters
    ----------
    sequence : bytes or str
        Nucleotides; U is read as T.

    Returns
    -------
    ndarray of uint8, shape (len(sequence),)
        0 to 3 for A, C, G, T in either case, 4 for every other letter.
    """
    raw = sequence.encode("latin-1") if isinstance(sequence, str) else sequence
    return np.frombuffer(bytearray(raw.translate(_CODES)), dtype=np.uint8)


def decode(codes: NDArray[np.uint8]) -> str:
    """Convert codes to upper-case letters, 4 to N."""
    return _LETTER_OF_CODE[codes].tobytes().decode("ascii")


def reverse_complement(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Reverse the last axis and complement each code; 4 stays 4."""
    return _COMPLEMENT[codes[..., ::-1]]
