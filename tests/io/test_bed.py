"""BED of regions and of sites, and tables of contig names."""

import pytest

from seqmtl.exceptions import InputFormatError
from seqmtl.io.bed import read_chrom_map, read_regions, read_site_bed

SIZES = {"c1": 30_000, "c2": 12_000}


def read_sites(path):
    return read_site_bed(path, length=2)


def regions(path):
    return read_regions(path, SIZES)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (regions, "c1\t5\t4\n", r"data.txt:1: an interval must start before it ends, got 5-4"),
        (regions, "c1\t1\t2\nc2\t1\t12001\n", r"data.txt:2: .*got 1-12001"),
        (regions, "c1\t-1\t4\n", r"data.txt:1: .*got '?-1"),
        (regions, "#x\nchrc1\t1\t4\n", r"data.txt:2: contig must be one of the genome's \(c1, c2"),
        (regions, "c1\t1\n", r"data.txt:1: a line must have contig, start and end"),
        (regions, f"c1\t0\t{'9' * 5000}\n", "data.txt:1: end must be .*, got '9{60}'; correct it"),
        (regions, "# nothing\n", r"data.txt: there must be intervals"),
        (read_sites, "c1\t5\t7\tn\t0\t.\n", r"data.txt:1: strand must be . or -, got '.'"),
        (read_sites, "c1\t5\t7\tn\n", "at least six tab-separated columns, got 4"),
        (read_sites, "c1\t5\t6\tn\t0\t+\n", "must have 2 bases, got 5-6"),
        (read_sites, "c1\t-5\t-3\tn\t0\t+\n", "whole number of up to 18 digits, got '-5'"),
        (read_sites, "# nothing\n", "must have rows"),
        (read_chrom_map, "I\n", "data.txt:1: a table of contig names .* got 1 columns"),
        (read_chrom_map, "I II III\n", "data.txt:1: a table of contig names .* got 3 columns"),
        (read_chrom_map, "a b\na c\n", "data.txt:2: a table of contig names .* got a twice"),
    ],
)
def test_bad_files_are_refused(write, read, text, message):
    with pytest.raises(InputFormatError, match=message):
        read(write(text))


def test_regions_are_sorted_and_merged(write):
    starts, ends = regions(write("c1\t10\t20\nc1\t5\t6\nc1\t20\t22\nc1\t12\t14\nc1\t30\t31"))["c1"]
    assert starts.tolist() == [5, 10, 30]
    assert ends.tolist() == [6, 22, 31]


def test_regions_on_contigs_that_the_genome_lacks_are_counted(write, caplog):
    """A mask of a whole assembly, for a genome of some of its contigs."""
    found = regions(write("c9\t1\t4\nc1\t5\t6\nc8\t1\t4\nc9\t7\t8\n"))
    assert {name: [*map(list, bounds)] for name, bounds in found.items()} == {"c1": [[5], [6]]}
    told = r"data.txt: 3 intervals are left out, on 2 contigs that the genome lacks (such as c9)"
    assert told in caplog.text


def test_decoys_in_a_bed_of_sites_are_no_sites(write, caplog):
    def starts(*scores):
        rows = (f"chr1\t{i}\t{i + 2}\t.\t{score}\t+\n" for i, score in enumerate(scores))
        return [start for _, start, *_ in read_sites(write("".join(rows)))]

    with caplog.at_level("INFO"):
        assert starts(1, 0, 900, -2) == [0, 2]
    assert "2 records with score 0 are decoys, not sites" in caplog.text
    for scores in ((0, 0), (1, 2.5), (1, 0, "."), (1, 0, "nan")):
        assert starts(*scores) == list(range(len(scores)))


def test_contig_names_may_be_between_blank_lines(write):
    assert read_chrom_map(write("# x\r\na\tb\r\n\r\n")) == {"a": "b"}
