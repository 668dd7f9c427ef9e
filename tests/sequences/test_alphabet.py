"""Letters and codes."""

from __future__ import annotations

import numpy as np
from Bio.Seq import Seq
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.sequences import decode, encode, reverse_complement
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, NUCLEOTIDE_BYTES, OTHER

dna = st.text(alphabet="ACGTNacgtn", max_size=60)


def test_encode_returns_writable_codes():
    codes = encode(b"ACGT")
    assert codes.dtype == np.uint8
    assert codes.flags.writeable
    assert encode("").size == 0


@given(dna)
def test_codes_agree_with_biopython(text):
    assert decode(encode(text)) == text.upper()
    assert decode(reverse_complement(encode(text))) == str(Seq(text.upper()).reverse_complement())


def test_reverse_complement_works_along_the_last_axis():
    codes = np.array([encode("ACGN"), encode("TTTT")])
    assert [decode(row) for row in reverse_complement(codes)] == ["NCGT", "AAAA"]


def test_codes_of_every_byte():
    for byte in range(256):
        letter = chr(byte).upper()
        if letter in "ACGTU":
            expected = "ACGTU".index(letter) if letter != "U" else 3
        else:
            is_known = letter in "NRYSWKMBDHVX-*." and byte < 128
            expected = OTHER if is_known else INVALID
        assert CHECKED_CODES[byte] == expected
        assert encode(bytes([byte])) == min(expected, OTHER)
        assert (byte in NUCLEOTIDE_BYTES) == (expected != INVALID)
