"""Scanning against brute force: strands, chunks, N, contig ends, and the files that are written."""

from __future__ import annotations

import gzip
import io
import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl import use_threads
from seqmtl.files.bgzip import bgzip
from seqmtl.io.genome import ContigPiece, open_pieces
from seqmtl.scan import Scanner, SiteFinder, Track, lines, write_scan
from seqmtl.scan.blocks import cut_blocks
from seqmtl.scan.formats import merge_values
from seqmtl.scan.summary import ScanSummary
from seqmtl.scan.writers import guess_format
from seqmtl.sequences import decode, encode, reverse_complement
from seqmtl.sequences.sites import Sites
from tests.scan.cases import flip, make_contig


def make_weights(rng, length, degree, scale=0.3):
    return [scale * rng.standard_normal((length, 4**d)) for d in range(1, degree + 1)]


def whole(codes, name="contig"):
    return ContigPiece(name, 0, codes, True)


def brute_score(window, weights, bias):
    """Score of one window, from the definition."""
    total = 0.0
    for d in range(1, len(weights) + 1):
        for position in range(len(window) - d + 1):
            word = window[position : position + d]
            if set(word) <= set("ACGT"):
                number = int("".join(str("ACGT".index(letter)) for letter in word), 4)
                total += weights[d - 1][position, number]
    return total + bias


def brute_scan(text, weights, bias, strand):
    length = weights[0].shape[0]
    windows = [text[i : i + length] for i in range(len(text) - length + 1)]
    if strand == "-":
        windows = [flip(window) for window in windows]
    return np.array([brute_score(window, weights, bias) for window in windows])


def assert_close(scores, expected, scanner):
    assert scores.dtype == np.float32
    assert scores.shape == expected.shape
    slack = scanner.max_error + 2e-7 * np.abs(expected)
    assert np.all(np.abs(scores - expected) <= slack)


@pytest.fixture
def small():
    """A scanner of windows of 12 bases with a site of two, and its weights."""
    rng = np.random.default_rng(3)
    weights = make_weights(rng, 12, 4)
    return Scanner(weights, 0.25, site_offset=4, site_length=2), weights


class TestScores:
    @settings(max_examples=60)
    @given(
        length=st.integers(1, 30),
        degree=st.integers(1, 6),
        n=st.integers(0, 90),
        share_of_n=st.sampled_from([0.0, 0.02, 0.3]),
        strand=st.sampled_from("+-"),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_equal_brute_force(self, length, degree, n, share_of_n, strand, seed):
        rng = np.random.default_rng(seed)
        degree = min(degree, length)
        weights = make_weights(rng, length, degree)
        text = make_contig(rng, n, share_of_n)
        scanner = Scanner(weights, -0.7)
        assert scanner.max_error <= 1e-4
        scores = scanner.scan_contig(encode(text), strand)
        assert_close(scores, brute_scan(text, weights, -0.7, strand), scanner)

    @pytest.mark.parametrize("scale", [1e-4, 1.0, 50.0])
    def test_are_exact_to_1e_4_at_any_scale_of_weights(self, scale):
        rng = np.random.default_rng(8)
        weights = make_weights(rng, 40, 5, scale)
        text = make_contig(rng, 300, 0.02)
        scanner = Scanner(weights, 0.0)
        expected = brute_scan(text, weights, 0.0, "+")
        assert np.abs(scanner.scan_contig(encode(text)) - expected).max() <= 1e-4

    def test_single_precision_weights_give_the_same(self, small):
        _, weights = small
        rounded = [w.astype(np.float32) for w in weights]
        codes = encode(make_contig(np.random.default_rng(0), 100))
        np.testing.assert_array_equal(
            Scanner(rounded).scan_contig(codes),
            Scanner([w.astype(np.float64) for w in rounded]).scan_contig(codes),
        )

    def test_case_and_iupac_letters(self, small):
        scanner, weights = small
        text = make_contig(np.random.default_rng(1), 80)
        mixed = text[:20].lower() + "R" + text[21:50] + "y-" + text[52:]
        plain = text[:20] + "N" + text[21:50] + "NN" + text[52:]
        scores = scanner.scan_contig(encode(mixed))
        assert_close(scores, brute_scan(plain, weights, 0.25, "+"), scanner)

    def test_window_without_a_letter_has_the_bias(self, small):
        scanner, _ = small
        np.testing.assert_array_equal(scanner.scan_contig(encode("N" * 30)), np.float32(0.25))

    def test_a_site_beyond_reach_of_a_long_run_of_n_is_not_touched(self, small):
        scanner, _ = small
        rng = np.random.default_rng(2)
        left, right = make_contig(rng, 50), make_contig(rng, 60)
        scores = scanner.scan_contig(encode(left + "N" * 500 + right))
        np.testing.assert_array_equal(scores[: 50 - 11], scanner.scan_contig(encode(left)))
        np.testing.assert_array_equal(scores[550:], scanner.scan_contig(encode(right)))

    @settings(max_examples=30)
    @given(n=st.integers(0, 120), seed=st.integers(0, 2**32 - 1))
    def test_reverse_complement_swaps_the_strands(self, n, seed):
        rng = np.random.default_rng(seed)
        scanner = Scanner(make_weights(rng, 9, 3), 0.1)
        codes = encode(make_contig(rng, n, 0.05))
        turned = reverse_complement(codes)
        for strand, other in ("+-", "-+"):
            np.testing.assert_array_equal(
                scanner.scan_contig(codes, strand), scanner.scan_contig(turned, other)[::-1]
            )

    @pytest.mark.parametrize("n", [0, 1, 11])
    def test_contigs_shorter_than_a_window_give_nothing(self, small, n):
        scanner, _ = small
        codes = encode("A" * n)
        assert scanner.count(codes) == 0
        assert scanner.scan_contig(codes).shape == (0,)
        assert list(scanner.scan_chunks(codes, "-")) == []

    def test_contig_of_one_window(self, small):
        scanner, weights = small
        text = "ACGTACGTTGCA"
        expected = brute_scan(text, weights, 0.25, "-")
        assert_close(scanner.scan_contig(encode(text), "-"), expected, scanner)

    @pytest.mark.parametrize("is_reverse", [False, True])
    def test_windows_with_other_letters_are_counted(self, is_reverse):
        codes = encode("ACGTNACGTACGNNACGTT")
        texts = [decode(codes[i : i + 4]) for i in range(16)]
        for first, last in [(0, 16), (2, 9), (5, 6), (7, 7)]:
            found = Scanner([np.zeros((4, 4))]).score_range(codes, first, last, is_reverse)
            assert found.n_mixed == sum("N" in text for text in texts[first:last])

    def test_a_read_only_contig_is_scanned(self, small):
        scanner, _ = small
        codes = np.frombuffer(encode("ACGT" * 10).tobytes(), dtype=np.uint8)
        assert scanner.scan_contig(codes, "-").shape == (29,)


class TestChunksAndThreads:
    @pytest.mark.parametrize("is_reverse", [False, True])
    def test_few_windows_get_the_bits_of_all(self, small, is_reverse):
        scanner, _ = small
        rng = np.random.default_rng(12)
        codes = encode(make_contig(rng, 400, 0.05))
        last = scanner.count(codes)
        for first, end in ((0, last), (3, last - 5)):
            every = scanner.score_range(codes, first, end, is_reverse)
            for share in (0.0, 0.02, 0.1, 0.5, 1.0):
                wanted = first + np.flatnonzero(rng.random(end - first) < share)
                found = scanner.score_range(codes, first, end, is_reverse, wanted)
                np.testing.assert_array_equal(found.scores, every.scores[wanted - first])
                assert found.n_mixed == every.n_mixed

    @pytest.mark.parametrize("strand", ["+", "-"])
    def test_any_chunk_gives_the_same_bits(self, small, strand):
        scanner, _ = small
        codes = encode(make_contig(np.random.default_rng(11), 150, 0.05))
        whole = scanner.scan_contig(codes, strand)
        for chunk in [*range(1, 21), 138, 139, 140, 10_000]:
            pieces = list(scanner.scan_chunks(codes, strand, chunk))
            assert [first for first, _ in pieces] == list(range(0, whole.size, chunk))
            assert all(part.size <= chunk for _, part in pieces)
            joined = np.concatenate([part for _, part in pieces])
            np.testing.assert_array_equal(joined, whole)

    @pytest.mark.parametrize("n_threads", [2, 5])
    def test_any_number_of_threads_gives_the_same_bits(self, n_threads):
        rng = np.random.default_rng(12)
        weights = make_weights(rng, 20, 5)
        codes = encode(make_contig(rng, 5000, 0.01))
        scanner = Scanner(weights)
        for strand in "+-":
            with use_threads(n_threads):
                pieces = list(scanner.scan_chunks(codes, strand, 123))
            whole = np.concatenate([part for _, part in pieces])
            np.testing.assert_array_equal(whole, scanner.scan_contig(codes, strand))

    def test_a_scan_can_be_left_early(self, small):
        _, weights = small
        with use_threads(2):
            chunks = Scanner(weights).scan_chunks(encode("ACGTT" * 100), "+", 7)
            assert next(chunks)[0] == 0
            chunks.close()


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
        arguments = {"position_weights": [np.zeros((5, 4))], **change}
        with pytest.raises(ValueError, match=message):
            Scanner(**arguments)

    def test_wrong_scans_are_refused(self, small):
        scanner, _ = small
        with pytest.raises(ValueError, match="strand must be"):
            scanner.scan_contig(encode("ACGT"), "both")
        with pytest.raises(ValueError, match="chunk must be at least 1"):
            list(scanner.scan_chunks(encode("ACGT"), "+", 0))
        with pytest.raises(ValueError, match="strands must be 'both'"):
            SiteFinder(scanner, strands="plus")

    @pytest.mark.parametrize("consensus", ["A", "AGG", "AN", "", "AG,", "AG GT"])
    def test_wrong_consensus_is_refused(self, small, consensus):
        with pytest.raises(ValueError, match="consensus must be 2 of the letters"):
            SiteFinder(small[0], consensus=consensus)


def brute_sites(text, scanner, weights, words):
    """All sites (start, strand, score) of a contig, from strings."""
    rows = []
    offset, width, length = scanner.site_offset, scanner.site_length, scanner.length
    for i in range(len(text) - length + 1):
        window = text[i : i + length]
        if words is None or window[offset : offset + width] in words:
            rows.append((i + offset, "+", brute_score(window, weights, scanner.bias)))
        window = flip(window)
        if words is None or window[offset : offset + width] in words:
            start = i + length - offset - width
            rows.append((start, "-", brute_score(window, weights, scanner.bias)))
    return sorted(rows, key=lambda row: (row[0], row[1]))


def found_in(piece, finder):
    """Return the sites of a whole contig."""
    return finder.find(piece, 0, piece.codes.size).streams[finder.signal]


class TestSites:
    @pytest.mark.parametrize("consensus", [None, "AG", "gt, GC"])
    @pytest.mark.parametrize("size", [1, 7, 64, 10_000])
    def test_equal_brute_force_in_any_blocks(self, small, consensus, size):
        scanner, weights = small
        text = make_contig(np.random.default_rng(21), 200, 0.03)
        words = None if consensus is None else {"AG": ["AG"]}.get(consensus, ["GT", "GC"])
        expected = brute_sites(text, scanner, weights, words)
        finder = SiteFinder(scanner, consensus=consensus)
        cut = list(cut_blocks([whole(encode(text))], finder, size, ScanSummary()))
        assert all(block.first // size == (block.last - 1) // size for block in cut)
        blocks = [finder.find(block.piece, block.first, block.last) for block in cut]
        sites = Sites.join([block.streams["site"].in_order() for block in blocks])
        strands = np.where(sites.is_reverse, "-", "+").tolist()
        assert list(zip(sites.starts.tolist(), strands, strict=True)) == [
            row[:2] for row in expected
        ]
        assert np.abs(sites["scores"] - [row[2] for row in expected]).max() <= 1e-4
        assert sum(block.counts.n_scored for block in blocks) == 2 * (200 - 12 + 1)

    def test_threshold_and_strand(self, small):
        scanner, _ = small
        piece = whole(encode(make_contig(np.random.default_rng(22), 300)))
        everything = found_in(piece, SiteFinder(scanner))
        for strands, is_reverse in (("+", False), ("-", True)):
            some = found_in(piece, SiteFinder(scanner, strands=strands, threshold=0.3))
            chosen = (everything.is_reverse == is_reverse) & (everything["scores"] >= 0.3)
            np.testing.assert_array_equal(some.starts, everything.starts[chosen])
            np.testing.assert_array_equal(some["scores"], everything["scores"][chosen])

    def test_default_site_is_the_middle_base(self):
        assert Scanner([np.zeros((7, 4))]).site_offset == 3
        finder = SiteFinder(Scanner([np.zeros((6, 4))]), strands="-")
        assert found_in(whole(encode("ACGTAC")), finder).starts.tolist() == [2]

    def test_values_are_merged(self):
        given = np.array([1, 0, 1, 1, 2, 2, 0, 3], dtype=np.float32)
        starts, ends, values = merge_values(np.array([3, 4, 4, 5, 6, 9, 10, 10]), given)
        assert starts.tolist() == [3, 6, 9, 10]
        assert ends.tolist() == [6, 7, 10, 11]
        assert values.tolist() == [1, 2, 2, 3]
        assert given[2] == 1


def read_lines(raw):
    return [line for line in raw.decode().splitlines() if not line.startswith("#")]


def scan_to_bytes(contigs, finder, **arguments):
    stream = io.BytesIO()
    summary = write_scan(stream, contigs, finder, **arguments)
    return stream.getvalue(), summary


@pytest.fixture
def contigs():
    rng = np.random.default_rng(31)
    return {
        "chrI": make_contig(rng, 400, 0.02),
        "tiny": "ACGTACG",
        "chr é|2": make_contig(rng, 12),
        "chrIII": "N" * 40 + make_contig(rng, 90),
    }


def encoded(contigs):
    return [whole(encode(text), name) for name, text in contigs.items()]


class TestFiles:
    @pytest.mark.parametrize("consensus", ["AG", "GT,GC", "CA"])
    def test_bed_records_point_at_the_consensus(self, small, contigs, consensus):
        scanner, weights = small
        raw, summary = scan_to_bytes(encoded(contigs), SiteFinder(scanner, consensus=consensus))
        lines = read_lines(raw)
        n = 0
        for name, text in contigs.items():
            words = consensus.split(",")
            expected = brute_sites(text, scanner, weights, words)
            for start, strand, score in expected:
                fields = lines[n].split("\t")
                assert fields[0] == name
                assert [int(fields[1]), int(fields[2])] == [start, start + 2]
                site = text[start : start + 2]
                assert (site if strand == "+" else flip(site)) in words
                assert fields[3] == (site if strand == "+" else flip(site))
                assert int(fields[4]) == pytest.approx(1000 / (1 + math.exp(-score)), abs=0.6)
                assert fields[5] == strand
                assert float(fields[6]) == pytest.approx(score, abs=1e-4)
                n += 1
        assert n == len(lines) == summary.n_records

    def test_bed_header_names_columns_and_site(self, small, contigs):
        options = {"consensus": "AG", "threshold": 0.5, "strands": "-"}
        finder = SiteFinder(small[0], **options, log_odds=lambda s: 0 * s - np.log(3))
        raw, _ = scan_to_bytes(encoded(contigs), finder)
        header = [line for line in raw.decode().splitlines() if line.startswith("#")]
        assert "windows of 12 bases, strands -, consensus AG, raw score >= 0.5" in header[0]
        assert "2 base(s) from offset 4" in header[1]
        assert "0-based half-open" in header[1]
        columns = header[2][1:].split("\t")
        fields = read_lines(raw)[0].split("\t")
        assert len(columns) == len(fields) == 8
        assert fields[4] == "250"
        assert fields[7] == "0.250000"

    def test_bed_score_rises_with_the_probability(self, small, contigs):
        finder = SiteFinder(small[0], log_odds=lambda s: 3 * s + 1)
        raw, _ = scan_to_bytes(encoded(contigs), finder)
        fields = np.array([line.split("\t")[4:8:2] for line in read_lines(raw)], dtype=float)
        order = np.argsort(fields[:, 1], kind="stable")
        assert np.all(np.diff(fields[order, 0]) >= 0)
        assert 0 <= fields[:, 0].min() <= fields[:, 0].max() <= 1000

    @pytest.mark.parametrize("strands", ["both", "+", "-"])
    def test_bedgraph_is_sorted_disjoint_and_the_larger_strand(self, small, contigs, strands):
        scanner, weights = small
        finder = SiteFinder(scanner, strands=strands)
        raw, summary = scan_to_bytes(encoded(contigs), finder, file_format="bedgraph")
        rows = [line.split("\t") for line in read_lines(raw)]
        assert len(rows) == summary.n_records
        for name, text in contigs.items():
            best: dict[int, float] = {}
            for start, strand, score in brute_sites(text, scanner, weights, None):
                if strands in ("both", strand):
                    best[start] = max(score, best.get(start, -np.inf))
            values, end_before = {}, 0
            for _, start, end, value in (row for row in rows if row[0] == name):
                assert end_before <= int(start) < int(end)
                end_before = int(end)
                values.update(dict.fromkeys(range(int(start), int(end)), float(value)))
            assert values.keys() == best.keys()
            assert all(abs(values[start] - best[start]) <= 1e-4 for start in best)

    def test_long_runs_of_n_take_few_lines(self, small):
        raw, summary = scan_to_bytes(
            [whole(encode("N" * 5000), "c")], SiteFinder(small[0]), file_format="bedgraph"
        )
        assert read_lines(raw) == ["c\t4\t4995\t0.25000"]
        assert summary.n_mixed == summary.n_scored == 2 * 4989

    @pytest.mark.parametrize("file_format", ["bed", "bedgraph"])
    def test_any_block_and_number_of_threads_writes_the_same(
        self, small, contigs, file_format, monkeypatch
    ):
        scanner, weights = small
        expected, _ = scan_to_bytes(encoded(contigs), SiteFinder(scanner), file_format=file_format)
        finder = SiteFinder(Scanner(weights, 0.25, site_offset=4, site_length=2))
        monkeypatch.setattr(lines, "LINES", 5)
        with use_threads(3):
            got, _ = scan_to_bytes(encoded(contigs), finder, file_format=file_format)
            assert got == expected
            for size in (1, 13, 100):
                monkeypatch.setattr(SiteFinder, "block", size)
                got, _ = scan_to_bytes(encoded(contigs), finder, file_format=file_format)
                assert got == expected

    @pytest.mark.parametrize("strands", ["both", "+", "-"])
    @pytest.mark.parametrize(("size", "overlap"), [(1, 0), (7, 3), (16, 0), (17, 13), (101, 50)])
    @pytest.mark.parametrize("file_format", ["bed", "bedgraph"])
    def test_pieces_of_any_size_write_the_same(
        self, small, contigs, tmp_path, strands, size, overlap, file_format
    ):
        contigs = {f"c{i}": text.replace("N", "A") for i, text in enumerate(contigs.values())}
        path = tmp_path / "genome.fa"
        path.write_text("".join(f">{name}\n{text}\n" for name, text in contigs.items()))
        finder = SiteFinder(small[0], strands=strands)
        pieces = open_pieces(path, size=size, overlap=overlap)
        got, counted = scan_to_bytes(pieces, finder, file_format=file_format)
        expected, summary = scan_to_bytes(encoded(contigs), finder, file_format=file_format)
        assert got == expected
        assert counted == summary

    @pytest.mark.parametrize(
        "pieces",
        [
            [("a", 5, 30, True)],
            [("a", 0, 30, False), ("a", 31, 30, True)],
            [("a", 0, 30, False), ("b", 17, 30, True)],
            [("a", 0, 30, False), ("b", 0, 30, True)],
        ],
    )
    def test_pieces_that_do_not_fit_are_refused(self, small, pieces):
        rows = [ContigPiece(name, start, encode("A" * n), end) for name, start, n, end in pieces]
        with pytest.raises(ValueError, match="must be consecutive and without gaps, got"):
            scan_to_bytes(rows, SiteFinder(small[0]))

    def test_summary_and_short_contigs(self, small, contigs, caplog):
        progress = []
        with caplog.at_level(logging.WARNING, logger="seqmtl.scan.writers"):
            _, summary = scan_to_bytes(
                encoded(contigs), SiteFinder(small[0], strands="+"), progress=progress.append
            )
        assert summary.n_contigs == 4
        assert summary.n_bases == 400 + 7 + 12 + 130
        assert summary.n_scored == summary.n_records == 389 + 1 + 119
        assert summary.short_contigs == ["tiny"]
        assert sum(progress) == summary.n_scored
        expected = sum(
            "N" in text[i : i + 12] for text in contigs.values() for i in range(len(text) - 11)
        )
        assert summary.n_mixed == expected
        assert "1 of 4 contigs are shorter than a window of 12 bases" in caplog.text
        assert "tiny" in caplog.text

    def test_no_contigs_leave_a_header(self, small):
        raw, summary = scan_to_bytes([], SiteFinder(small[0]))
        assert read_lines(raw) == []
        assert summary.n_contigs == 0

    @pytest.mark.parametrize("name", ["out.bed", "out.bed.gz", "out.bedgraph", "out.bedGraph.gz"])
    def test_paths(self, small, contigs, tmp_path, name):
        path = tmp_path / name
        finder = SiteFinder(small[0])
        write_scan(path, encoded(contigs), finder)
        file_format = "bed" if ".bed." in name + "." else "bedgraph"
        expected, _ = scan_to_bytes(encoded(contigs), finder, file_format=file_format)
        raw = path.read_bytes()
        assert (gzip.decompress(raw) if name.endswith("gz") else raw) == expected
        index = {f"{name}.tbi"} if name.endswith("gz") else set()
        assert {p.name for p in tmp_path.iterdir()} == {name} | index

    def test_an_error_leaves_nothing(self, small, tmp_path):
        def broken():
            yield whole(encode("ACGT" * 10))
            raise OSError("lost the disk")

        with pytest.raises(OSError, match="lost the disk"):
            write_scan(tmp_path / "out.bed", broken(), SiteFinder(small[0]))
        assert list(tmp_path.iterdir()) == []

    def test_unknown_format_is_refused(self, small):
        with pytest.raises(ValueError, match=r"file_format must be one of bigwig, .*, got 'gff'"):
            scan_to_bytes([], SiteFinder(small[0]), file_format="gff")

    @pytest.mark.parametrize(
        ("value", "message"),
        [("log", "value must be one of score, probability, got 'log'"),
         ("probability", "probabilities as values need log_odds")],
    )  # fmt: skip
    def test_values_that_cannot_be_are_refused(self, small, value, message):
        with pytest.raises(ValueError, match=message):
            scan_to_bytes([], SiteFinder(small[0]), track=Track(value))

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("a.bg", "bedgraph"),
            ("a.bigWig", "bigwig"),
            ("a.GFF", "gff3"),
            ("a.tsv.gz", "spsc"),
            ("a.spsc", "spsc"),
            ("a.bed", "bed"),
            ("a.BEDGRAPH", "bedgraph"),
            ("a.bg.gz", "bedgraph"),
            ("a.bed.gz", "bed"),
            ("sites", "bed"),
            ("-", "bed"),
            ("a.b/sites", "bed"),
        ],
    )
    def test_format_by_name(self, name, expected):
        assert guess_format(name) == expected

    def test_a_suffix_of_no_format_is_refused(self):
        for name in ("a.txt", "a.vcf.gz", "c.elegans"):
            with pytest.raises(ValueError, match=r"one of \.bw .* \.bed .*; or name the format"):
                guess_format(name)

    def test_blocks_are_bgzip(self):
        from Bio import bgzf

        text = np.random.default_rng(0).integers(0, 256, 200_000, dtype=np.uint8).tobytes()
        packed = bgzip(text)
        blocks = list(bgzf.BgzfBlocks(io.BytesIO(packed)))
        assert sum(block[3] for block in blocks) == len(text)
        assert len(blocks) == 4
        assert gzip.decompress(packed) == text
        assert bgzip(b"") == b""
