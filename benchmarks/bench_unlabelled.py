"""A genome without labels: average precision and honesty of calls after every round.

    python benchmarks/bench_unlabelled.py PAIR GENOME DONORS ACCEPTORS --organism NAME

PAIR is a paired model that has not seen the organism (``examples/04_starter_models.py --without``);
DONORS and ACCEPTORS are datasets of the organism, made with ``seqmtl dataset``, whose sites of all
splits are the truth. Every GT and AG of both strands counts, sites that the datasets exclude do
not. Prints for each round, and for the model that is written, by signal: average precision, sum of
the probabilities and number of true sites, calls of .9 or more, how many of them are right and how
many claim to be, and seconds.

    python benchmarks/bench_unlabelled.py ... --known 10 30 100 --annotation GFF3

Also draws so many introns of the annotation, in regions of the split train, and gives them as
known: once without rounds (alone), once with. Scores are then those of the other splits.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, write_result

from seqmtl.datasets.known_introns import read_known_introns
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.io.annotation import read_annotation
from seqmtl.io.dataset import read_split_genome
from seqmtl.splicing import score_paired
from seqmtl.splicing.genome_sample import sample_genome
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.rounds import SelfTrainingRound
from seqmtl.splicing.self_training import SelfTraining
from seqmtl.splicing.self_training_options import SelfTrainingOptions

QUICK = {
    "model": "starter:splice",
    "organism": "new",
    "like": "c_elegans",
    "rounds": 1,
    "known": [30],
}


def simulate(folder: Path) -> dict[str, Path]:
    """Return a simulated genome, its datasets and its annotation."""
    donors, acceptors = _toy.datasets(folder, ("new", "c_elegans"), 25)
    return {
        "genome": folder / "genomes" / "new.fa",
        "donors": donors,
        "acceptors": acceptors,
        "annotation": folder / "annotation" / "new.gff3",
    }


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("model")
    parser.add_argument("genome")
    parser.add_argument("donors")
    parser.add_argument("acceptors")
    parser.add_argument("--organism", required=True)
    parser.add_argument("--like", help="default: its own name in the tree")
    parser.add_argument("--tree", default="eukaryotes")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--known", type=int, nargs="*", default=[])
    parser.add_argument("--annotation", help="GFF3 or GTF to draw the known introns from")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    data = (args.donors, args.acceptors)
    model = PairedModel.load(args.model)
    sample = sample_genome(args.genome, max(model.donor.length, model.acceptor.length))
    introns = _introns(args) if args.known else []
    splits = ("valid", "test") if args.known else (None,)
    rows: list[dict[str, Any]] = []
    for n in (0, *args.known):
        known = None
        if n:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "known.bed")
                path.write_text("".join(introns[:n]))
                both = model.donor, model.acceptor
                known = read_known_introns(str(path), args.organism, args.genome, both)
        for kind in (_Alone, SelfTraining) if n else (SelfTraining,):
            started = time.perf_counter()
            own = kind(
                model,
                args.organism,
                sample,
                known_introns=known,
                like=args.like,
                tree=args.tree,
                options=SelfTrainingOptions(max_rounds=args.rounds),
            )
            known_as = {"organism": args.organism, "known": n, "from": kind.__name__.strip("_")}
            if not n:
                _tell(own.rounds[0])
                placed = _figures(own.paired(), data, args.organism, splits)
                rows += [{**known_as, "rounds": 0, **row, "s": ""} for row in placed]
            own.train(_tell)
            seconds = time.perf_counter() - started
            if len(own.rounds) > 1:
                known_as["rounds"] = len(own.rounds) - 1
                found = _figures(own.paired(), data, args.organism, splits)
                rows += [{**known_as, **row, "s": seconds} for row in found]
    write_result(args, rows)


class _Alone(SelfTraining):
    """Learns from what is known alone, however much is found."""

    @property
    def is_enough(self) -> bool:
        return False


def _introns(args: argparse.Namespace) -> list[str]:
    """Return the introns in regions of the split train as rows of BED, in an order by chance."""
    held = read_split_genome(args.donors, args.organism, "train")
    starts, regions = held.genome.starts, []
    for begin, end in held.regions.tolist():
        k = int(np.searchsorted(starts, begin, "right")) - 1
        regions.append((held.genome.names[k], begin - int(starts[k]), end - int(starts[k])))
    found = {
        f"{own.contig}\t{start}\t{end}\tintron\t1\t{'-' if own.is_reverse else '+'}\n"
        for own in read_annotation(args.annotation).transcripts
        for start, end in own.introns
        if any(name == own.contig and a <= start and end <= b for name, a, b in regions)
    }
    rows = sorted(found)
    random.Random(args.seed).shuffle(rows)
    return rows


def _tell(found: SelfTrainingRound) -> None:
    """Print what a round found."""
    print(
        f"expected {found.expected[0]:.0f} {found.expected[1]:.0f}  p90 {found.n_p90[0]} "
        f"{found.n_p90[1]}  reversed {found.reversed_rate:.3f}  introns {found.shortest}-"
        f"{found.median}-{found.longest}",
        flush=True,
    )


def _figures(
    model: Any, data: tuple[str, str], organism: str, splits: Sequence[str | None]
) -> list[dict[str, Any]]:
    """Return the figures of a model on every candidate of splits of the datasets."""
    rows = []
    scores = [score_paired(model, *data, split=own, organism=organism) for own in splits]
    for end, path in zip(ENDS, data, strict=True):
        n = 0
        for split in splits:
            held = read_split_genome(path, organism, split)
            sites = held.sites[held.is_true]
            row = np.searchsorted(held.regions[:, 0], sites, "right") - 1
            n += int(((row >= 0) & (sites < held.regions[row, 1])).sum())
        is_true = np.concatenate([own[end].labels > 0 for own in scores])
        log_odds = np.concatenate([own[end].paired for own in scores])
        p = 1 / (1 + np.exp(-log_odds))
        calls, precision = p >= 0.9, RankedScores(is_true, log_odds).metrics()[1]
        right, claimed = (own[calls].sum() / max(calls.sum(), 1) for own in (is_true, p))
        rows.append(
            {
                "signal": end,
                "AUPRC": float(precision * is_true.sum() / n),
                "expected": float(p.sum()),
                "true": n,
                "calls of .9": int(calls.sum()),
                "right": float(right),
                "claimed": float(claimed),
            }
        )
    return rows


if __name__ == "__main__":
    main()
