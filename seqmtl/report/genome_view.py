"""One stretch of a genome: introns and sites that a scan called, and annotated genes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seqmtl._html import Markup, box, element, join, line, svg, words
from seqmtl._style import FAINT, GREY, INK, PALETTE
from seqmtl.files.streams import numbered_lines
from seqmtl.io.annotation import read_annotation
from seqmtl.io.dataset import REGIONS
from seqmtl.io.transcripts import Transcript

INTRONS = "introns.gff3"  # end of the name of the introns of a scan
_CALLED = 0.5  # probability from which an intron counts as called
_SHORTEST, _LONGEST, _INTRONS = 6_000, 60_000, 20  # bases; median introns in a stretch
_LANES = 3  # of transcripts
_SIDE, _WIDTH, _SITES, _ROOF, _LANE = 96, 1000, 40, 26, 15  # CSS pixels
_DONOR, _ACCEPTOR = PALETTE[0], PALETTE[1]
Region = tuple[str, int, int]


class Call(NamedTuple):
    """A site or an intron that was called: 0-based half-open, with its probability."""

    start: int
    end: int
    is_reverse: bool
    probability: float


@dataclass
class Stretch:
    """What is known of a stretch of a contig.

    Attributes
    ----------
    contig, start, end
        Place; 0-based half-open.
    introns, donors, acceptors : list of Call
        What a scan reported.
    transcripts : list of Transcript
        What is annotated; empty without annotation.
    is_held_out : bool
        Whether the place was chosen among test regions.
    """

    contig: str
    start: int
    end: int
    introns: list[Call]
    donors: list[Call] = field(default_factory=list)
    acceptors: list[Call] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    is_held_out: bool = False

    def annotated(self) -> set[tuple[int, int, bool]]:
        """Return the annotated introns that are wholly in the stretch."""
        found = {(a, b, t.is_reverse) for t in self.transcripts for a, b in t.introns}
        return {own for own in found if self.start <= own[0] and own[1] <= self.end}

    def called(self) -> set[tuple[int, int, bool]]:
        """Return the introns of probability 0.5 or more."""
        return {call[:3] for call in self.introns if call.probability >= _CALLED}

    def text(self) -> str:
        """Tell how many introns are called, and of these are annotated."""
        called, known = self.called(), self.annotated()
        told = f"{len(called)} introns have a probability of {_CALLED:g} or more"
        if not self.transcripts:
            return f"{told}."
        missed = len(known - called)
        return (
            f"{told}, of which {len(called & known)} are annotated; {missed} of the "
            f"{len(known)} annotated introns {'has' if missed == 1 else 'have'} less."
        )


def find_stretch(
    files: Sequence[str], regions: Sequence[Region] = (), annotation: str | None = None
) -> Stretch | None:
    """Return the stretch with the most called introns; None without introns.

    Parameters
    ----------
    files : sequence of str
        What ``seqmtl scan --format all`` wrote: ``*.introns.gff3``, ``*.donor.bed.gz`` and
        ``*.acceptor.bed.gz``.
    regions : sequence of (contig, start, end)
        Test regions: the stretch is in one of them, if there are introns.
    annotation : str, optional
        File of genes.
    """
    introns = [path for path in files if path.endswith(INTRONS)]
    if not introns:
        return None
    by_contig: dict[str, list[Call]] = {}
    for contig, call in _calls(introns[0]):
        by_contig.setdefault(contig, []).append(call)
    held_out = {
        contig: [c for c in calls if any(_is_inside(c, contig, region) for region in regions)]
        for contig, calls in by_contig.items()
    }
    found = _fullest(held_out) or _fullest(by_contig)
    if found is None:
        return None
    found.is_held_out = any(held_out.values())
    for name, calls in (("donor", found.donors), ("acceptor", found.acceptors)):
        for path in (path for path in files if path.endswith(f".{name}.bed.gz")):
            calls += [call for contig, call in _calls(path) if _is_near(call, contig, found)]
    if annotation is not None:
        transcripts = read_annotation(annotation).transcripts
        found.transcripts = [t for t in transcripts if _is_near(t, t.contig, found)]
    return found


def _calls(path: str) -> Iterator[tuple[str, Call]]:
    """Yield the introns of a GFF3 file, or the sites of a BED file, with their contigs."""
    is_gff = path.endswith(".gff3")
    for _, row in numbered_lines(path):
        if row[:1] == b"#" or not row.strip():
            continue
        fields = row.decode().rstrip("\n").split("\t")
        if is_gff:
            start, end, strand, p = int(fields[3]) - 1, int(fields[4]), fields[6], fields[5]
        else:
            start, end, strand, p = int(fields[1]), int(fields[2]), fields[5], fields[7]
        yield fields[0], Call(start, end, strand == "-", float(p))


def _is_inside(call: Call, contig: str, region: Region) -> bool:
    return region[0] == contig and region[1] <= call.start and call.end <= region[2]


def _is_near(found: Any, contig: str, stretch: Stretch) -> bool:
    """Tell whether a call or a transcript is on the stretch, at least in part."""
    return contig == stretch.contig and found.start < stretch.end and found.end > stretch.start


def _fullest(by_contig: Mapping[str, Sequence[Call]]) -> Stretch | None:
    """Return the stretch with the most called introns, of those the one with the surest."""
    called = {
        contig: sorted(call for call in calls if call.probability >= _CALLED)
        for contig, calls in by_contig.items()
    }
    lengths = sorted(call.end - call.start for calls in called.values() for call in calls)
    if not lengths:
        return None
    span = min(max(_INTRONS * lengths[len(lengths) // 2], _SHORTEST), _LONGEST)
    best, place = (0, 0.0), ("", 0, 0)
    for contig, calls in called.items():
        last, total = 0, 0.0
        for first, call in enumerate(calls):
            last = max(last, first)
            while last < len(calls) and calls[last].end <= call.start + span:
                total += calls[last].probability
                last += 1
            if (last - first, total) > best:
                best, place = (last - first, total), (contig, call.start, calls[last - 1].end)
            total -= call.probability if last > first else 0.0
    contig, start, end = place
    if not best[0]:  # every intron is longer than a stretch
        contig, call = max(
            ((contig, call) for contig, calls in called.items() for call in calls),
            key=lambda found: found[1].probability,
        )
        start, end = call.start, call.end
    margin = max((end - start) // 20, 150)
    start, end = max(start - margin, 0), end + margin
    near = [c for c in by_contig[contig] if start < c.end and c.start < end]
    return Stretch(contig, start, end, near)


def held_out_regions(folder: str, organism: str) -> list[Region]:
    """Return the test regions of an organism in a dataset."""
    rows = (
        row.decode().rstrip("\n").split("\t")
        for _, row in numbered_lines(os.path.join(folder, REGIONS))
        if row[:1] != b"#"
    )
    return [(r[0], int(r[1]), int(r[2])) for r in rows if r[3:5] == ["test", organism]]


def draw_stretch(stretch: Stretch) -> Markup:
    """Draw a stretch as SVG.

    From top to bottom: sites and introns of the plus strand, annotated genes, introns and sites of
    the minus strand. A bar is as high as a site is probable; a roof is an intron, the darker the
    more probable, full if it is annotated or nothing is, else broken.
    """
    scale = (_WIDTH - _SIDE - 10) / (stretch.end - stretch.start)

    def x(base: float) -> float:
        return _SIDE + scale * (min(max(base, stretch.start), stretch.end) - stretch.start)

    parts, y = [_legend(bool(stretch.transcripts)), *_ruler(stretch, x)], 50.0
    known = stretch.annotated() if stretch.transcripts else None
    for is_reverse in (False, True):
        strand = "minus" if is_reverse else "plus"
        tracks = [_sites, _roofs]
        for draw in reversed(tracks) if is_reverse else tracks:
            height = _SITES if draw is _sites else _ROOF
            parts += draw(stretch, x, y, is_reverse, known)
            what = "sites" if draw is _sites else "introns"
            parts.append(words(4, y + height / 2 + 4, f"{what}, {strand}"))
            y += height + 8
        if not is_reverse and stretch.transcripts:
            genes, lanes = _genes(stretch, x, y + 4)
            parts += [words(4, y + 15, "annotated"), *genes]
            y += lanes * _LANE + 14
    label = f"Introns, sites and genes of {stretch.contig}:{stretch.start + 1}-{stretch.end}"
    return svg(_WIDTH, y + 4, parts, label)


def _legend(has_genes: bool) -> Markup:
    entries = [("donor", _DONOR), ("acceptor", _ACCEPTOR)]
    parts = []
    for k, (name, colour) in enumerate(entries):
        parts += [box(_SIDE + 80 * k, 5, 10, 10, colour), words(_SIDE + 15 + 80 * k, 14, name)]
    told = "intron: the darker, the more probable"
    parts += [_roof(_SIDE + 175, _SIDE + 199, 14, -9, INK), words(_SIDE + 205, 14, told)]
    if has_genes:
        parts.append(_roof(_SIDE + 440, _SIDE + 464, 14, -9, INK, stroke_dasharray="3 2"))
        parts.append(words(_SIDE + 470, 14, "not annotated"))
    return join(parts, "")


def _ruler(stretch: Stretch, x: Any) -> list[Markup]:
    """Return the scale, with positions counted from 1, as in browsers."""
    span = stretch.end - stretch.start
    steps = (step * 10**power for power in range(1, 9) for step in (1, 2, 5))
    step = next(step for step in steps if span / step <= 8)
    parts = [words(4, 36, stretch.contig, font_weight="bold"), line(_SIDE, 42, _WIDTH - 10, 42)]
    for base in range(stretch.start // step * step + step, stretch.end, step):
        parts.append(line(x(base), 39, x(base), 42))
        parts.append(words(x(base), 36, f"{base:,}", text_anchor="middle", fill=GREY))
    return parts


def _sites(stretch: Stretch, x: Any, y: float, is_reverse: bool, _: Any) -> list[Markup]:
    """Return the bars of sites; those of the minus strand hang."""
    base = y if is_reverse else y + _SITES
    parts = [line(_SIDE, base, _WIDTH - 10, base, FAINT)]
    for colour, calls in ((_DONOR, stretch.donors), (_ACCEPTOR, stretch.acceptors)):
        for call in (call for call in calls if call.is_reverse == is_reverse):
            height = _SITES * call.probability
            top = base if is_reverse else base - height
            parts.append(box(x((call.start + call.end) / 2) - 1, top, 2.2, height, colour))
    return parts


def _roofs(stretch: Stretch, x: Any, y: float, is_reverse: bool, known: Any) -> list[Markup]:
    """Return the roofs above introns, with probabilities where there is room."""
    base, height = (y, _ROOF - 10) if is_reverse else (y + _ROOF, 10 - _ROOF)
    parts = []
    for call in sorted(stretch.introns, key=lambda call: call.probability):
        if call.is_reverse != is_reverse:
            continue
        look: dict[str, Any] = {"stroke_opacity": 0.15 + 0.85 * call.probability}
        if known is not None and call[:3] not in known:
            look["stroke_dasharray"] = "3 2"
        left, right = x(call.start), x(call.end)
        parts.append(_roof(left, right, base, height, INK, **look))
        if right - left > 26 and call.probability >= _CALLED:
            place = base + height + (11 if is_reverse else -3)
            told = f"{call.probability:.2f}"
            look = {"text_anchor": "middle", "font_size": 9, "fill": GREY}
            parts.append(words((left + right) / 2, place, told, **look))
    return parts


def _roof(
    left: float, right: float, base: float, height: float, colour: str, **look: Any
) -> Markup:
    points = f"{left:.1f},{base:.1f} {(left + right) / 2:.1f},{base + height:.1f} "
    points += f"{right:.1f},{base:.1f}"
    look = {"fill": "none", "stroke": colour, "stroke_width": 1.4, **look}
    return element("polyline", "", points=points, **look)


def _genes(stretch: Stretch, x: Any, y: float) -> tuple[list[Markup], int]:
    """Return the transcripts in lanes, coding segments thick; and the number of lanes."""
    parts: list[Markup] = []
    ends: list[float] = []
    in_order = sorted(stretch.transcripts, key=lambda t: (t.start, -t.end))
    for own in in_order:
        left, right = x(own.start), x(own.end)
        lane = next((k for k, end in enumerate(ends) if end + 4 < left), len(ends))
        if lane == _LANES:
            continue
        ends[lane : lane + 1] = [right + 12]
        middle = y + _LANE * lane + 5
        parts.append(line(left, middle, right, middle, GREY))
        for segments, half in ((own.exons, 2.5), (own.cds, 5.0)):
            for start, end in segments:
                if end > stretch.start and start < stretch.end:
                    width = max(x(end) - x(start), 1.0)
                    parts.append(box(x(start), middle - half, width, 2 * half, PALETTE[2]))
        arrow, at = ("◂", left - 9) if own.is_reverse else ("▸", right + 2)
        if (own.start >= stretch.start) if own.is_reverse else (own.end <= stretch.end):
            parts.append(words(at, middle + 4, arrow, fill=GREY))
    return parts, max(len(ends), 1)
