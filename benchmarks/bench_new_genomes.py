"""Introns of genomes without labels, by length: sensitivity, precision, and what is claimed.

    python benchmarks/bench_new_genomes.py PAIR genomes.tsv --json OUT.json

Each line of the table has the name of a genome, its clade, FASTA, annotation, organism, and the
organisms that are first left out of PAIR, with commas: the organism itself and those that share
genes with it. Nothing of the organism but its sequence is used. An intron of coding sequence is
true if both ends are right; introns outside coding sequence that are annotated do not count, and
annotations without CDS count all. Gaps that are shorter than the introns of `seqmtl dataset` are
frame shifts. Prints for each genome and length class, before and after training: introns, how many
of them can be called at once (of those that share an end, one), those called at .5, sensitivity,
precision, F1, the sum of the probabilities, and the number and precision of the calls of .9, of all
annotated introns. The precision of these is what `examples/04_starter_models.py` puts into the
paired model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, write_result
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from seqmtl.core.weights import TaskWeights
from seqmtl.datasets.config import SiteRules
from seqmtl.io.annotation import read_annotation
from seqmtl.io.genome import read_contigs
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.relations import TaskKernel
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.genome_sample import sample_genome
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.self_training import SelfTraining

#: Shortest introns of the classes of length.
LENGTH_CLASSES = (0, 200, 1_000, 4_000)
QUICK = {"model": "starter:splice", "rounds": 1}
Intron = tuple[str, int, int, bool]  # contig, start, end, is on the minus strand


def simulate(folder: Path) -> dict[str, Path]:
    """Return the table of a simulated genome."""
    _toy.datasets(folder, ("new", "c_elegans"), 25)
    table = folder / "genomes.tsv"
    files = folder / "genomes" / "new.fa", folder / "annotation" / "new.gff3"
    table.write_text("\t".join(["toy", "toys", *map(str, files), "c_elegans", "c_elegans"]) + "\n")
    return {"genomes": table}


def without(model: PairedModel, names: list[str]) -> PairedModel:
    """Return a paired model without some of its organisms."""

    def part(end: MultiTaskModel) -> MultiTaskModel:
        rows = [k for k, task in enumerate(end.tasks) if task not in names]
        tasks = tuple(end.tasks[k] for k in rows)
        kernel = TaskKernel(tasks, end.kernel.matrix[np.ix_(rows, rows)], end.kernel.source)
        curves = {task: curve for task, curve in end.curves.items() if task in tasks}
        bias = None if end.consensus_bias is None else end.consensus_bias[rows]
        W = TaskWeights.of(np.asarray(end.W)[:, rows], end.W.columns)
        columns = {"W": W, "bias": end.bias[rows], "consensus_bias": bias}
        columns["calibration"] = end.calibration[rows]
        training = dict(end.training)
        for key in ("tasks", "calibration"):
            training[key] = {task: training[key][task] for task in tasks if task in training[key]}
        columns["training"] = training
        return replace(end, tasks=tasks, kernel=kernel, curves=curves, **columns)

    layer = {name: layer for name, layer in model.layer.items() if name not in names}
    return replace(model, donor=part(model.donor), acceptor=part(model.acceptor), layer=layer)


def without_frame_shifts(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return exons, or those of coding sequence, joined where no intron is between them."""
    exons: list[tuple[int, int]] = []
    for start, end in parts:
        if exons and start - exons[-1][1] < SiteRules().min_intron:
            start = exons.pop()[0]
        exons.append((start, end))
    return exons


def annotated(path: str, contigs: set[str]) -> tuple[set[Intron], set[Intron]]:
    """Return the introns of coding sequence, or all without any, and all introns."""
    transcripts = [one for one in read_annotation(path).transcripts if one.contig in contigs]
    has_cds = any(one.cds for one in transcripts)
    coding, every = set(), set()
    for one in transcripts:
        for introns, parts in (coding, one.cds if has_cds else one.exons), (every, one.exons):
            for before, after in pairwise(without_frame_shifts(parts)):
                introns.add((one.contig, before[1], after[0], one.is_reverse))
    return coding, coding | every


def called(model: PairedModel, organism: str, genome: str) -> dict[Intron, float]:
    """Return the introns of probability .0001 or more."""
    finder, found = PairedFinder(model, organism, introns=1e-4), {}
    for contig in read_contigs(genome):
        for first in range(0, contig.codes.size, finder.block):
            last = min(first + finder.block, contig.codes.size)
            introns = finder.find(contig, first, last)["introns"]
            columns = introns.starts, introns["ends"], introns.is_reverse, introns["probability"]
            rows = zip(*(column.tolist() for column in columns), strict=True)
            found |= {(contig.name, *row[:3]): row[3] for row in rows}
    return found


def n_callable(introns: set[Intron]) -> int:
    """Return how many introns can be more likely than not at once: no two of them share an end."""
    columns = []
    for k in (1, 2):
        ends = [(row[0], row[k], row[3]) for row in introns]
        numbers = {end: number for number, end in enumerate(dict.fromkeys(ends))}
        columns.append([numbers[end] for end in ends])
    graph = csr_matrix((np.ones(len(introns)), columns))
    return int((maximum_bipartite_matching(graph) >= 0).sum())


def figures(
    calls: dict[Intron, float], coding: set[Intron], every: set[Intron]
) -> Iterator[dict[str, Any]]:
    """Yield the figures of all introns, and of each class of lengths."""

    def of_class(introns: Any, low: int, high: float) -> set[Intron]:
        return {own for own in introns if low <= own[2] - own[1] < high}

    bounds = zip(LENGTH_CLASSES, (*LENGTH_CLASSES[1:], np.inf), strict=True)
    for low, high in [(0, np.inf), *bounds]:
        true, known = of_class(coding, low, high), of_class(every, low, high)
        listed = {own: calls[own] for own in of_class(calls, low, high)}
        likely = {own for own, p in listed.items() if p >= 0.5} - (known - true)
        high_ = {own for own, p in listed.items() if p >= 0.9}
        n_right = len(likely & true)
        sensitivity, precision = n_right / max(len(true), 1), n_right / max(len(likely), 1)
        both = sensitivity + precision
        yield {
            "bases": "all" if np.isinf(high) and not low else low,
            "introns": len(true),
            "callable": n_callable(true) if true else 0,
            "calls": len(likely),
            "sensitivity": sensitivity,
            "precision": precision,
            "F1": 2 * sensitivity * precision / both if both else 0.0,
            "expected": sum(listed.values()),
            "annotated": len(known),
            "calls of .9": len(high_),
            "right": len(high_ & known) / len(high_) if high_ else 0.0,
        }


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("model")
    parser.add_argument("genomes", help="table of genomes")
    parser.add_argument("--tree", default="eukaryotes")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for line in Path(args.genomes).read_text().splitlines():
        name, clade, genome, annotation, organism, left_out = line.split("\t")
        model = without(PairedModel.load(args.model), left_out.split(","))
        sample = sample_genome(genome, max(model.donor.length, model.acceptor.length))
        own = SelfTraining(model, organism, sample, tree=args.tree, max_rounds=args.rounds)
        truth = annotated(annotation, {contig.name for contig in read_contigs(genome)})
        models = {"relatives": own.paired()}
        own.train(lambda _: None)
        if len(own.rounds) > 1:
            models["rounds"] = own.paired()
        is_enough = not own.shortage or len(own.rounds) > 1
        for kind, made in models.items():
            calls = called(made, organism, genome)
            case = {"genome": name, "clade": clade, "model": kind if is_enough else "few"}
            rows += [case | row for row in figures(calls, *truth)]
    write_result(args, rows)


if __name__ == "__main__":
    main()
