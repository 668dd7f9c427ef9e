"""A genome without labels: average precision and honesty of calls after every round.

    python benchmarks/bench_unlabelled.py PAIR GENOME DONORS ACCEPTORS --organism NAME

PAIR is a paired model that has not seen the organism (``examples/05_starter_models.py --without``);
DONORS and ACCEPTORS are datasets of the organism, made with ``seqmtl dataset``, whose sites of all
splits are the truth. Every GT and AG of both strands counts, sites that the datasets exclude do
not. Prints for each round, and for the model that is written, by signal: average precision, sum of
the probabilities and number of true sites, calls of .9 or more, how many of them are right and how
many claim to be, and seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from seqmtl import load_model
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.io.dataset import read_split_genome
from seqmtl.models.paired import ENDS
from seqmtl.pairs import score_paired
from seqmtl.pairs.genome_sample import sample_genome
from seqmtl.pairs.unlabelled import Round, Unlabelled


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("genome")
    parser.add_argument("donors")
    parser.add_argument("acceptors")
    parser.add_argument("--organism", required=True)
    parser.add_argument("--like", help="default: its own name in the tree")
    parser.add_argument("--tree", default="eukaryotes")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args(arguments)
    started, data = time.perf_counter(), (args.donors, args.acceptors)
    model: Any = load_model(args.model, only=("pairs",))
    padding = max(model.donor.length, model.acceptor.length)
    own = Unlabelled(
        model, args.organism, sample_genome(args.genome, padding), like=args.like, tree=args.tree
    )

    def tell(found: Round) -> None:
        seconds = time.perf_counter() - started
        print(
            f"round {len(own.rounds) - 1}: expected {found.expected[0]:.0f} {found.expected[1]:.0f}"
            f"  sure {found.sure[0]} {found.sure[1]}  backwards {found.backwards:.3f}"
            f"  introns {found.shortest}-{found.middle}-{found.longest}  {seconds:.0f} s",
            flush=True,
        )

    tell(own.rounds[0])
    _show("placed", own.paired(), data, args.organism)
    if own.is_enough:
        own.train(tell, args.rounds)
        _show("trained", own.paired(), data, args.organism)


def _show(what: str, model: Any, data: tuple[str, str], organism: str) -> None:
    """Print the figures of a model on every candidate of the datasets."""
    scores = score_paired(model, *data, split=None, organism=organism)
    for end, path in zip(ENDS, data, strict=True):
        is_true, n = scores[end].labels > 0, read_split_genome(path, organism).is_true.sum()
        p = 1 / (1 + np.exp(-scores[end].paired))
        calls, precision = p >= 0.9, RankedScores(is_true, scores[end].paired).metrics()[1]
        right, claimed = (own[calls].sum() / max(calls.sum(), 1) for own in (is_true, p))
        print(
            f"{what:8} {end:9} AUPRC {precision * is_true.sum() / n:.4f}  expected {p.sum():.0f} "
            f"of {n}  calls {calls.sum()}: right {right:.3f}, claimed {claimed:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
