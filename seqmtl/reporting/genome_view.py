"""A region of a genome: predicted introns and sites, and annotated genes."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seqmtl._style import FAINT, GREY, INK, PALETTE, figure_style, new_figure, plain_text
from seqmtl.io.dataset import REGIONS
from seqmtl.io.transcripts import Transcript
from seqmtl.io.tsv import read_rows
from seqmtl.reporting.introns import Call

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CALLED = 0.5  # probability from which an intron counts as predicted
_SHORTEST, _LONGEST, _INTRONS = 6_000, 60_000, 20  # bases; median introns in a region
_LANES = 3  # of transcripts
_WIDTH, _LANE = 10.0, 0.35  # inches; heights of a lane and of a probability of 1 are relative
_BROKEN = (0, (3, 2))
Span = tuple[str, int, int]
CallsOf = Callable[[str], Iterable[tuple[str, Call]]]


@dataclass
class Region:
    """Introns, sites and transcripts of a region of a contig.

    Attributes
    ----------
    contig, start, end
        Position; 0-based half-open.
    introns, donors, acceptors : list of Call
        What a scan reported.
    transcripts : list of Transcript
        What is annotated; empty without annotation.
    is_held_out : bool
        Whether the region was chosen among test regions.
    """

    contig: str
    start: int
    end: int
    introns: list[Call] = field(default_factory=list)
    donors: list[Call] = field(default_factory=list)
    acceptors: list[Call] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    is_held_out: bool = False

    def annotated(self) -> set[tuple[int, int, bool]]:
        """Return the annotated introns that are wholly in the region, but frame shifts."""
        from seqmtl.datasets.config import SiteRules

        min_length = SiteRules().min_intron
        introns = {(a, b, t.is_reverse) for t in self.transcripts for a, b in t.introns}
        introns = {intron for intron in introns if intron[1] - intron[0] >= min_length}
        return {intron for intron in introns if self.start <= intron[0] and intron[1] <= self.end}

    def called(self) -> set[tuple[int, int, bool]]:
        """Return the introns of probability 0.5 or more."""
        return {call[:3] for call in self.introns if call.probability >= _CALLED}

    def text(self) -> str:
        """Return the numbers of predicted introns and of annotated ones among them."""
        called, annotated = self.called(), self.annotated()
        sentence = f"{len(called)} predicted introns (p >= {_CALLED:g})"
        if not self.transcripts:
            return f"{sentence}."
        return f"{sentence}; {len(called & annotated)} of {len(annotated)} annotated introns found."


def find_region(
    calls_of: CallsOf, test_regions: Sequence[Span] = (), transcripts: Sequence[Transcript] = ()
) -> Region | None:
    """Return the region with the most called introns; None without introns.

    Parameters
    ----------
    calls_of : callable
        Yields the calls of a kind, see :class:`seqmtl.reporting.introns.Calls`.
    test_regions : sequence of (contig, start, end)
        The region is in one of these, if introns are.
    transcripts : sequence of Transcript
        Annotated genes.
    """
    calls = [*calls_of("introns")]
    held_out = [each for each in calls if any(_is_inside(*each, span) for span in test_regions)]
    of_tests = _fullest(held_out)
    region = of_tests or _fullest(calls)
    if region is None:
        return None
    region.is_held_out = of_tests is not None
    region.introns = [call for contig, call in calls if _is_near(call, contig, region)]
    for name, sites in (("donor", region.donors), ("acceptor", region.acceptors)):
        sites += [call for contig, call in calls_of(name) if _is_near(call, contig, region)]
    region.transcripts = [
        transcript for transcript in transcripts if _is_near(transcript, transcript.contig, region)
    ]
    return region


def _is_inside(contig: str, call: Call, span: Span) -> bool:
    return span[0] == contig and span[1] <= call.start and call.end <= span[2]


def _is_near(feature: Any, contig: str, region: Region) -> bool:
    """Return whether a call or a transcript is on the region, at least in part."""
    return contig == region.contig and feature.start < region.end and feature.end > region.start


def _fullest(calls: Sequence[tuple[str, Call]]) -> Region | None:
    """Return the region with the most called introns; of ties, the one with the most probable."""
    called = sorted(each for each in calls if each[1].probability >= _CALLED)
    if not called:
        return None
    lengths = sorted(call.end - call.start for _, call in called)
    span = min(max(_INTRONS * lengths[len(lengths) // 2], _SHORTEST), _LONGEST)
    inside = max(
        _runs(called, span), key=lambda run: (len(run), sum(call.probability for call in run))
    )
    contig = next(contig for contig, call in called if call is inside[0])
    start, end = inside[0].start, max(call.end for call in inside)
    margin = max((end - start) // 20, 150)
    return Region(contig, max(start - margin, 0), end + margin)


def _runs(called: Sequence[tuple[str, Call]], span: int) -> Iterator[list[Call]]:
    """Yield the introns from each on that end within `span` bases of its start, and itself."""
    starts = [(contig, call.start) for contig, call in called]
    for first, (contig, one) in enumerate(called):
        end = one.start + span
        near = called[first + 1 : bisect_right(starts, (contig, end))]
        yield [one, *(call for _, call in near if call.end <= end)]


def held_out_regions(folder: str, organism: str) -> list[Span]:
    """Return the test regions of an organism in a dataset."""
    return [
        (row.fields[0], row.integer(1), row.integer(2))
        for row in read_rows(os.path.join(folder, REGIONS))
        if row.fields[3:5] == ["test", organism]
    ]


def draw_region(region: Region) -> Figure:
    """Draw a region.

    From top to bottom: sites and introns of the plus strand, annotated genes, introns and sites of
    the minus strand. Bars are sites, their height is the probability. Peaks are introns: darker if
    more probable, solid if annotated or if there is no annotation, else dashed.
    """
    lanes = lanes_of(region)
    introns = _LANE * max(len(lanes), 1) / 2 + 0.1
    sites = introns + 0.95
    with figure_style():
        figure = new_figure(_WIDTH, 0.9 * (sites + 1.3))
        axes = figure.subplots()
        for k, lane in enumerate(lanes):
            _draw_genes(axes, lane, ((len(lanes) - 1) / 2 - k) * _LANE)
        for sign in (1, -1):
            _draw_roofs(axes, region, sign * introns, sign)
            axes.axhline(sign * sites, color=FAINT, linewidth=0.8)
            for colour, calls in zip(PALETTE, (region.donors, region.acceptors), strict=False):
                of_strand = [call for call in calls if call.is_reverse == (sign < 0)]
                tops = [sign * (sites + call.probability) for call in of_strand]
                axes.vlines([call.start + 1 for call in of_strand], sign * sites, tops, colour)
        names = {
            f"{what}, {strand}": sign * y
            for sign, strand in ((1, "plus"), (-1, "minus"))
            for what, y in (("introns", introns + 0.3), ("sites", sites + 0.5))
        }
        names |= {"annotated": 0.0} if lanes else {}
        axes.set_yticks([*names.values()], [*names])
        axes.set(xlim=(region.start, region.end), ylim=(-sites - 1.1, sites + 1.1))
        axes.tick_params(axis="y", length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.spines["top"].set_visible(True)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(f"Position on {plain_text(region.contig)} (bases)", loc="left")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        styles: dict[str, Any] = {
            "donor": {"color": PALETTE[0]},
            "acceptor": {"color": PALETTE[1]},
            "intron (darker: more probable)": {"color": INK},
        }
        styles |= {"intron, not annotated": {"color": INK, "linestyle": _BROKEN}} if lanes else {}
        handles = [axes.plot([], [], label=name, **style)[0] for name, style in styles.items()]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles))
    return figure


def _draw_roofs(axes: Axes, region: Region, base: float, sign: int) -> None:
    """Draw roofs above introns, with probabilities where there is room."""
    annotated, room = region.annotated(), (region.end - region.start) / 40
    for call in (call for call in region.introns if call.is_reverse == (sign < 0)):
        is_annotated = not region.transcripts or call[:3] in annotated
        middle, top = (call.start + call.end) / 2, base + 0.5 * sign
        axes.plot(
            [call.start, middle, call.end],
            [base, top, base],
            color=INK,
            linewidth=1.2,
            linestyle="-" if is_annotated else _BROKEN,
            alpha=0.15 + 0.85 * call.probability,
        )
        is_inside = region.start <= middle < region.end
        if is_inside and call.end - call.start > room and call.probability >= _CALLED:
            style: Any = {"va": "bottom" if sign > 0 else "top", "ha": "center", "color": GREY}
            axes.text(middle, top, f"{call.probability:.2f}", fontsize="x-small", **style)


def lanes_of(region: Region) -> list[list[Transcript]]:
    """Return the transcripts in lanes without overlaps; those that fit in no lane are left out."""
    lanes: list[list[Transcript]] = []
    gap = (region.end - region.start) / 60
    for transcript in sorted(
        region.transcripts, key=lambda transcript: (transcript.start, -transcript.end)
    ):
        free = (lane for lane in lanes if lane[-1].end + gap < transcript.start)
        lane = next(free, [])
        if not lane and len(lanes) < _LANES:
            lanes.append(lane)
        lane.append(transcript)
    return lanes


def _draw_genes(axes: Axes, transcripts: Sequence[Transcript], y: float) -> None:
    """Draw transcripts at the height y, coding segments thick, with arrows at their ends."""
    for transcript in transcripts:
        axes.hlines(y, transcript.start, transcript.end, GREY, linewidth=1)
        for segments, half in ((transcript.exons, 0.06), (transcript.cds, 0.12)):
            spans = [(start, end - start) for start, end in segments]
            axes.broken_barh(spans, (y - half, 2 * half), color=PALETTE[2])
        arrow, at = ("◂", transcript.start) if transcript.is_reverse else ("▸", transcript.end)
        style: Any = {
            "ha": "right" if transcript.is_reverse else "left",
            "va": "center",
            "color": GREY,
        }
        axes.text(at, y, arrow, clip_on=True, **style)
