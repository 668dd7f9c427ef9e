"""Windows of BED intervals, and intervals that are drawn like them; against letters and loops."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from seqmtl.exceptions import InputFormatError, MemoryLimitError
from seqmtl.io import load_genome
from seqmtl.io.peaks import draw_negatives, read_avoided, read_peaks, windows_of_peaks
from seqmtl.sequences.background import draw_background
from tests.oracles.annotation import reverse_complement


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
        strand = str(rng.choice(list("+-.*")))
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
    peaks = read_peaks(write(text_of(rows), "p.bed"), genome, window)
    windows = windows_of_peaks(peaks, genome, organism="x", label=-1, pad=True)
    expected = []
    for contig, begin, end, strand in rows:
        around = "N" * 300 + contigs[contig] + "N" * 300
        read = around if strand != "-" else reverse_complement(around)
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
        ("chr1 3 9 x\n", "got 1; this line has blanks: replace them"),
        ("chrom\tstart\tend\nchr1\t3\t9\n", ":1: BED must have .* no header, got 'chrom', 'start'"),
        ('"chr"\t"start"\t"end"\t"width"\n', "remove a header"),
        (
            "# MACS\nchr\tstart\tend\tlength\tabs_summit\tpileup\nchr1\t4\t9\t6\t7\t2\n",
            r":2: .* give the .narrowPeak of MACS",
        ),
        (
            "#PeakID\tchr\tstart\tend\tstrand\np-1\tchr1\t4\t9\t+\n",
            r":2: .* reorder the columns of HOMER, SAF and GFF, and subtract 1 from",
        ),
        ("Geneid\tChr\tStart\tEnd\tStrand\n", "remove a header"),
        ("chr1\tmacs\tpeak\t4\t9\t.\t+\n", "HOMER, SAF and GFF"),
        # seqnames, start, end and width of R, whose starts count from 1
        ("chr1\t4\t9\t6\t*\nchr1\t11\t13\t3\t*\n", "column 4 of all rows is end - start"),
        ("chr1\t3\t9\tx\t1\tchr1:3-9\n", "strand must be .*got 'chr1:3-9'.*cut -f1-3"),
    ],
)
def test_bad_intervals_are_refused(genome, write, text, message):
    with pytest.raises(InputFormatError, match=message):
        read_peaks(write(text, "p.bed"), genome)


def peak_rows(*rows: str) -> str:
    """Return rows of BED, with blanks for tabs."""
    return "".join(row.replace(" ", "\t") + "\n" for row in rows)


def cut(contig: str, first: int, n: int, *, is_reverse: bool = False) -> str:
    """Return n letters from a base, N beyond the contig, in reading direction."""
    around = "N" * 10_000 + contigs_of(3)[contig] + "N" * 10_000
    letters = around[10_000 + first :][:n]
    return reverse_complement(letters) if is_reverse else letters


def test_windows_are_around_the_summits_of_narrowpeak(genome, write, caplog):
    caplog.set_level("INFO")
    rows = [
        "chr1 2000 2400 a 0 . 4.5 3.1 2.0 320",
        "chr2 3000 3100 b 9 - 4.5 3.1 2.0 10",
        "chr2 5000 5400 c 9 + 4.5 3.1 2.0 -1",
        "chr1 0 90 d 9 + 4.5 3.1 2.0 0",
    ]
    # the suffix does not matter; a summit is as an interval of one base
    expected = [
        cut("chr1", 2320 - 50, 100),
        cut("chr2", 3010 - 49, 100, is_reverse=True),
        cut("chr2", 5200 - 50, 100),
        cut("chr1", -50, 100),
    ]
    for name in ("p.narrowPeak", "p.bed"):
        peaks = read_peaks(write(peak_rows(*rows), name), genome, 100)
        windows = windows_of_peaks(peaks, genome)
        assert windows.sequences() == expected
        assert windows.names[1] == "chr2:3000-3100(-)"
        about = "4 windows of 100 bases around the summits (column 10 of narrowPeak), and the"
        assert f"{name}: {about} centres of 1 without one" in caplog.text
    single = peak_rows("chr1 2320 2321", "chr2 3010 3011 x 0 -", "chr2 5200 5201", "chr1 0 1")
    of_macs = windows_of_peaks(read_peaks(write(single, "summits.bed"), genome, 100), genome)
    assert of_macs.sequences() == expected
    whole = windows_of_peaks(read_peaks(write(peak_rows(*rows), "p.bed"), genome), genome, pad=True)
    assert whole.sequences()[0] == cut("chr1", 2000, 400)  # without a window, the intervals


@pytest.mark.parametrize(
    "row",
    [
        "chr1 2000 2400 a 9 +",
        "chr1 2000 2400 a 9 + 4.5 3.1 2.0",  # broadPeak
        "chr1 2000 2400 a 9 + 3 400 400 1.0000000",  # bedtools coverage
        "chr1 2000 2400 a 9 + chr1 2300 2500 100",  # bedtools intersect
        "chr1 2000 2400 a 9 + 2000 2400 0 2 20,30 0,370",  # BED12
        "chr1 2000 2400 a 9 + 2000 2400 0 1 400 0 4.5 3.1 2.0",  # gappedPeak
        "chr1 2000 2400 a 9 + 4.5 3.1 2.0 400",  # no base of the interval
    ],
)
def test_other_bed_has_no_summits(genome, write, caplog, row):
    caplog.set_level("INFO")
    peaks = read_peaks(write(peak_rows(row), "p.narrowPeak"), genome, 100)
    assert windows_of_peaks(peaks, genome).sequences() == [cut("chr1", 2150, 100)]
    assert "1 windows of 100 bases around the centres of the intervals" in caplog.text
    is_beyond = row.endswith("2.0 400")
    assert ("column 10 of 1 of 1 rows is beyond the interval" in caplog.text) == is_beyond


def test_what_is_repeated_counts_once(genome, write, caplog):
    rows = ["chr1 2000 2400 a 9 . 4.5 3.1 2.0 100", "chr1 2000 2400 b 9 . 4.5 3.1 2.0 300"]
    rows += [rows[0], "chr1 2000 2400 a 9 - 4.5 3.1 2.0 100"]
    path = write(peak_rows(*rows), "p.narrowPeak")
    assert len(read_peaks(path, genome).begins) == 4  # every row is scored
    assert not caplog.text
    assert len(read_peaks(path, genome, once=True).begins) == 2
    assert "p.narrowPeak: 2 of 4 intervals are repeated (contig, start, end and" in caplog.text
    caplog.clear()
    peaks = read_peaks(path, genome, 100, once=True)  # two summits are two windows
    assert windows_of_peaks(peaks, genome).sequences() == [
        cut("chr1", 2050, 100),
        cut("chr1", 2250, 100),
        cut("chr1", 2051, 100, is_reverse=True),
    ]
    assert "1 of 4 intervals are repeated (the same window)" in caplog.text
    caplog.clear()
    assert len(read_peaks(write(peak_rows(*rows[:2])), genome, 100, once=True).begins) == 2
    assert not caplog.text


@pytest.mark.parametrize("seed", range(2))
def test_negatives_are_like_the_windows_and_off_them(genome, write, seed):
    contigs = contigs_of(3)
    rng = np.random.default_rng(seed)
    rows = [("chr2", k, k + 1, "+") for k in rng.integers(1_200, 5_800, 12).tolist()]
    rows += [("chr1", 20, 21, "-"), ("chr1", 2_000, 2_900, "+")]
    peaks = read_peaks(write(text_of(rows), "p.bed"), genome, 120)
    others = read_peaks(write("chr2\t3000\t3001\nchr1\t4000\t4500\n", "o.bed"), genome, 120)
    drawn = draw_negatives(peaks, genome, seed, [others])
    windows = windows_of_peaks(drawn, genome)
    assert windows.length == 120
    covered = {name: np.zeros(len(text), bool) for name, text in contigs.items()}
    middles = [(c, (a + b) // 2) for c, a, b, _ in rows] + [("chr2", 3000), ("chr1", 4250)]
    for contig, middle in middles:
        covered[contig][max(0, middle - 60) : middle + 60] = True
    covered["chr1"][2_000:2_900] = covered["chr1"][4_000:4_500] = True

    def share(letters: str) -> int:
        n = sum(map(letters.count, "ACGT"))
        return 50 * (letters.count("G") + letters.count("C")) // n

    given = [share(text) for text in windows_of_peaks(peaks, genome).sequences()]
    for name, letters in zip(windows.names.tolist(), windows.sequences(), strict=True):
        contig, begin, end = re.fullmatch(r"(\w+):(\d+)-(\d+)\(.\)", name).groups()
        assert not covered[contig][int(begin) : int(end)].any()
        given.remove(share(letters))
    assert len(drawn.begins) > 6


def test_a_window_beyond_its_contig_has_negatives_with_the_same_n(write, caplog):
    letters = "ACGT" * 200
    genome = load_genome(write(f">c\n{letters}\n", "g.fa"), padding=0)
    peaks = read_peaks(write("c\t10\t11\tx\t0\t-\nc\t790\t791\n", "p.bed"), genome, 100)
    assert "p.bed: 2 of 2 windows extend beyond their contig, and are N there" in caplog.text
    (first, last) = windows_of_peaks(draw_negatives(peaks, genome, 0), genome).sequences()
    assert (first[-39:], last[-40:]) == ("N" * 39, "N" * 40)
    assert "N" not in first[:61] + last[:60]
    peaks = read_peaks(write("c\t300\t301\n", "p.bed"), genome, 800)
    assert windows_of_peaks(peaks, genome).sequences() == ["N" * 100 + letters[:700]]
    with pytest.raises(InputFormatError, match="give negatives, too"):
        draw_negatives(peaks, genome, 0)


def test_avoided_intervals_may_be_on_other_contigs(genome, write, caplog):
    caplog.set_level("INFO")
    path = write("chrM\t0\t9\nchr1\t0\t9\n", "mask.bed")
    assert len(read_avoided(path, genome, None).begins) == 1
    assert "mask.bed: 1 of 2 intervals are on contigs that the genome lacks" in caplog.text
    with pytest.raises(InputFormatError, match="all on contigs that the genome lacks"):
        read_avoided(write("chrM\t0\t9\n", "mask.bed"), genome, None)


def test_windows_that_do_not_fit_are_refused(genome, write, monkeypatch):
    path = write("chr1\t3\t9\nchr2\t3\t9\n", "p.bed")
    with pytest.raises(InputFormatError, match="longest contig of the genome, 6000 bases, got"):
        read_peaks(path, genome, 10**7)
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 10_000)
    peaks = read_peaks(path, genome, 6_000)
    message = r"2 windows of up to 6000 bases \(.*p.bed, chr1:3-9\(\+\)\) would take"
    with pytest.raises(MemoryLimitError, match=message):
        windows_of_peaks(peaks, genome)


@pytest.mark.parametrize("seed", range(2))
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
    avoided = genome.starts[0] + np.array([[1, 5]])
    drawn = draw_background(genome, starts, lengths, avoided, np.random.default_rng(0))
    drawn -= genome.starts[0]
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
    options = "--features spectrum:2 --selection none -q"
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
        f"{tmp_path}/p.bed": (1, "this looks like BED; give its genome, too .--reference."),
        f"{drawn} --split test": (2, "--split must be all or left out, got 'test': .*p.bed is BED"),
        f"{drawn} --memory 1G": (2, "--memory and --dask need DATA that is a dataset or a table"),
    }
    for data, (code, message) in wrong.items():
        error = seqmtl(f"train {data} {options} -o {tmp_path}/never", code).err
        assert re.search(message, error), error
