"""The region of a genome: which one is chosen, what is told of it, where things are drawn."""

import gzip
from functools import partial

import pytest

from seqmtl._style import render
from seqmtl.io.annotation import read_annotation
from seqmtl.io.transcripts import Transcript
from seqmtl.reporting.genome_view import (
    Region,
    draw_region,
    find_region,
    held_out_regions,
    lanes_of,
)
from seqmtl.reporting.introns import Call, calls_in


def _intron(contig, start, end, p, strand="+"):
    return f"{contig}\tseqmtl\tintron\t{start + 1}\t{end}\t{p}\t.\t{strand}\tID=x".replace(
        f"\t{p}\t.\t{strand}", f"\t{p}\t{strand}\t."
    )


@pytest.fixture
def files(tmp_path):
    """Two regions of called introns on contig a, the fuller one first; one on contig b."""
    rows = [
        *(_intron("a", 1000 + 500 * k, 1100 + 500 * k, 0.9) for k in range(5)),
        _intron("a", 1200, 1300, 0.2, "-"),
        *(_intron("a", 90_000 + 500 * k, 90_100 + 500 * k, 0.8, "-") for k in range(3)),
        _intron("b", 50, 150, 0.99),
    ]
    (tmp_path / "x.introns.gff3").write_text("##gff-version 3\n" + "\n".join(rows) + "\n")
    bed = "#contig\nb\t50\t52\tGT\t990\t+\t1.0\t0.99\na\t1000\t1002\tGT\t900\t+\t1.0\t0.9\n"
    with gzip.open(tmp_path / "x.donor.bed.gz", "wt") as stream:
        stream.write(bed)
    exons = "".join(
        f"a\t.\texon\t{start + 1}\t{end}\t.\t+\t.\tParent=t\n"
        for start, end in ((800, 1000), (1100, 1500), (1600, 1700), (1900, 2000))
    )
    (tmp_path / "genes.gff3").write_text(f"##gff-version 3\n{exons}")
    return [str(tmp_path / name) for name in ("x.introns.gff3", "x.donor.bed.gz")]


def test_the_region_with_the_most_introns_is_chosen(files):
    found = find_region(partial(calls_in, files))
    assert (found.contig, found.start, found.end) == ("a", 850, 3250)
    assert len(found.introns) == 6
    assert found.donors == [Call(1000, 1002, False, 0.9)]
    assert found.text() == "5 predicted introns (p >= 0.5)."
    assert find_region(partial(calls_in, files[1:])) is None


def test_test_regions_come_first(files, tmp_path):
    regions = "#contig\tstart\tend\tsplit\torganism\na\t80000\t99000\ttest\tfly\n"
    (tmp_path / "regions.tsv").write_text(regions + "a\t0\t9000\ttrain\tfly\n")
    held_out = held_out_regions(str(tmp_path), "fly")
    assert held_out == [("a", 80_000, 99_000)]
    found = find_region(partial(calls_in, files), held_out)
    assert (found.start, found.is_held_out) == (89_850, True)
    elsewhere = find_region(partial(calls_in, files), [("b", 0, 10)])  # no introns there
    assert (elsewhere.start, elsewhere.is_held_out) == (850, False)
    doubtful = find_region(partial(calls_in, files), [("a", 1150, 1350)])  # none that is called
    assert (doubtful.start, doubtful.is_held_out) == (850, False)


def test_of_regions_with_as_many_introns_the_surest_is_chosen(tmp_path):
    path = tmp_path / "introns.gff3"
    places = ((1_000, 0.6), (50_000, 0.9), (99_000, 0.7))
    path.write_text("".join(f"{_intron('a', start, start + 90, p)}\n" for start, p in places))
    assert find_region(partial(calls_in, [str(path)])).start == 50_000 - 150


def test_transcripts_are_in_threelanes_of_none_on_another():
    genes = [
        Transcript(f"t{k}", "", "a", False, ((100 * k, end),))
        for k, end in enumerate((300, 400, 500, 600, 900, 700))
    ]
    lanes = lanes_of(Region("a", 0, 1000, transcripts=genes))
    assert [[own.start for own in lane] for lane in lanes] == [[0, 400], [100, 500], [200]]


def test_introns_longer_than_a_region(tmp_path):
    path = tmp_path / "introns.gff3"
    path.write_text(_intron("a", 1_000, 100_000, 0.7) + "\n" + _intron("a", 5, 90_000, 0.8) + "\n")
    found = find_region(partial(calls_in, [str(path)]))
    assert found.start == 0
    assert found.end > 90_000


def test_what_is_annotated_is_told_and_drawn(files, tmp_path):
    genes = read_annotation(tmp_path / "genes.gff3").transcripts
    found = find_region(partial(calls_in, files), transcripts=genes)
    assert found.text().endswith("; 2 of 3 annotated introns found.")
    axes = draw_region(found).axes[0]
    roofs = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert sum(roof.get_linestyle() == "--" for roof in roofs) == 4  # 3 called, 1 doubtful
    opacities = [roof.get_alpha() for roof in roofs]
    assert max(opacities) == pytest.approx(0.15 + 0.85 * 0.9)
    assert min(opacities) == pytest.approx(0.15 + 0.85 * 0.2)


def test_places_are_those_of_the_genome():
    calls = [Call(100, 200, False, 1.0), Call(300, 500, True, 0.5)]
    region = Region("a$b", 0, 1000, calls, [Call(100, 102, False, 0.25)], [])
    figure = draw_region(region)
    (axes,) = figure.axes
    above, below = (line for line in axes.lines if len(line.get_xdata()) == 3)
    assert [list(roof.get_xdata()) for roof in (above, below)] == [[100, 150, 200], [300, 400, 500]]
    left, top, right = above.get_ydata()
    assert 0 < left == right < top  # above on the plus strand
    assert {above.get_linestyle(), below.get_linestyle()} == {"-"}  # nothing is annotated
    left, bottom, _ = below.get_ydata()
    assert bottom < left < 0
    ((foot, head),) = (bar for own in axes.collections for bar in own.get_segments())
    assert foot[0] == head[0] == 101  # between the bases of the site
    assert head[1] - foot[1] == pytest.approx(0.25)
    assert axes.get_xlim() == (0, 1000)
    assert render(figure, "svg").startswith(b"<?xml")
