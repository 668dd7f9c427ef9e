"""Sites of a genome by networks that score each base, beside a paired model: AUPRC.

    python benchmarks/bench_peers_sites.py FASTA ANNOTATION NAME=SCORES ... --json OUT.json

FASTA has one contig. Scores are a paired model and its organism (MODEL@NAME), or an .npz with the
arrays ``plus`` and ``minus`` of shape (bases, 2): the probabilities that a base is the first of an
exon after an acceptor, and the last before a donor, by position on either strand. What GNU time
wrote about the run is beside it, with the ending .time.

Every GT and AG of both strands counts; it is true if an annotated intron begins or ends there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, write_result
from bench_new_genomes import annotated
from bench_peers_introns import used
from numpy.typing import NDArray

from seqmtl.evaluation.metrics import RankedScores
from seqmtl.io.genome import ContigPiece, read_contigs
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.model import PairedModel

SIGNALS = ("acceptor", "donor")  # as the columns are
LETTERS = {"donor": (2, 3), "acceptor": (0, 2)}


def simulate(folder: Path) -> dict[str, Any]:
    """Return a simulated contig, its annotation, and scores that know the annotation."""
    _toy.genomes(folder, ("new",))
    genome, contig = folder / "genome.fa", (folder / "genomes" / "new.fa").read_text()
    genome.write_text(">" + contig.split(">")[1])
    annotation = str(folder / "annotation" / "new.gff3")
    (piece,) = read_contigs(genome)
    introns = annotated(annotation, {piece.name})[1]
    scores = {name: np.zeros((piece.codes.size, 2)) for name in ("plus", "minus")}
    for _, start, end, is_reverse in introns:
        bases = [start - 1, end] if is_reverse else [end, start - 1]
        scores["minus" if is_reverse else "plus"][bases, [0, 1]] = 1.0
    np.savez(folder / "known.npz", **scores)
    names = [f"known={folder / 'known.npz'}", "paired=starter:splice@c_elegans"]
    return {"fasta": genome, "annotation": annotation, "scores": names}


def of_network(path: str, signal: str, firsts: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the scores of sites, from their first letters by position and strand."""
    with np.load(path) as strands:
        columns = [strands[name][:, SIGNALS.index(signal)] for name in ("plus", "minus")]
    steps = (2, -1) if signal == "acceptor" else (-1, 2)  # to the base of the exon
    rows = [np.clip(own + step, 0, size - 1) for own, step in zip(firsts, steps, strict=True)]
    return np.concatenate([own[row] for own, row in zip(columns, rows, strict=True)])


def of_model(path: str, signal: str, firsts: NDArray[Any], contig: ContigPiece) -> NDArray[Any]:
    """Return the log-odds that the model gives sites; the smallest to those that it leaves out."""
    name, organism = path.split("@")
    finder = PairedFinder(PairedModel.load(name), organism, signals=[signal])
    known: dict[tuple[int, bool], float] = {}
    for first in range(0, contig.codes.size, finder.block):
        last = min(first + finder.block, contig.codes.size)
        sites = finder.find(contig, first, last)[signal]
        keys = zip(sites.starts.tolist(), sites.is_reverse.tolist(), strict=True)
        known |= dict(zip(keys, sites["scores"].tolist(), strict=True))
    keys = [(place, strand == 1) for strand in (0, 1) for place in firsts[strand].tolist()]
    return np.array([known.get(key, -1e3) for key in keys])


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, {}, simulate)
    parser.add_argument("fasta")
    parser.add_argument("annotation")
    parser.add_argument("scores", nargs="+", metavar="NAME=SCORES")
    args = parser.parse_args()
    (contig,) = read_contigs(args.fasta)
    introns, rows = annotated(args.annotation, {contig.name})[1], []
    for name, path in (text.split("=", 1) for text in args.scores):
        row: dict[str, Any] = {"model": name}
        for signal in ("donor", "acceptor"):
            a, b = LETTERS[signal]
            is_first = [
                (contig.codes[:-1] == first) & (contig.codes[1:] == second)
                for first, second in ((a, b), (3 - b, 3 - a))
            ]
            firsts = [np.flatnonzero(own) for own in is_first]
            true: list[set[int]] = [set(), set()]
            for _, start, end, is_reverse in introns:
                true[is_reverse].add(start if (signal == "donor") != is_reverse else end - 2)
            labels = np.concatenate(
                [np.isin(own, list(sites)) for own, sites in zip(firsts, true, strict=True)]
            )
            size = contig.codes.size
            scores = (
                of_network(path, signal, firsts, size)
                if path.endswith(".npz")
                else of_model(path, signal, firsts, contig)
            )
            ranked = RankedScores(labels, scores.astype(float))
            row[f"{signal}s"] = int(labels.sum())
            row[f"AUPRC, {signal}s"] = ranked.metrics()[1]
            row[f"precision, {signal}s"] = ranked.precision_at(0.8)
        usage = Path(path.split("@")[0]).with_suffix(".time")
        unknown = {"CPU s": "", "peak MiB": ""}
        rows.append(row | (used(usage) if usage.exists() else unknown))
    write_result(args, rows)


if __name__ == "__main__":
    main()
