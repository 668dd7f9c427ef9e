"""Scanning against brute force: strands, chunks, N, contig ends, and the files that are written."""

from __future__ import annotations

import gzip
import io
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl import use_threads
from seqmtl._threads import prefetch
from seqmtl.files.bgzip import bgzip
from seqmtl.io.genome import ContigPiece
from seqmtl.scanning import Scanner, SiteFinder, TrackOptions, write_scan
from seqmtl.scanning.blocks import cut_blocks, join_contigs
from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.writers.formats import format_of
from seqmtl.sequences import decode, encode
from seqmtl.sequences.sites import Sites
from tests.oracles import annotation
from tests.scanning.cases import make_contig

BIAS, LENGTH = 0.25, 12


def make_weights(rng, length, degree, scale=0.3):
    return [scale * rng.standard_normal((length, 4**d)) for d in range(1, degree + 1)]


#: A scanner of windows of 12 bases with a site of two.
WEIGHTS = make_weights(np.random.default_rng(3), LENGTH, 4)
SCANNER = Scanner(WEIGHTS, BIAS, site_offset=4, site_length=2)


def whole(text, name="contig"):
    return ContigPiece(name, 0, encode(text))


def brute_score(window, weights=WEIGHTS, bias=BIAS):
    """Score of one window, from the definition."""
    total = 0.0
    for d in range(1, len(weights) + 1):
        for position in range(len(window) - d + 1):
            word = window[position : position + d]
            if set(word) <= set("ACGT"):
                number = int("".join(str("ACGT".index(letter)) for letter in word), 4)
                total += weights[d - 1][position, number]
    return total + bias


def assert_scores(scanner, letters, text, strand, weights=WEIGHTS, bias=BIAS):
    """Compare the scores of letters with those of the windows of a text of A, C, G, T, N."""
    length = weights[0].shape[0]
    windows = [text[i : i + length] for i in range(len(text) - length + 1)]
    if strand == "-":
        windows = [annotation.reverse_complement(window) for window in windows]
    expected = np.array([brute_score(window, weights, bias) for window in windows])
    scores = scanner.scan_contig(encode(letters), strand)
    assert scores.dtype == np.float32
    assert scores.shape == expected.shape
    assert np.all(np.abs(scores - expected) <= scanner.max_error + 2e-7 * np.abs(expected))


class TestScores:
    @settings(max_examples=60)
    @given(
        length=st.integers(1, 30),
        degree=st.integers(1, 6),
        n=st.integers(0, 90),
        share_of_n=st.sampled_from([0.0, 0.02, 0.3]),
        scale=st.sampled_from([1e-4, 0.3, 50.0]),
        strand=st.sampled_from("+-"),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_equal_brute_force(self, length, degree, n, share_of_n, scale, strand, seed):
        """Of letters in lower case, too, and of others than N."""
        rng = np.random.default_rng(seed)
        weights = make_weights(rng, length, min(degree, length), scale)
        text = make_contig(rng, n, share_of_n)
        scanner = Scanner(weights, -0.7)
        assert scanner.max_error <= 1e-4
        letters = text.replace("N", "R")
        assert_scores(scanner, letters[:20].lower() + letters[20:], text, strand, weights, -0.7)

    def test_windows_with_other_letters_are_counted(self):
        codes = encode("ACGTNACGTACGNNACGTT")
        texts = [decode(codes[i : i + 4]) for i in range(16)]
        for first, last in [(0, 16), (2, 9), (5, 6), (7, 7)]:
            found = Scanner([np.zeros((4, 4))]).n_mixed(codes, first, last)
            assert found == sum("N" in text for text in texts[first:last])

    def test_a_read_only_contig_is_scanned(self):
        codes = np.frombuffer(encode("ACGT" * 10).tobytes(), dtype=np.uint8)
        assert SCANNER.scan_contig(codes, "-").shape == (29,)


class TestChunksAndThreads:
    @pytest.mark.parametrize("is_reverse", [False, True])
    def test_few_windows_get_the_bits_of_all(self, is_reverse):
        rng = np.random.default_rng(12)
        codes = encode(make_contig(rng, 400, 0.05))
        last = SCANNER.count(codes)
        for first, end in ((0, last), (3, last - 5)):
            every = SCANNER.score_range(codes, first, end, is_reverse)
            for share in (0.0, 0.02, 0.1, 0.5, 1.0):
                wanted = first + np.flatnonzero(rng.random(end - first) < share)
                found = SCANNER.score_range(codes, first, end, is_reverse, wanted)
                np.testing.assert_array_equal(found, every[wanted - first])

    @pytest.mark.parametrize("strand", ["+", "-"])
    def test_any_chunk_and_number_of_threads_gives_the_same_bits(self, strand):
        codes = encode(make_contig(np.random.default_rng(11), 150, 0.05))
        scores = SCANNER.scan_contig(codes, strand)
        for chunk in [*range(1, 21), 138, 139, 140, 10_000]:
            with use_threads(1 + chunk % 4):
                found = SCANNER.scan_contig(codes, strand, chunk)
            np.testing.assert_array_equal(found, scores)
        assert SCANNER.scan_contig(codes[: LENGTH - 1], strand).size == 0


class TestArguments:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"position_weights": []}, "at least the weights of degree 1"),
            ({"position_weights": [np.zeros((5, 5))]}, r"\[0\] must have shape \(5, 4\)"),
            ({"position_weights": [np.full((5, 4), np.inf)]}, r"\[0\] must be finite"),
            ({"position_weights": [np.zeros((0, 4))]}, "must be those of a window, got 0"),
            ({"site_offset": 5}, "site must lie in the window of 5 bases"),
            ({"site_offset": 4, "site_length": 2}, "site must lie in the window"),
        ],
    )
    def test_wrong_ones_are_refused(self, change, message):
        with pytest.raises(ValueError, match=message):
            Scanner(**{"position_weights": [np.zeros((5, 4))], **change})

    def test_wrong_scans_are_refused(self):
        with pytest.raises(ValueError, match="strand must be"):
            SCANNER.scan_contig(encode("ACGT"), "both")
        with pytest.raises(ValueError, match="chunk must be an integer of at least 1"):
            SCANNER.scan_contig(encode("ACGT"), "+", 0)
        for consensus in ("A", "AGG", "AN", "", "AG,", "AG GT"):
            with pytest.raises(ValueError, match="consensus must be 2 of the letters"):
                SiteFinder(SCANNER, consensus=consensus)


def brute_sites(text, words=None):
    """All sites (start, strand, score) of a contig, from strings."""
    rows = []
    for i in range(len(text) - LENGTH + 1):
        window = text[i : i + LENGTH]
        turned = annotation.reverse_complement(window)
        for strand, start, own in (("+", i + 4, window), ("-", i + LENGTH - 6, turned)):
            if words is None or own[4:6] in words:
                rows.append((start, strand, brute_score(own)))
    return sorted(rows, key=lambda row: (row[0], row[1]))


def found_in(piece, finder):
    """Return the sites of a whole contig."""
    return finder.find(piece, 0, piece.codes.size)[finder.signal]


class TestSites:
    @pytest.mark.parametrize("consensus", [None, "AG", "gt, GC"])
    @pytest.mark.parametrize("size", [1, 7, 64, 10_000])
    def test_equal_brute_force_in_any_blocks(self, consensus, size):
        text = make_contig(np.random.default_rng(21), 200, 0.03)
        expected = brute_sites(text, {None: None, "AG": ["AG"]}.get(consensus, ["GT", "GC"]))
        finder = SiteFinder(SCANNER, consensus=consensus, block=size)
        cut = list(cut_blocks([whole(text)], finder, ScanSummary()))
        assert all(block.first // size == (block.last - 1) // size for block in cut)
        counts = ScanSummary()
        sites = Sites.join([finder.find(*block, counts)["site"].in_order() for block in cut])
        strands = np.where(sites.is_reverse, "-", "+").tolist()
        found = list(zip(sites.starts.tolist(), strands, strict=True))
        assert found == [row[:2] for row in expected]
        assert np.abs(sites["scores"] - [row[2] for row in expected]).max() <= 1e-4
        assert counts.n_scored == 2 * (200 - LENGTH + 1)
        assert counts.n_reported == len(expected)

    def test_default_site_is_the_middle_base(self):
        assert Scanner([np.zeros((7, 4))]).site_offset == 3
        finder = SiteFinder(Scanner([np.zeros((6, 4))]))
        assert found_in(whole("ACGTAC"), finder).on_strand(True).starts.tolist() == [2]


CONTIGS = {
    "chrI": make_contig(np.random.default_rng(31), 400, 0.02),
    "tiny": "ACGTACG",
    "chr é|2": make_contig(np.random.default_rng(32), LENGTH),
    "chrIII": "N" * 40 + make_contig(np.random.default_rng(33), 90),
}


def scan(finder=None, pieces=None, **arguments):
    """Return all lines of a scan, its rows, and the summary."""
    stream = io.BytesIO()
    pieces = [whole(text, name) for name, text in CONTIGS.items()] if pieces is None else pieces
    summary = write_scan(stream, pieces, finder or SiteFinder(SCANNER), **arguments)
    every = stream.getvalue().decode().splitlines()
    return every, [line.split("\t") for line in every if not line.startswith("#")], summary


class TestFiles:
    def test_bed_header_names_columns_and_site(self):
        options = {"consensus": "AG", "filters": SiteFilters(threshold=0.5)}
        header, rows, _ = scan(SiteFinder(SCANNER, **options, log_odds=lambda s: 0 * s - np.log(3)))
        assert "windows of 12 bases, strands both, consensus AG, raw score >= 0.5" in header[0]
        assert "2 base(s) from offset 4" in header[1]
        assert "0-based half-open" in header[1]
        assert len(header[2][1:].split("\t")) == len(rows[0]) == 8
        assert (rows[0][4], rows[0][7]) == ("250", "0.250000")

    def test_bed_score_rises_with_the_probability_or_else_the_score(self):
        for options in ({"log_odds": lambda s: 3 * s + 1}, {}):
            _, rows, summary = scan(SiteFinder(SCANNER, **options))
            assert summary.n_records == len(rows)
            fields = np.array([row[4:8:2] for row in rows], dtype=float)
            order = np.argsort(fields[:, 1], kind="stable")
            assert np.all(np.diff(fields[order, 0]) >= 0)
            assert 0 <= fields[:, 0].min() <= fields[:, 0].max() <= 1000
        expected = 1000 / (1 + np.exp(-fields[:, 1]))
        np.testing.assert_allclose(fields[:, 0], expected, atol=0.6)

    def test_summary_and_short_contigs(self, caplog):
        progress = []
        with caplog.at_level(logging.WARNING, logger="seqmtl.scanning.scan"):
            _, _, summary = scan(progress=lambda *bases: progress.append(bases))
        assert summary.n_contigs == 4
        assert summary.n_bases == 400 + 7 + 12 + 130
        assert summary.n_scored == summary.n_records == 2 * (389 + 1 + 119)
        assert progress[-1] == (549,)
        assert summary.short_contigs == ["tiny"]
        windows = [text[i : i + 12] for text in CONTIGS.values() for i in range(len(text) - 11)]
        assert summary.n_mixed == 2 * sum("N" in window for window in windows)
        assert "1 of 4 contigs not scanned (shorter than a window of 12 bases)" in caplog.text
        assert "tiny" in caplog.text

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_contigs_are_read_in_order_until_an_error(self, n_threads):
        def numbers():
            yield from range(3)
            raise OSError("lost the disk")

        read = []
        with use_threads(n_threads), pytest.raises(OSError, match="lost the disk"):
            read.extend(prefetch(numbers()))
        assert read == [0, 1, 2]
        with use_threads(n_threads):
            assert [*prefetch(iter("abc"))] == ["a", "b", "c"]
            assert [*prefetch([])] == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"file_format": "gff"}, r"file_format must be one of bigwig, .*, got 'gff'"),
            ({"track": TrackOptions("log")}, "value must be one of score, probability, got 'log'"),
            ({"track": TrackOptions("probability")}, "probabilities as values need log_odds"),
        ],
    )
    def test_formats_and_values_that_cannot_be_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            scan(pieces=[], **options)

    def test_format_by_name(self):
        names = {
            "bed": "a.bed a.bed.gz sites - a.b/sites",
            "bigwig": "a.bigWig",
            "gff3": "a.GFF",
            "spsc": "a.tsv.gz a.spsc",
        }
        for expected, own in names.items():
            assert {format_of(None, name).name for name in own.split()} == {expected}
        for name in ("a.txt", "a.vcf.gz", "c.elegans"):
            with pytest.raises(ValueError, match=r"one of \.bw .* \.bed .*; or name the format"):
                format_of(None, name)

    def test_blocks_are_bgzip(self):
        from Bio import bgzf

        text = np.random.default_rng(0).integers(0, 256, 200_000, dtype=np.uint8).tobytes()
        packed = bgzip(text)
        blocks = list(bgzf.BgzfBlocks(io.BytesIO(packed)))
        assert sum(block[3] for block in blocks) == len(text)
        assert len(blocks) == 4
        assert gzip.decompress(packed) == text
        assert bgzip(b"") == b""


class TestSmallContigs:
    """Assemblies in pieces: contigs are scanned together, with the results of each alone."""

    def contigs(self):
        rng = np.random.default_rng(9)
        sizes = [LENGTH, LENGTH - 1, 1, LENGTH + 1, *rng.integers(1, 60, 40), 2 * LENGTH, 3]
        return {f"c{i}": make_contig(rng, int(n), 0.2) for i, n in enumerate(sizes)}

    def pieces(self, contigs):
        return [ContigPiece(name, 0, encode(text)) for name, text in contigs.items()]

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"consensus": "AG", "filters": SiteFilters(threshold=0.0)},
            {"consensus": "GT,GC"},
        ],
    )
    @pytest.mark.parametrize(("file_format", "block"), [("bed", 70), ("gff3", 250_000)])
    def test_they_have_the_lines_and_counts_of_each_alone(self, options, block, file_format):
        pieces, finder = self.pieces(self.contigs()), SiteFinder(SCANNER, **options, block=block)
        together = scan(finder, pieces, file_format=file_format)
        alone = [scan(finder, [piece], file_format=file_format) for piece in pieces]
        assert together[1] == [row for _, rows, _ in alone for row in rows] != []
        summary = together[2]
        for name in ("n_scored", "n_mixed", "n_candidates", "n_reported", "n_contigs", "n_bases"):
            assert getattr(summary, name) == sum(getattr(own, name) for *_, own in alone)
        assert summary.short_contigs == [c for *_, own in alone for c in own.short_contigs] != []
        for key, n in summary.removed.items():
            assert n == sum(own.removed.get(key, 0) for *_, own in alone)

    def test_the_jobs_are_as_many_as_the_bases_ask_for(self):
        pieces = [whole("ACGTA" * 60, f"c{i}") for i in range(5_000)]
        finder = SiteFinder(SCANNER)
        blocks = list(cut_blocks(pieces, finder, ScanSummary()))
        assert len(blocks) <= 2 * 5_000 * 301 / finder.block
        filters = SiteFilters(regions={"c1": (np.array([0]), np.array([9]))})
        for own in (filters, SiteFilters(top=1)):
            assert list(join_contigs(pieces[:3], SiteFinder(SCANNER, filters=own))) == pieces[:3]
