"""Letters and codes."""

from __future__ import annotations

import numpy as np
import pytest
from Bio.Seq import Seq
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.sequences import decode, encode, reverse_complement
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, NUCLEOTIDE_BYTES, OTHER

dna = st.text(alphabet="ACGTNacgtn", max_size=60)


def test_encode_gives_the_documented_codes():
    assert encode("ACGTacgtUuNnRy-*").tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 3, 3] + [4] * 6


def test_encode_takes_bytes_and_returns_writable_codes():
    codes = encode(b"ACGT")
    assert codes.dtype == np.uint8
    assert codes.flags.writeable
    assert encode("").size == 0


@given(dna)
def test_decode_undoes_encode(text):
    assert decode(encode(text)) == text.upper()


@given(dna)
def test_reverse_complement_twice_is_the_identity(text):
    codes = encode(text)
    assert np.array_equal(reverse_complement(reverse_complement(codes)), codes)


@given(dna)
def test_reverse_complement_agrees_with_biopython(text):
    assert decode(reverse_complement(encode(text))) == str(Seq(text.upper()).reverse_complement())


def test_reverse_complement_works_along_the_last_axis():
    codes = np.array([encode("ACGN"), encode("TTTT")])
    assert [decode(row) for row in reverse_complement(codes)] == ["NCGT", "AAAA"]


@pytest.mark.parametrize("byte", range(256))
def test_checked_codes_know_every_byte(byte):
    letter = chr(byte).upper()
    if letter in "ACGT":
        expected = "ACGT".index(letter)
    elif letter == "U":
        expected = 3
    elif letter in "NRYSWKMBDHVX-*." and byte < 128:
        expected = OTHER
    else:
        expected = INVALID
    assert CHECKED_CODES[byte] == expected
    assert (byte in NUCLEOTIDE_BYTES) == (expected != INVALID)
