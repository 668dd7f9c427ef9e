"""Introns and exons that gene finders predict, beside those of seqmtl: sensitivity and precision.

    python benchmarks/bench_peers_introns.py genomes.tsv predictions.tsv --json OUT.json

Genomes are those of bench_new_genomes.py. Each line of predictions has an organism, the program,
what it was trained on, its GFF3, and what GNU time wrote about the run:

    /usr/bin/time -v augustus --species=fly --gff3=on --outfile=fly.gff3 fly.fa 2> fly.time
    /usr/bin/time -v geneml fly.fa -o fly.gff3 -c 1 2> fly.time
    /usr/bin/time -v seqmtl annotate fly.fa --model PAIR --like d_melanogaster -o fly 2> fly.time

of which the last writes fly/sites.introns.gff3; PAIR is a model without the organism. Introns of
coding sequence, and coding exons between two introns, are right if both ends are; what is annotated
outside coding sequence does not count. Of a list of introns, those of .5 or more are called, and
exons are what lies between two successive ones of a strand and has a frame without a stop codon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from _common import Options, write_result
from bench_new_genomes import Intron, annotated, figures, simulate, without_frame_shifts
from numpy.typing import NDArray

from seqmtl.io.annotation import read_annotation
from seqmtl.io.genome import read_contigs

Codes = NDArray[np.uint8]
CONTIGS = {f"chr{n}" for n in range(1, 5)}  # of what is simulated
STOPS = 48, 50, 56  # TAA, TAG, TGA in base 4


def predict(folder: Path) -> dict[str, Path]:
    """Return a simulated genome, with its annotation, and its introns, as predictions."""
    table, annotation = simulate(folder)["genomes"], folder / "annotation" / "new.gff3"
    usage, introns = folder / "new.time", folder / "introns.gff3"
    usage.write_text("User time (seconds): 1\nSystem time (seconds): 1\nMaximum resident: 1024\n")
    with introns.open("w") as stream:
        for contig, start, end, is_reverse in annotated(str(annotation), CONTIGS)[0]:
            row = contig, "toy", "intron", start + 1, end, 0.9, "-" if is_reverse else "+", "."
            print(*row, sep="\t", file=stream)
    predictions = folder / "predictions.tsv"
    lines = [f"c_elegans\ttoy\tall\t{path}\t{usage}\n" for path in (annotation, introns)]
    predictions.write_text("".join(lines))
    return {"genomes": table, "predictions": predictions}


def inner_exons(path: str, contigs: set[str]) -> tuple[set[Intron], set[Intron]]:
    """Return the exons between two introns: those of coding sequence, and all."""
    transcripts = [one for one in read_annotation(path).transcripts if one.contig in contigs]
    has_cds = any(one.cds for one in transcripts)
    coding, every = set(), set()
    for one in transcripts:
        for exons, parts in (coding, one.cds if has_cds else one.exons), (every, one.exons):
            inner = without_frame_shifts(parts)[1:-1]
            exons.update((one.contig, *exon, one.is_reverse) for exon in inner)
    return coding, coding | every


def listed(path: str) -> set[Intron]:
    """Return the introns of probability .5 or more of a list."""
    rows = [line.split("\t") for line in Path(path).read_text().splitlines() if line[0] != "#"]
    return {
        (row[0], int(row[3]) - 1, int(row[4]), row[6] == "-")
        for row in rows
        if float(row[5]) >= 0.5
    }


def has_frame(codes: Codes, is_reverse: bool) -> bool:
    """Whether one of the three frames has no stop codon."""
    codes = 3 - codes[::-1] if is_reverse else codes  # of N, 255 or 4: never a stop codon
    codons = np.lib.stride_tricks.sliding_window_view(codes.astype(int), 3) @ (16, 4, 1)
    codons[(codes[:-2] > 3) | (codes[1:-1] > 3) | (codes[2:] > 3)] = -1
    return not all(np.isin(codons[frame::3], STOPS).any() for frame in range(3))


def between(introns: set[Intron], contigs: dict[str, Codes]) -> Iterator[Intron]:
    """Yield what lies between successive introns of a strand and has a frame."""
    order = sorted(introns, key=lambda own: (own[0], own[3], own[1]))
    for (contig, _, start, is_reverse), (other, end, _, strand) in pairwise(order):
        if (contig, is_reverse) == (other, strand) and end - start > 2:
            if has_frame(contigs[contig][start:end], is_reverse):
                yield contig, start, end, is_reverse


def used(path: str | Path) -> dict[str, float | str]:
    """Return CPU seconds and peak memory, as far as GNU time wrote them."""
    numbers = dict(re.findall(r"(User|System|Maximum).*: ([\d.]+)", Path(path).read_text()))
    peak = float(numbers["Maximum"]) / 1024 if "Maximum" in numbers else ""
    return {"CPU s": float(numbers["User"]) + float(numbers["System"]), "peak MiB": peak}


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, {}, predict)
    parser.add_argument("genomes", help="table of genomes")
    parser.add_argument("predictions", help="table of predictions")
    args = parser.parse_args()
    genomes = [line.split("\t") for line in Path(args.genomes).read_text().splitlines()]
    rows: list[dict[str, Any]] = []
    for line in Path(args.predictions).read_text().splitlines():
        organism, program, labels, path, usage = line.split("\t")
        name, _, genome, annotation = next(row for row in genomes if row[4] == organism)[:4]
        contigs = {contig.name: contig.codes for contig in read_contigs(genome)}
        if path.endswith("introns.gff3"):
            introns = listed(path)
            exons = set(between(introns, contigs))
        else:
            introns, exons = annotated(path, set(contigs))[0], inner_exons(path, set(contigs))[0]
        row: dict[str, Any] = {"genome": name, "program": program, "labels": labels}
        truth = {
            "": annotated(annotation, set(contigs)),
            "exon ": inner_exons(annotation, set(contigs)),
        }
        for kind, calls in ("", introns), ("exon ", exons):
            own = next(figures(dict.fromkeys(calls, 1.0), *truth[kind]))
            row |= {
                kind + key.replace("introns", "number"): own[key]
                for key in ("introns", "calls", "sensitivity", "precision", "F1")
            }
        rows.append(row | used(usage))
    write_result(args, rows)


if __name__ == "__main__":
    main()
