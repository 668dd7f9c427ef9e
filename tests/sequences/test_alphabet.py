"""Letters and codes."""

from __future__ import annotations

import numpy as np
from Bio.Seq import Seq
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.sequences import decode, encode, reverse_complement
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, NUCLEOTIDE_BYTES, OTHER


@given(st.text(alphabet="ACGTNacgtn", max_size=60))
def test_codes_agree_with_biopython(text):
    codes = encode(text)
    assert (codes.dtype, codes.flags.writeable) == (np.uint8, True)
    assert decode(codes) == text.upper()
    turned = str(Seq(text.upper()).reverse_complement())
    assert [decode(row) for row in reverse_complement(np.array([codes, codes]))] == [turned] * 2


def test_codes_of_every_byte():
    for byte in range(256):
        letter = chr(byte).upper().replace("U", "T")
        is_other = letter in "NRYSWKMBDHVX-*." and byte < 128
        expected = "ACGT".find(letter) if letter in "ACGT" else OTHER if is_other else INVALID
        assert CHECKED_CODES[byte] == expected
        assert encode(bytes([byte])) == min(expected, OTHER)
        assert (byte in NUCLEOTIDE_BYTES) == (expected != INVALID)
