"""bigWig files against two readers that know nothing of this writer."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl.io.bigwig import ZOOM_BASES, BigWigLayout

pybigwig = pytest.importorskip("pyBigWig")


def pack(layout, contig, starts, values):
    return layout.pack([contig], np.zeros(starts.size, np.int64), starts, values)


def write(path, lengths, tracks, step=100_000):
    """Write {contig: (starts, values)}, appended in parts of `step` values."""
    layout = BigWigLayout(lengths)
    with open(path, "w+b") as stream, io.BytesIO() as sections, io.BytesIO() as zoom:
        stream.write(layout.head())
        for contig in lengths:
            starts, values = tracks.get(contig, (np.zeros(0, np.int64), np.zeros(0)))
            for first in range(0, starts.size, step):
                part = slice(first, first + step)
                data, rows, bins = pack(layout, contig, starts[part], values[part])
                rows["offset"] += np.uint64(stream.tell())
                stream.write(data)
                sections.write(rows.tobytes())
                zoom.write(bins.tobytes())
        layout.finish(stream, sections, zoom)
    return path


def dense(length, track):
    values = np.full(length, np.nan, dtype=np.float32)
    if track is not None:
        values[track[0]] = track[1]
    return values


def random_track(rng, length, share, run=None):
    starts = np.flatnonzero(rng.random(length) < share)
    if run is not None:
        starts = np.union1d(starts, np.arange(*run))
    return starts, rng.normal(size=starts.size).astype(np.float32)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    rng = np.random.default_rng(1)
    lengths = {"chr2": 300_000, "chr10": 120_000, "chr é": 5_000, "empty": 77, "chr1": 40_000}
    tracks = {
        "chr2": random_track(rng, 300_000, 0.06, (100_000, 180_000)),
        "chr10": random_track(rng, 120_000, 1.0),
        "chr é": random_track(rng, 5_000, 0.3),
        "chr1": (np.array([0, 39_999]), np.array([-1.5, 2.5], dtype=np.float32)),
    }
    tracks["chr10"][1][5_000:60_000] = 0.25
    path = write(tmp_path_factory.mktemp("bw") / "a.bw", lengths, tracks)
    return path, lengths, tracks


def test_values_are_what_was_written(case):
    path, lengths, tracks = case
    with pybigwig.open(str(path)) as file:
        assert file.isBigWig()
        assert file.chroms() == lengths
        for contig, length in lengths.items():
            expected = dense(length, tracks.get(contig))
            np.testing.assert_array_equal(file.values(contig, 0, length, numpy=True), expected)
            intervals = file.intervals(contig) or ()
            assert sum(end - start for start, end, _ in intervals) == np.isfinite(expected).sum()


def test_summaries_of_every_zoom_level_are_those_of_the_values(case):
    path, lengths, tracks = case
    with pybigwig.open(str(path)) as file:
        assert file.header()["nLevels"] == 6  # 250 * 4**5 is the last below the longest contig
        for contig in ("chr2", "chr10"):
            values = dense(lengths[contig], tracks[contig])
            for level in range(6):
                bases = ZOOM_BASES * 4**level * 2  # bins that end where records do
                n_bins = lengths[contig] // bases
                if n_bins == 0:
                    continue
                bins = values[: n_bins * bases].reshape(n_bins, bases)
                for kind, summary in (("mean", np.nanmean), ("min", np.nanmin), ("max", np.nanmax)):
                    found = file.stats(contig, 0, n_bins * bases, type=kind, nBins=n_bins)
                    expected = summary(bins.astype(np.float64), axis=1)
                    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
                found = file.stats(contig, 0, n_bins * bases, type="coverage", nBins=n_bins)
                np.testing.assert_allclose(found, np.isfinite(bins).mean(axis=1), atol=1e-6)
                found = file.stats(contig, 0, n_bins * bases, type="std", nBins=n_bins)
                expected = np.nanstd(bins.astype(np.float64), axis=1, ddof=1)
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_totals_are_those_of_the_values(case):
    path, _, tracks = case
    every = np.concatenate([values for _, values in tracks.values()]).astype(np.float64)
    raw = path.read_bytes()
    magic, version, n_levels = struct.unpack_from("<IHH", raw)
    assert (magic, version, n_levels) == (0x888FFC26, 4, 6)
    n, lowest, highest, total, squares = struct.unpack_from(
        "<Qdddd", raw, struct.unpack_from("<Q", raw, 44)[0]
    )
    assert n == every.size
    assert (lowest, highest) == (every.min(), every.max())
    assert total == pytest.approx(every.sum(), rel=1e-6)
    assert squares == pytest.approx((every**2).sum(), rel=1e-6)
    assert raw[-4:] == raw[:4]


def test_neighbours_take_less_room_than_scattered_bases(case):
    layout = BigWigLayout({"c": 100_000})
    values = np.random.default_rng(0).normal(size=2048).astype(np.float32)
    run = pack(layout, "c", np.arange(2048), values)
    apart = pack(layout, "c", 7 * np.arange(2048), values)
    kinds = [zlib.decompress(data)[20] for data, *_ in (run, apart)]
    assert kinds == [3, 2]
    assert len(run[0]) < len(apart[0])


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), step=st.integers(1, 400), share=st.sampled_from([0.05, 1.0]))
def test_any_parts_give_the_same_values(tmp_path_factory, seed, step, share):
    rng = np.random.default_rng(seed)
    lengths = {f"c{i}": int(n) for i, n in enumerate(rng.integers(1, 900, rng.integers(1, 5)))}
    tracks = {name: random_track(rng, n, share) for name, n in lengths.items()}
    path = write(tmp_path_factory.getbasetemp() / "any.bw", lengths, tracks, step)
    with pybigwig.open(str(path)) as file:
        for contig, length in lengths.items():
            found = file.values(contig, 0, length, numpy=True)
            np.testing.assert_array_equal(found, dense(length, tracks[contig]))


@pytest.mark.parametrize("n", [1, 256, 257, 70_000])
def test_any_number_of_contigs_is_found_by_name(tmp_path, n):
    lengths = {f"scaffold_{i}": 10 + i for i in range(n)}
    last = f"scaffold_{n - 1}"
    tracks = {last: (np.array([3]), np.array([7.5]))}
    path = write(tmp_path / "many.bw", lengths, tracks)
    with pybigwig.open(str(path)) as file:
        assert file.chroms() == lengths
        assert file.values(last, 2, 5)[1] == 7.5
    names = _search(path.read_bytes(), last.encode())
    assert names == (n - 1, lengths[last])


def _search(raw, name):
    """Walk the tree of contigs as a browser does, by binary order of the keys."""
    at = struct.unpack_from("<Q", raw, 8)[0]
    magic, _, key_size, value_size, _, _ = struct.unpack_from("<IIIIQQ", raw, at)
    assert (magic, value_size) == (0x78CA8C91, 8)
    key, at = name.ljust(key_size, b"\0"), at + 32
    while True:
        is_leaf, _, count = struct.unpack_from("<BBH", raw, at)
        keys = [
            raw[at + 4 + i * (key_size + 8) : at + 4 + i * (key_size + 8) + key_size]
            for i in range(count)
        ]
        assert keys == sorted(keys)
        i = keys.index(key) if is_leaf else sum(k <= key for k in keys) - 1
        value = at + 4 + i * (key_size + 8) + key_size
        if is_leaf:
            return struct.unpack_from("<II", raw, value)
        at = struct.unpack_from("<Q", raw, value)[0]


def test_no_values_at_all_are_still_a_file(tmp_path):
    path = write(tmp_path / "empty.bw", {"c": 100}, {})
    with pybigwig.open(str(path)) as file:
        assert file.chroms() == {"c": 100}
        assert file.intervals("c") is None
        assert file.stats("c") == [None]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_wrong_values_and_contigs_are_refused():
    for starts, values, message in (
        ([5, 10], [1.0, 2.0], "must be inside c of 10 bases, got 5 to 10"),
        ([-1, 3], [1.0, 2.0], "must be inside c"),
        ([3, 3], [1.0, 2.0], "must rise and their values be finite"),
        *(
            ([3, 4], [1.0, wrong], "must rise and their values")
            for wrong in (np.nan, np.inf, 1e300)
        ),
    ):
        with pytest.raises(ValueError, match=message):
            pack(BigWigLayout({"c": 10}), "c", np.array(starts), np.array(values))
    for lengths in ({}, {"c": 0}, {"c": 2**32}):
        with pytest.raises(ValueError, match=r"needs the lengths|must have 1 to"):
            BigWigLayout(lengths)


def test_many_small_contigs_are_packed_together(tmp_path):
    """Sections are of one contig, records of a zoom level may be of several."""
    rng = np.random.default_rng(4)
    lengths = {f"c{i}": int(rng.integers(1, 900)) for i in range(500)}
    tracks = {name: random_track(rng, n, 0.4, (5, n - 5)) for name, n in lengths.items() if n > 99}
    layout, sizes = BigWigLayout(lengths), [len(starts) for starts, _ in tracks.values()]
    starts, values = (np.concatenate(column) for column in zip(*tracks.values(), strict=True))
    numbers = np.repeat(np.arange(len(tracks)), sizes)
    packed, _, zoom = layout.pack([*tracks], numbers, starts, values)
    alone = [pack(layout, name, *track) for name, track in tracks.items()]
    assert packed == b"".join(data for data, *_ in alone)
    assert zoom.tobytes() == b"".join(bins.tobytes() for *_, bins in alone)
    path = write(tmp_path / "x.bw", lengths, tracks)
    with pybigwig.open(str(path)) as file:
        for name, n in lengths.items():
            wanted = dense(n, tracks.get(name))
            np.testing.assert_array_equal(file.values(name, 0, n, numpy=True), wanted)
            for kind, function in (("max", np.nanmax), ("min", np.nanmin)):
                (found,) = file.stats(name, 0, n, type=kind)
                assert found == (function(wanted) if name in tracks else None)
    with pytest.raises(ValueError, match="bases must be inside c1 of"):
        layout.pack(["c0", "c1"], np.array([0, 1]), np.array([0, 900]), np.zeros(2))
