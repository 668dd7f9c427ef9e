"""Windows of BED intervals, and intervals that are drawn like them; against letters and loops."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from seqmtl.exceptions import InputFormatError
from seqmtl.io import load_genome
from seqmtl.io.peaks import draw_negatives, read_peaks, windows_of_peaks
from seqmtl.sequences.background import draw_background

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def contigs_of(seed: int, n: int = 6_000) -> dict[str, str]:
    """Return contigs whose share of G and C changes, with a stretch of N."""
    rng = np.random.default_rng(seed)
    contigs = {}
    for name in ("chr1", "chr2"):
        shares = np.repeat(rng.uniform(0.2, 0.8, n // 200), 200)
        letters = np.where(rng.random(n) < shares, rng.choice(list("GC"), n), "A")
        letters[700:1_000] = "N"
        contigs[name] = "".join(letters)
    return contigs


@pytest.fixture
def genome(write):
    text = "".join(f">{name}\n{letters}\n" for name, letters in contigs_of(3).items())
    return load_genome(write(text, "g.fa"), padding=0)


def bed_of(seed: int, n: int, longest: int = 60) -> list[tuple[str, int, int, str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for begin in rng.integers(1_100, 5_900, n).tolist():
        strand = str(rng.choice(list("+-.")))
        contig = str(rng.choice(["chr1", "chr2"]))
        rows.append((contig, begin, begin + int(rng.integers(20, longest + 1)), strand))
    return rows


def text_of(rows) -> str:
    return "".join(f"{c}\t{begin}\t{end}\tx\t0\t{strand}\n" for c, begin, end, strand in rows)


@pytest.mark.parametrize("window", [None, 10, 41, 200])
def test_windows_are_the_letters_of_the_intervals(genome, write, window):
    contigs, rows = (
        contigs_of(3),
        [("chr2", 0, 25, "-"), ("chr1", 5_975, 6_000, "+"), *bed_of(1, 40)],
    )
    peaks = read_peaks(write(text_of(rows), "p.bed"), genome)
    windows = windows_of_peaks(peaks, genome, window=window, organism="x", label=-1, pad=True)
    expected = []
    for contig, begin, end, strand in rows:
        around = "N" * 300 + contigs[contig] + "N" * 300
        read = around if strand != "-" else around[::-1].translate(COMPLEMENT)
        first = 300 + begin if strand != "-" else len(around) - 300 - end
        n = window or end - begin
        first += (end - begin - n) // 2
        expected.append(read[first : first + n])
    length = max(map(len, expected))
    assert windows.sequences() == [letters.ljust(length, "N") for letters in expected]
    assert windows.names[0] == "chr2:0-25(-)"
    assert (windows.task_names, set(windows.labels.tolist())) == (("x",), {-1})


@pytest.mark.parametrize(("scores", "n"), [("900", 0), ("000", 0), ("090", 2)])
def test_scores_of_0_beside_others_are_counted(genome, write, caplog, scores, n):
    text = "".join(f"chr1\t{k}\t{k + 30}\tx\t{s}\t+\n" for k, s in enumerate(scores))
    if scores == "900":
        text = text.replace("\t0\t+", "\t5\t+")
    assert len(read_peaks(write(text, "p.bed"), genome).begins) == 3
    assert (f"{n} of 3 intervals have a score of 0" in caplog.text) == (n > 0)
    assert ("score of 0" in caplog.text) == (n > 0)


def test_bed_of_three_columns_is_on_the_plus_strand(genome, write):
    peaks = read_peaks(write("# made by hand\nchr1\t3\t9\ntrack x\nchr2\t0\t4\n", "p.bed"), genome)
    assert (peaks.begins.tolist(), peaks.lengths.tolist()) == ([3, 0], [6, 4])
    assert not peaks.is_reverse.any()
    with pytest.raises(InputFormatError, match="equal lengths, got 4 to 6 bases; give a window"):
        windows_of_peaks(peaks, genome)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there must be intervals"),
        ("chr1\t3\n", ":1: BED must have contig, start and end between tabs, got 2"),
        ("chr1\t3\t9\nchr3\t3\t9\n", ":2: contig must be one of the genome's"),
        ("chr1\t9\t9\n", "start before it ends"),
        ("chr1\t0\t6001\n", r"lie inside chr1 \(6000 bases\)"),
        ("chr1\t0\t60\tx\t0\tplus\n", "strand must be"),
        (">chr1\nACGT\n", "BED must have"),
    ],
)
def test_bad_intervals_are_refused(genome, write, text, message):
    with pytest.raises(InputFormatError, match=message):
        read_peaks(write(text, "p.bed"), genome)


@pytest.mark.parametrize("seed", range(3))
def test_drawn_intervals_are_like_the_given_ones(genome, write, seed):
    rows = bed_of(seed, 80)
    path = write(text_of(rows), "p.bed")
    peaks = read_peaks(path, genome)
    drawn = draw_negatives(peaks, genome, seed)
    assert len(drawn.begins) > 60
    contigs = contigs_of(3)

    def facts(contig: str, begin: int, end: int) -> tuple[str, int, int]:
        letters = contigs[contig][begin:end].replace("N", "")
        gc = letters.count("G") + letters.count("C")
        return contig, end - begin, 100 * gc // (2 * len(letters))  # bins of 2 %

    given = [facts(*row[:3]) for row in rows]
    for number, begin, n in zip(
        drawn.contigs.tolist(), drawn.begins.tolist(), drawn.lengths.tolist(), strict=True
    ):
        contig = genome.names[number]
        given.remove(facts(contig, begin, begin + n))  # one of the same facts, each once
        assert 0 <= begin <= len(contigs[contig]) - n
        assert contigs[contig][begin : begin + n].count("N") <= 0.1 * n
        others = (row for row in rows if row[0] == contig)
        assert not any(begin < end and first < begin + n for _, first, end, _ in others)
    again = draw_negatives(peaks, genome, seed)
    assert again.begins.tolist() == drawn.begins.tolist()
    assert draw_negatives(peaks, genome, seed + 1).begins.tolist() != drawn.begins.tolist()


def test_every_position_that_fits_is_drawn_alike_often(write):
    genome = load_genome(write(">c\nAAAAAAAAAAGGGGAAAAAAAANNNN\n"), padding=0)
    starts, lengths = np.array([1] * 3_000) + genome.starts[0], np.full(3_000, 4)
    drawn = draw_background(genome, starts, lengths, np.random.default_rng(0)) - genome.starts[0]
    found, counts = np.unique(drawn, return_counts=True)
    assert found.tolist() == [5, 6, *range(14, 19)]  # only A, and not at 1..4
    assert counts.min() > 0.8 * 3_000 / 7


def test_what_has_no_equal_is_counted(write, caplog):
    genome = load_genome(write(f">c\n{'A' * 90}GGGGGGGG{'A' * 40}\n", "g.fa"), padding=0)
    peaks = read_peaks(write("c\t90\t98\nc\t3\t11\n", "p.bed"), genome)
    assert draw_negatives(peaks, genome, 0).lengths.tolist() == [8]
    assert "for 1 of 2 intervals there is no other of the same length" in caplog.text
    peaks = read_peaks(write("c\t90\t98\n", "p.bed"), genome)
    with pytest.raises(InputFormatError, match="give negatives, too"):
        draw_negatives(peaks, genome, 0)


def test_a_model_of_intervals_is_that_of_their_letters(write, tmp_path, seqmtl):
    contigs = contigs_of(3)
    write("".join(f">{name}\n{letters}\n" for name, letters in contigs.items()), "g.fa")
    texts = {}
    for kind, seed in (("p", 1), ("n", 2)):
        rows = [row[:3] for row in bed_of(seed, 40)]
        write("".join(f"{c}\t{begin}\t{end}\n" for c, begin, end in rows), f"{kind}.bed")
        texts[kind] = [contigs[c][begin:end] for c, begin, end in rows]
        records = (f">{i}\n{letters}\n" for i, letters in enumerate(texts[kind]))
        write("".join(records), f"{kind}.fa")
    options = "--features spectrum:2 --selection none --tol 1e-6 -q"
    seqmtl(f"train {tmp_path}/p.fa --negatives {tmp_path}/n.fa {options} -o {tmp_path}/fa")
    bed = f"{tmp_path}/p.bed --negatives {tmp_path}/n.bed --reference {tmp_path}/g.fa"
    seqmtl(f"train {bed} {options} -o {tmp_path}/bed")
    found = {}
    for model in ("fa", "bed"):
        seqmtl(f"evaluate {tmp_path}/{model} {bed} --bootstrap 0 --json {tmp_path}/e -q")
        found[model] = json.loads((tmp_path / "e").read_text())["tasks"]["task"]
        assert found[model]["n"] == 80
    assert found["fa"]["auroc"] == pytest.approx(found["bed"]["auroc"], abs=1e-3)
    drawn = f"{tmp_path}/p.bed --reference {tmp_path}/g.fa"
    told = seqmtl(f"train x={drawn} {options.replace('-q', '')} -o {tmp_path}/drawn").err
    assert "p.bed: 40 intervals, " in told
    wrong = {
        f"x={tmp_path}/p.bed --reference y={tmp_path}/g.fa": (2, "write --reference x=FASTA"),
        f"{tmp_path}/p.fa --reference {tmp_path}/g.fa": (2, "--reference is for BED, but .*p.fa"),
        f"{tmp_path}/p.bed": (1, r"this looks like BED; give its genome \(--reference\)"),
        f"{drawn} --split test": (2, "--split must be all or left out, got 'test': .*p.bed is BED"),
        f"{drawn} --memory 1G": (2, "--memory and --dask need DATA that is a dataset or a table"),
    }
    for data, (code, message) in wrong.items():
        error = seqmtl(f"train {data} {options} -o {tmp_path}/never", code).err
        assert re.search(message, error), error
