"""Virtual windows around sites."""

from __future__ import annotations

import gzip
import logging
from collections import Counter

import numpy as np
import pytest
from Bio.Seq import Seq
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.io import load_genome, load_genomes, read_sites
from seqmtl.sequences import add_decoys, concatenate

CONTIGS = {"I": "ACGTTGCAAGTCCATGGACTN", "II": "TTAGGCAT"}


def fasta(contigs=CONTIGS) -> str:
    return "".join(f">{name}\n{sequence}\n" for name, sequence in contigs.items())


@pytest.fixture
def genome(write):
    return load_genome(write(fasta(), "genome.fa"), padding=12)


def bed(*rows: str) -> str:
    return "".join("\t".join(row.split()) + "\n" for row in rows)


def naive_window(contig: str, start: int, end: int, strand: str, length: int) -> str:
    """Cut a window around a site letter by letter, N beyond the contig's ends."""
    if strand == "+":
        first = (start + end) // 2 - length // 2
    else:
        first = -(-(start + end) // 2) + length // 2 - length
    letters = [contig[i] if 0 <= i < len(contig) else "N" for i in range(first, first + length)]
    text = "".join(letters)
    return text if strand == "+" else str(Seq(text).reverse_complement())


SITE = st.sampled_from(sorted(CONTIGS)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.integers(0, len(CONTIGS[name]) - 1),
        st.integers(1, 4),
        st.sampled_from("+-"),
    ).map(lambda s: (s[0], s[1], min(s[1] + s[2], len(CONTIGS[s[0]])), s[3]))
)


@given(st.lists(SITE, min_size=1, max_size=8), st.integers(1, 12))
def test_windows_agree_with_a_naive_cut(tmp_path_factory, caplog, sites, length):
    caplog.set_level("INFO")
    folder = tmp_path_factory.mktemp("sites")
    (folder / "genome.fa").write_text(fasta())
    (folder / "sites.bed").write_text(
        bed(*(f"{name} {start} {end} x . {strand}" for name, start, end, strand in sites))
    )
    genome = load_genome(folder / "genome.fa", padding=length)
    padded = read_sites(folder / "sites.bed", genome, window=length, organism="worm")
    kept = read_sites(
        folder / "sites.bed", genome, window=length, organism="worm", contig_ends="drop"
    )
    expected = [
        naive_window(CONTIGS[name], start, end, strand, length)
        for name, start, end, strand in sites
    ]
    assert padded.sequences() == expected
    assert padded.labels.tolist() == [1] * len(sites)
    assert set(padded.tasks) == {"worm"}
    assert padded.codes is genome.codes

    inside = []
    for window, name in zip(expected, padded.names, strict=True):
        contig, rest = name.split(":")
        span, strand = rest[:-3], rest[-2]
        start, end = (int(part) for part in span.rsplit("-", 1))
        assert end - start == length
        inside.append(0 <= start and end <= len(CONTIGS[contig]))
        if inside[-1]:
            letters = Seq(CONTIGS[contig][start:end])
            assert window == str(letters if strand == "+" else letters.reverse_complement())
    assert kept.sequences() == [w for w, keep in zip(expected, inside, strict=True) if keep]
    n, told = inside.count(False), caplog.messages[-2:]
    assert all(f": {len(sites)} sites " in message for message in told)
    assert f"; {n} windows padded with N, 0 dropped at contig ends" in told[0]
    assert f"; 0 windows padded with N, {n} dropped at contig ends" in told[1]


@pytest.mark.parametrize("length", [4, 5, 10, 11])
def test_a_site_lies_where_it_is_documented(write, length):
    genome = load_genome(write(">c\n" + "C" * 30 + "AG" + "C" * 30 + "\n"), padding=length)
    middle = length // 2
    two = bed("c 30 32 x . +")
    letters = read_sites(write(two, "s.bed"), genome, window=length).sequences()[0]
    assert letters.index("AG") == middle - 1
    mirrored = load_genome(write(">c\n" + "C" * 30 + "CT" + "C" * 30 + "\n"), padding=length)
    minus = bed("c 30 32 x . -")
    letters = read_sites(write(minus, "s.bed"), mirrored, window=length).sequences()[0]
    assert letters.index("AG") == middle - 1
    for strand, letter in (("+", "A"), ("-", "T")):
        table = f"contig\tposition\tstrand\tlabel\nc\t30\t{strand}\t1\n"
        letters = read_sites(write(table), genome, window=length).sequences()[0]
        assert letters[middle] == letter


def test_compression_comments_and_line_ends(write, genome):
    text = (
        "#chrom\tstart\tend\tname\tscore\tstrand\n"
        'browser position I:1-9\r\ntrack name=sites description="x y"\r\n\r\n'
        "I\t4\t6\tx\t.\t+\textra\r\n#I\t1\t2\tx\t.\t+\textra\ntrack\nII\t2\t4\ty\t.\t-\tmore"
    )
    windows = read_sites(write(gzip.compress(text.encode())), genome, window=4)
    assert windows.names.tolist() == ["I:3-7(+)", "II:1-5(-)"]


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ("0 1000 1 0", [-1, 1, 1, -1]),
        ("0.0 0.5 1e2 0", [-1, 1, 1, -1]),
        ("-1 1 1 -1", [-1, 1, 1, -1]),
        ("0 0 0 0", [1, 1, 1, 1]),
        ("7 7 7 7", [1, 1, 1, 1]),
        ("0 1 . 0", [1, 1, 1, 1]),
        ("AG AG AG AG", [1, 1, 1, 1]),
        ("0 1 AG 1", [1, 1, 1, 1]),
        ("0 1 nan 1", [1, 1, 1, 1]),
    ],
)
def test_scores_of_bed_mark_decoys(write, genome, caplog, scores, labels):
    caplog.set_level("INFO")
    rows = [f"I {i + 3} {i + 5} x {score} +" for i, score in enumerate(scores.split())]
    windows = read_sites(write(bed(*rows)), genome, window=4)
    assert windows.labels.tolist() == labels
    told = f"4 sites ({labels.count(1)} true, {labels.count(-1)} decoys)"
    assert told in caplog.messages[-1]


def test_sites_of_several_blocks(write):
    rng = np.random.default_rng(0)
    n, length = 60_000, 5_000
    starts, signs, scores = (rng.integers(0, top, n) for top in (length - 2, 2, 2))
    rows = zip(starts.tolist(), signs.tolist(), scores.tolist(), strict=True)
    text = "".join(f"c\t{s}\t{s + 2}\tsite\t{score}\t{'+-'[sign]}\n" for s, sign, score in rows)
    assert len(text) > 1 << 20
    genome = load_genome(write(f">c\n{'A' * length}\n", "g.fa"), padding=8)
    windows = read_sites(write(text), genome, window=8)
    np.testing.assert_array_equal(windows.starts - 8, starts - 3)
    np.testing.assert_array_equal(windows.is_reverse, signs == 1)
    np.testing.assert_array_equal(windows.labels, 2 * scores - 1)


TABLE = (
    "split\tcontig\tother\tposition\tstrand\torganism\tlabel\tend\n"
    "train\tI\tx\t4\t+\tworm\t1\t6\n"
    "test\tII\ty\t2\t-\tfly\t0\t3\n"
    "train\tI\tz\t9\t-\tworm\t0\t10\n"
)


def test_contigs_of_a_table_may_have_the_names_of_lines_of_bed(write):
    genome = load_genome(write(">track\nACGTACGTAC\n>browser\nACGTACGTAC\n", "g.fa"), padding=4)
    rows = "track\t4\t+\t1\nbrowser\t4\t+\t-1\n# no row\n\ntrack\t5\t+\t1\n"
    windows = read_sites(write("contig\tposition\tstrand\tlabel\n" + rows), genome, window=4)
    assert windows.labels.tolist() == [1, -1, 1]
    with pytest.raises(InputFormatError, match=r"start must be a whole number .*, got ''"):
        read_sites(write("contig\tposition\tstrand\tlabel\n\t\t\t\n"), genome, window=4)


def test_tables_have_more_columns(write, genome):
    windows = read_sites(write(TABLE), genome, window=4)
    assert windows.tasks.tolist() == ["worm", "fly", "worm"]
    assert windows.labels.tolist() == [1, -1, -1]
    assert windows.split.tolist() == ["train", "test", "train"]
    assert windows.names.tolist() == ["I:3-7(+)", "II:1-5(-)", "I:8-12(-)"]
    columns = [value for value in vars(windows).values() if isinstance(value, np.ndarray)]
    assert sum(c.nbytes for c in columns if c is not genome.codes) <= 16 * len(windows)
    path = write("contig\tposition\tstrand\nI\t4\t+\n")
    assert read_sites(path, genome, window=4, require_labels=False).labels.tolist() == [0]


def test_rows_of_other_organisms_are_skipped_and_counted(write, genome, caplog):
    caplog.set_level("INFO")
    windows = read_sites(write(TABLE), genome, window=4, organism="worm")
    assert windows.task_names == ("worm",)
    assert windows.split.tolist() == ["train", "train"]
    assert "1 of other organisms skipped" in caplog.text
    path = write(bed("I 0 2 x . +"))
    for place, options, error, message in (
        (write(TABLE, "t"), {"organism": "ant"}, InputFormatError, r"\(worm, fly\), got 'ant'"),
        (path, {"window": 0}, ValueError, "window must be 1 or more, got 0"),
        (path, {"contig_ends": "clip"}, ValueError, "'pad' or 'drop', got 'clip'"),
        (path, {"window": 30}, ValueError, r"padding of 14 or more.*got 12; .*padding=30"),
    ):
        with pytest.raises(error, match=message):
            read_sites(place, genome, **{"window": 4, **options})


def test_windows_at_the_ends_are_counted_and_logged(write, genome, caplog):
    path = write(bed("I 0 2 x . +", "I 9 11 x . +", "II 6 8 x . -"))
    with caplog.at_level(logging.INFO, logger="seqmtl"):
        windows = read_sites(path, genome, window=6)
        read_sites(path, genome, window=6, contig_ends="drop")
    assert windows.sequences() == ["NNACGT", "AAGTCC", "NNATGC"]
    padded, dropped = (message.partition(": ")[2] for message in caplog.messages)
    rest = "dropped at contig ends, 0 of other organisms skipped"
    assert padded == f"3 sites (3 true, 0 decoys); 2 windows padded with N, 0 {rest}"
    assert dropped == f"3 sites (1 true, 0 decoys); 0 windows padded with N, 2 {rest}"
    path = write(bed("II 3 5 x . +"))  # a window longer than the contig
    assert read_sites(path, genome, window=12).sequences() == ["NNTTAGGCATNN"]
    assert len(read_sites(path, genome, window=12, contig_ends="drop")) == 0


BAD = [
    ("", "must hold sites, but it is empty", None),
    ("# only\n\n", "it is empty", None),
    ("I\t4\t6\n", r"six columns, got 3; add name, score and strand", 1),
    ("#x\nI\t4\t6\tx\t.\n", "six columns, got 5", 2),
    ("I 4 6 x . +\n", "separate columns by tabs", 1),
    (">I\nACGT\n", "looks like FASTA", 1),
    (bed("I 4 6 x . +", "I 4 6 x . ."), r"strand must be \+ or -, got '.'", 2),
    (bed("I 4 6 x . +", "chrI 4 6 x . +"), r"\(I, II\), got 'chrI'.*chr' is removed", 2),
    (bed("I 4 6 x . +", "I 20 22 x . +"), r"site must lie inside I .*, got 20-22; coordinates", 2),
    (bed("I 6 4 x . +"), "start before it ends, got 6-4; swap", 1),
    (bed("I 4 6 x . +") + "I\t4\t6\tx\t.\n", "6 tab-separated fields like the first, got 5", 2),
    ("contig\tposition\tstrand\nI\t4\t+\n", "the column 'label'", 1),
    ("contig\tposition\tstrand\tlabel\n", "it has only a header", None),
    ("contig\tPosition\tstrand\tlabel\nI\t4\t+\t1\n", "rename 'Position' to 'position'", 1),
    ("contig\tposition\tstrand\tlabel\nI\t21\t+\t1\n", "got 21-22", 2),
    ("contig\tposition\tstrand\tlabel\nI\tx\t+\t1\n", "start must be a whole number", 2),
    ("contig\tposition\tstrand\tlabel\nI\t2\t+\t3\n", "label must be 1, -1 or 0, got '3'", 2),
    (TABLE.replace("fly", "NA"), "organism must not be missing, got 'NA'", 3),
]


@pytest.mark.parametrize(("content", "message", "line"), BAD)
def test_bad_sites_are_refused(write, genome, content, message, line):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as caught:
        read_sites(path, genome, window=4)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_real_donors_of_several_organisms_join_without_a_copy(shared_data):
    folder = shared_data / "genomes_1pct"
    names = ["a_thaliana", "c_elegans", "d_melanogaster"]
    genomes = load_genomes({n: folder / f"{n}.1pct.fa.gz" for n in names}, padding=141)
    parts = [
        read_sites(folder / n / "donor_sites.bed.gz", genome, window=141, organism=n)
        for n, genome in genomes.items()
    ]
    joined = concatenate(parts)
    assert joined.codes is parts[0].codes
    assert joined.task_names == tuple(names)
    assert joined.names.tolist() == [name for part in parts for name in part.names]
    middles = Counter(letters[69:71] for letters in joined.sequences())
    assert middles["GT"] >= 0.97 * len(joined)
    drawn = add_decoys(parts[1], genomes[names[1]], ratio=10)
    decoys = drawn[drawn.labels < 0]
    assert len(decoys) == 10 * len(parts[1])
    assert {letters[69:71] for letters in decoys.sequences()} == {"GT"}
    assert 0.4 < decoys.is_reverse.mean() < 0.6
