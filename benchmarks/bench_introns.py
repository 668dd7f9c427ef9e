"""Judge the introns of an annotation of which some are displaced.

    python benchmarks/bench_introns.py MODEL GENOME ANNOTATION [--organism NAME] [--like NAME]
        [--displaced 100] [--seed 0]

One end of introns drawn at random is moved to the next GT or AG on either side, in all transcripts.
The introns are judged as by `seqmtl introns`; those with an end that has not the letters of a site,
and those that a displaced one equals, are left out of the figures. Prints AUROC of displaced
against other introns and, for several probabilities, the share of the others and of the displaced
ones below, and how many of the introns below are displaced; and the seconds of judging.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from seqmtl import use_threads
from seqmtl.io.genome import read_contigs
from seqmtl.io.intron_chains import IntronChain, read_intron_chains
from seqmtl.loading import load
from seqmtl.sequences.sites import find_motifs

MIN_INTRON = 40
LEVELS = (0.01, 0.1, 0.5)
QUICK = {"model": "starter:splice", "organism": _toy.GENOMES[0], "displaced": 5}

#: Contig, start, end and strand.
Intron = tuple[str, int, int, str]


def simulate(folder: Path) -> dict[str, str]:
    """Return a simulated genome and its annotation."""
    _toy.genomes(folder)
    name = _toy.GENOMES[0]
    genome, annotation = folder / "genomes" / f"{name}.fa", folder / "annotation" / f"{name}.gff3"
    return {"genome": str(genome), "annotation": str(annotation)}


def displaced(
    codes: NDArray[np.uint8],
    chains: Sequence[IntronChain],
    chosen: set[Intron],
    rng: np.random.Generator,
) -> tuple[list[IntronChain], set[Intron]]:
    """Return chains in which the chosen introns are displaced, and the displaced introns."""
    places = {
        strand: [
            np.flatnonzero(find_motifs(codes, [motif], strand == "-")) + shift
            for motif, shift in ((("GT", 0), ("AG", 2)), (("AG", 0), ("GT", 2)))[strand == "-"]
        ]
        for strand in "+-"
    }
    moves: dict[Intron, tuple[int, int]] = {}
    for key in sorted(chosen):
        bounds, side = list(key[1:3]), int(rng.integers(2))
        others = places[key[3]][side]
        at = int(np.searchsorted(others, bounds[side]))
        nearest = others[at + 1] if rng.integers(2) else others[at - 1]
        bounds[side] = int(nearest)
        moves[key] = (bounds[0], bounds[1])
    made: list[IntronChain] = []
    for chain in chains:
        moved = [
            moves.get((chain.contig, *intron, chain.strand), intron) for intron in chain.introns
        ]
        ends = [end for intron in moved for end in intron]
        is_possible = all(first < last for first, last in pairwise(ends))
        made.append(chain._replace(introns=tuple(moved)) if is_possible else chain)
    others = {(one.contig, *intron, one.strand) for one in made for intron in one.introns}
    return made, {(key[0], *bounds, key[3]) for key, bounds in moves.items() if key not in others}


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("model", help="model of seqmtl pair")
    parser.add_argument("genome")
    parser.add_argument("annotation")
    parser.add_argument("--organism", help="organism of the model; with --like a new one")
    parser.add_argument("--like")
    parser.add_argument("--displaced", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, model = np.random.default_rng(arguments.seed), load(arguments.model)
    organism = arguments.organism or arguments.like
    predictor = model.predictor(
        organism, like=arguments.like, genome=arguments.genome if arguments.like else None
    )
    chains = read_intron_chains(arguments.annotation)[0]
    chains = [chain for chain in chains if chain.introns]
    annotated = {
        (chain.contig, *intron, chain.strand) for chain in chains for intron in chain.introns
    }
    eligible = sorted(key for key in annotated if key[2] - key[1] >= MIN_INTRON)
    n = min(arguments.displaced, len(eligible) // 4)
    chosen = {eligible[k] for k in rng.choice(len(eligible), n, replace=False)}
    p, false, seconds = {}, set(), 0.0
    with use_threads():
        for contig in read_contigs(arguments.genome):
            of_contig = [chain for chain in chains if chain.contig == contig.name]
            if not of_contig:
                continue
            on_contig = {key for key in chosen if key[0] == contig.name}
            made, moved = displaced(contig.codes, of_contig, on_contig, rng)
            false |= moved - annotated
            started = time.perf_counter()
            for one in predictor.judge(contig, made):
                for k, intron in enumerate(one.chain.introns):
                    if not np.isnan(one.log_odds[k]).any():
                        key = (contig.name, *intron, one.chain.strand)
                        p[key] = max(p.get(key, 0.0), float(one.probabilities[k]))
            seconds += time.perf_counter() - started
    is_false = np.array([key in false for key in p])
    values = np.array([*p.values()])
    row = {
        "organism": organism,
        "introns": len(p),
        "displaced": int(is_false.sum()),
        "AUROC": float(roc_auc_score(~is_false, values)),
        "s": seconds,
    }
    rows = []
    for level in LEVELS:
        below = values < level
        rows.append(
            row
            | {
                "below": level,
                "others below": float(below[~is_false].mean()),
                "displaced below": float(below[is_false].mean()),
                "displaced among them": float(is_false[below].mean()) if below.any() else 0.0,
            }
        )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
