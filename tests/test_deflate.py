"""The compression of numbers against zlib's decompression."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl.io._deflate_kernels import LONGEST, find_lengths, most_words, pack_bytes

ITEM = np.dtype([("start", "<u4"), ("value", "<f4")])


def pack(text, has_repeats):
    words = np.full(most_words(len(text)), 2**32 - 1, dtype="<u4")
    size = pack_bytes(np.frombuffer(text, dtype=np.uint8), has_repeats, words)
    return words.tobytes()[:size] + zlib.adler32(text).to_bytes(4, "big")


def items(n, seed=0):
    """Return rising places with a number each, as they stand in a bigWig section."""
    rng = np.random.default_rng(seed)
    rows = np.empty(n, dtype=ITEM)
    rows["start"] = 123_456 + np.cumsum(rng.integers(1, 40, n))
    rows["value"] = rng.standard_normal(n)
    return rows.tobytes()


@settings(deadline=None)
@given(
    text=st.one_of(
        st.binary(min_size=1, max_size=300),
        st.lists(st.sampled_from([b"\0" * 9, b"abcdefgh", b"12345678abc", b"xyz"])).map(b"".join),
        st.integers(1, 200).map(items),
    ).filter(len),
    has_repeats=st.booleans(),
)
def test_zlib_reads_what_was_packed(text, has_repeats):
    assert zlib.decompress(pack(text, has_repeats)) == text


@pytest.mark.parametrize("has_repeats", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        b"a",
        bytes(range(256)) * 200,
        np.random.default_rng(0).integers(0, 256, 1 << 16, dtype=np.uint8).tobytes(),
        b"".join(bytes([k]) * round(1.618**k) for k in range(22)),  # lengths would be over 14
        b"\0" * (1 << 16),
    ],
    ids=["one byte", "all bytes", "noise", "skewed", "zeros"],
)
def test_extremes(text, has_repeats):
    assert zlib.decompress(pack(text, has_repeats)) == text


@pytest.mark.parametrize("size", [5, 25, 40])
def test_lengths_are_those_of_a_complete_code(size):
    counts = np.zeros(60, dtype=np.int64)
    counts[3 : 3 + size] = np.rint(1.7 ** np.arange(size)).astype(np.int64)
    lengths = np.zeros(60, dtype=np.int64)
    find_lengths(counts, lengths)
    assert np.array_equal(lengths > 0, counts > 0)
    assert lengths.max() <= LONGEST
    assert np.sum(0.5 ** lengths[lengths > 0]) == 1
    assert np.all(np.diff(lengths[3 : 3 + size]) <= 0)


def test_numbers_are_as_small_as_zlib_makes_them_by_huffman_codes():
    text = np.random.default_rng(1).standard_normal(4096).astype("<f4").tobytes()
    packer = zlib.compressobj(1, strategy=zlib.Z_HUFFMAN_ONLY)
    by_zlib = packer.compress(text) + packer.flush()
    assert len(pack(text, False)) < 1.02 * len(by_zlib)


def test_items_are_nearly_as_small_as_zlib_makes_them():
    text = items(4096)
    assert len(pack(text, True)) < 1.05 * len(zlib.compress(text, 1)) < 0.9 * len(pack(text, False))
