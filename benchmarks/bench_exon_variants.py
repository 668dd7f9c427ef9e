"""How well changes of an exon's ends foretell measured changes of its inclusion.

    python benchmarks/bench_exon_variants.py starter:splice variants.tsv --organism h_sapiens
        --measured psi [--others mmsplice ...]

Columns of the table: exon, reference and alternative (letters of the construct in reading
direction), start and end (of the exon in the reference, 0-based half-open), and those that are
named. The ends of the exon are scored as `variants --annotation` does, and compared with raw scores
of hand-cut windows, which no letter of a site changes, and with other predictions of the table.
Prints Pearson's and Spearman's correlation of each with each measured column, over all rows, and by
where the first letter differs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from seqmtl import Windows
from seqmtl.io.transcripts import Transcript
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.loading import load
from seqmtl.sequences import Genome, encode
from seqmtl.sequences.genome import ContigTable
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.model import PairedModel
from seqmtl.variant_effects import ExonScorer
from seqmtl.variant_effects.alleles import Alleles

PADDING = 400
QUICK = {"model": "starter:splice", "organism": "h_sapiens", "measured": ["change"]}
Rows = list[dict[str, str]]


def simulate(folder: Path) -> dict[str, Path]:
    """Write random constructs with an exon, of which a letter is changed."""
    rng, lines = np.random.default_rng(0), ["exon\treference\talternative\tstart\tend\tchange"]
    for n in range(60):
        letters = rng.choice(list("ACGT"), 300)
        letters[[98, 99, 180, 181]] = list("AGGT")
        before, at = "".join(letters), 90 + 2 * n
        after = before[:at] + "ACGT"["CGTA".index(before[at])] + before[at + 1 :]
        lines.append(f"{n}\t{before}\t{after}\t100\t180\t{-abs(at - 140)}")
    (folder / "variants.tsv").write_text("\n".join(lines) + "\n")
    return {"table": folder / "variants.tsv"}


def genome_of(rows: Rows) -> Genome:
    """Return the references, a contig each."""
    parts, starts, size = [np.full(PADDING, 4, np.uint8)], [], PADDING
    for row in rows:
        starts.append(size)
        parts += [encode(row["reference"].encode()), parts[0]]
        size += len(row["reference"]) + PADDING
    lengths = np.array([len(row["reference"]) for row in rows])
    names = tuple(map(str, range(len(rows))))
    return Genome(np.concatenate(parts), ContigTable(names, np.array(starts), lengths))


def changes(model: PairedModel, organism: str, rows: Rows) -> NDArray[np.float64]:
    """Return the changes of the log-odds of donors and acceptors, shape (n, 2)."""
    genome, transcripts, variants = genome_of(rows), [], []
    for name, row in zip(genome.names, rows, strict=True):
        start, end, n = int(row["start"]), int(row["end"]), len(row["reference"])
        exons = ((0, 1), (start, end), (n - 1, n))
        transcripts.append(Transcript(name, name, name, False, exons))
        reference, alternative = row["reference"].encode(), row["alternative"].encode()
        variants.append((name, 0, reference, alternative))
    alleles, faults = Alleles.of(genome, variants)
    assert not any(faults)
    scorer = ExonScorer(PairedFinder(model, organism), genome, transcripts)
    effects = scorer.score(alleles)
    inner = np.flatnonzero(scorer.exons.has_ends.all(axis=1)[effects.exons])
    changes = np.zeros((len(rows), 2))
    changes[effects.alleles[inner]] = np.diff(effects.log_odds[inner])[..., 0]
    return changes


def raw_change(
    model: MultiTaskModel, organism: str, rows: Rows, ends: list[tuple[int, int]], before: int
) -> NDArray[np.float64]:
    """Return the change of the score of windows at an end of the exons.

    `ends` has it in the reference and in the alternative; the site begins so many bases before.
    """
    pad, cut = "N" * model.length, []
    for row, places in zip(rows, ends, strict=True):
        for letters, place in zip((row["reference"], row["alternative"]), places, strict=True):
            first = place - before - model.site.offset + model.length
            cut.append((pad + letters + pad)[first : first + model.length])
    scores = model.decision_function(Windows.from_strings(cut), organism)
    return np.asarray(np.diff(scores.reshape(-1, 2))[:, 0])


def first_difference(row: dict[str, str]) -> int:
    """Return the first base of the reference that differs."""
    pairs = zip(row["reference"], row["alternative"], strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), len(row["alternative"]))


def correlations(
    measured: dict[str, NDArray[np.float64]],
    predicted: dict[str, NDArray[np.float64]],
    places: NDArray[np.str_],
) -> Iterator[dict[str, Any]]:
    """Yield both correlations of each pair of columns, in all rows and by place."""
    for place in ("all", *dict.fromkeys(places.tolist())):
        for target, values in measured.items():
            for name, column in predicted.items():
                rows = np.isfinite(values) & np.isfinite(column)
                rows &= (places == place) | (place == "all")
                if min(np.unique(values[rows]).size, np.unique(column[rows]).size) > 1:
                    yield {
                        "where": place,
                        "n": int(rows.sum()),
                        "measured": target,
                        "predicted": name,
                        "Pearson": float(pearsonr(column[rows], values[rows])[0]),
                        "Spearman": float(spearmanr(column[rows], values[rows])[0]),
                    }


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("model", help="paired model")
    parser.add_argument("table", type=Path, help="TSV")
    parser.add_argument("--organism", required=True)
    parser.add_argument("--measured", nargs="+", required=True, metavar="COLUMN")
    parser.add_argument("--others", nargs="*", default=[], metavar="COLUMN")
    arguments = parser.parse_args()
    with open(arguments.table, newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    model, organism = load(arguments.model), arguments.organism
    starts = [(int(row["start"]), int(row["start"])) for row in rows]
    ends = [(int(row["end"]), int(row["end"])) for row in rows]
    first = [first_difference(row) for row in rows]
    for k, row in enumerate(rows):
        grown = len(row["alternative"]) - len(row["reference"])
        for own in (starts, ends):
            own[k] = own[k][0], own[k][1] + grown * (own[k][1] > first[k])
    log_odds = changes(model, organism, rows)
    raw = [
        raw_change(model.donor, organism, rows, ends, 0),
        raw_change(model.acceptor, organism, rows, starts, model.acceptor.site.length),
    ]
    predicted = {
        "raw scores of both ends": raw[0] + raw[1],
        "log-odds of the acceptor": log_odds[:, 1],
        "log-odds of the donor": log_odds[:, 0],
        "effect on the exon": log_odds.sum(axis=1),
    }
    measured = {}
    for columns, names in ((predicted, arguments.others), (measured, arguments.measured)):
        for name in names:
            columns[name] = np.array([float(row[name] or "nan") for row in rows])
    names = ("before the exon", "in the exon", "behind the exon")
    places = np.array(
        [
            names[(place >= start) + (place >= end)]
            for place, (start, _), (end, _) in zip(first, starts, ends, strict=True)
        ]
    )
    write_result(arguments, list(correlations(measured, predicted, places)))


if __name__ == "__main__":
    main()
