"""What a paired model says of alleles whose effect is plain: broken sites, and far from exons.

    python benchmarks/bench_exon_effects.py splice.seqmtl genome.fa annotation.gff3
        [--organism NAME] [--most 500] [--seed 1]

In the longest contig, the G of GT and AG is changed to A at annotated sites of internal exons, at
as many other candidates of the same log-odds by the model of the site alone, and at the strongest
other candidates. Random bases are changed in introns, 300 bases or more from exons, and outside of
genes, 1,000 or more from them. Prints the median of the largest change of any site by the site
models alone, of any site or exon by the paired model, and of any exon, and the share that is .2 or
more. Then come AUROC and AUPRC of the loss of the changed site, alone and paired, and of an exon,
for annotated sites among the others; and how often the exon that loses most is the annotated one,
its probability, its loss, and how often no other exon gains a quarter of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from seqmtl.io import load_genome, read_annotation
from seqmtl.io.genome import ContigPiece
from seqmtl.io.transcripts import Transcript
from seqmtl.loading import load
from seqmtl.scanning.finder import finder_of
from seqmtl.sequences import Genome
from seqmtl.splicing.model import PairedModel
from seqmtl.variant_effects import Effects, EffectScorer, PairedEffectScorer
from seqmtl.variant_effects.alleles import Alleles

FAR_IN_INTRON, FAR_FROM_GENE = 300, 1_000
SITE, EQUAL, STRONG = "annotated site", "candidate as strong", "strongest candidates"
SCORES = ("alone", "paired", "exon")
QUICK = {"model": "starter:splice", "organism": _toy.GENOMES[0], "most": 4}


def simulate(folder: Path) -> dict[str, Path]:
    """Return a simulated genome and its annotation."""
    _toy.genomes(folder)
    name = _toy.GENOMES[0]
    genome, annotation = folder / "genomes" / f"{name}.fa", folder / "annotation" / f"{name}.gff3"
    return {"genome": genome, "annotation": annotation}


class Variant(NamedTuple):
    """A substitution, its group, and the signal (0 donor, 1 acceptor) and exon that it breaks."""

    place: int
    alt: str
    group: str
    signal: int = -1
    exon: tuple[int, int] = (-1, -1)


def site_of(exon: tuple[int, int], signal: int, is_reverse: bool) -> int:
    """Return the first base, on the forward strand, of the donor or acceptor of an exon."""
    return exon[1] if (signal == 0) != is_reverse else exon[0] - 2


def broken(start: int, is_reverse: bool, signal: int) -> tuple[int, str]:
    """Return where the G of a site that starts at a base is, and what it becomes."""
    return start + int((signal == 0) == is_reverse), "T" if is_reverse else "A"


def broken_sites(
    model: PairedModel,
    organism: str,
    codes: NDArray[np.uint8],
    transcripts: Sequence[Transcript],
    most: int,
    rng: np.random.Generator,
) -> list[Variant]:
    """Return annotated sites, and candidates of the same strength, and the strongest."""
    found = []
    for signal, ends in enumerate((model.donor, model.acceptor)):
        finder = finder_of(ends, organism)
        assert finder.log_odds is not None
        sites = finder.find_sites(ContigPiece("", 0, codes), 0, codes.size)
        log_odds = finder.log_odds(sites["scores"].astype(np.float64))
        keys = list(zip(sites.starts.tolist(), sites.is_reverse.tolist(), strict=True))
        row_of = {key: row for row, key in enumerate(keys)}
        true, inner = set(), {}
        for own in transcripts:
            for k, exon in enumerate(own.exons):
                key = site_of(exon, signal, own.is_reverse), own.is_reverse
                true.add(key)
                if 0 < k < len(own.exons) - 1 and key in row_of:
                    inner.setdefault(row_of[key], exon)
        rows = list(inner)
        rows = [rows[k] for k in rng.permutation(len(rows))[:most]]
        others = np.array([row for row, key in enumerate(keys) if key not in true])
        others = others[np.argsort(-log_odds[others], kind="stable")]
        groups = {SITE: rows, STRONG: others[: len(rows)].tolist(), EQUAL: []}
        left = others.tolist()
        for row in rows:  # each takes the nearest that is left
            at = int(np.searchsorted(-log_odds[left], -log_odds[row]))
            groups[EQUAL].append(left.pop(min(at, len(left) - 1)))
        for group, own_rows in groups.items():
            for row in own_rows:
                exon = inner[row] if group == SITE else (-1, -1)
                found.append(Variant(*broken(*keys[row], signal), group, signal, exon))
    return found


def random_bases(
    codes: NDArray[np.uint8],
    transcripts: Sequence[Transcript],
    most: int,
    rng: np.random.Generator,
) -> list[Variant]:
    """Return substitutions deep in introns and outside of genes."""
    near_exon, in_gene, near_gene = (np.zeros(codes.size, dtype=np.bool_) for _ in range(3))
    for own in transcripts:
        in_gene[own.start : own.end] = True
        near_gene[max(0, own.start - FAR_FROM_GENE) : own.end + FAR_FROM_GENE] = True
        for start, end in own.exons:
            near_exon[max(0, start - FAR_IN_INTRON) : end + FAR_IN_INTRON] = True
    found = []
    for group, wanted in (("deep in introns", in_gene & ~near_exon), ("outside genes", ~near_gene)):
        places = np.flatnonzero(wanted & (codes < 4))
        for place in rng.choice(places, min(most, places.size), replace=False).tolist():
            letter = "ACGT"[(codes[place] + rng.integers(1, 4)) % 4]
            found.append(Variant(place, letter, group))
    return found


def effects_of(
    scorers: Sequence[EffectScorer | PairedEffectScorer],
    genome: Genome,
    name: str,
    variants: Sequence[Variant],
) -> list[Effects]:
    """Return the effects on every signal of every scorer."""
    codes = genome.contig(name)
    alleles, faults = Alleles.of(
        genome,
        [(name, own.place, b"ACGT"[codes[own.place] :][:1], own.alt.encode()) for own in variants],
    )
    assert not any(faults)
    return [own for scorer in scorers for own in scorer.by_signal(genome, alleles)]


def row(figure: str, group: str, of: str, n: int, value: float) -> dict[str, Any]:
    """Return a row of the result."""
    return {"figure": figure, "group": group, "of": of, "n": int(n), "value": float(value)}


def sizes(
    group: NDArray[np.str_], columns: dict[str, NDArray[np.float64]]
) -> Iterator[dict[str, Any]]:
    """Yield how large the changes are in each group."""
    for name in dict.fromkeys(group.tolist()):
        for what, values in columns.items():
            changes = values[group == name]
            yield row("median of the largest change", name, what, changes.size, np.median(changes))
            yield row("share of .2 or more", name, what, changes.size, np.mean(changes >= 0.2))


def ranks(
    group: NDArray[np.str_],
    signal: NDArray[np.int64],
    alone: NDArray[np.float64],
    paired: NDArray[np.float64],
) -> Iterator[dict[str, Any]]:
    """Yield how well losses tell annotated sites from others; they are by signal and variant."""
    for k, kind in enumerate(("donor", "acceptor")):
        for other in (EQUAL, STRONG):
            rows = np.flatnonzero((signal == k) & np.isin(group, [SITE, other]))
            true = group[rows] == SITE
            for what, losses in zip(SCORES, (alone[k], paired[k], paired[2]), strict=True):
                name, n = f"{kind}s, {other}", rows.size
                yield row("AUROC of the loss", name, what, n, roc_auc_score(true, losses[rows]))
                precision = average_precision_score(true, losses[rows])
                yield row("AUPRC of the loss", name, what, n, precision)


def exons_lost(
    lost: Effects, exons: NDArray[np.int64], rows: NDArray[np.bool_]
) -> Iterator[dict[str, Any]]:
    """Yield what becomes of the exons of annotated sites."""
    assert lost.introns is not None
    is_own = (lost.introns[rows, 1, 0, :2] == exons[rows]).all(axis=1)
    P, changes = lost.probabilities[rows, 1, 0], lost.changes[rows]
    yield row(
        "the exon that loses most is that of the site", SITE, "exon", rows.sum(), is_own.mean()
    )
    for low, high in ((0.9, 1.0), (0.5, 0.9), (0.1, 0.5)):
        chosen = is_own & (P > low) & (P <= high)
        name, n = f"of probability {low} to {high}", int(chosen.sum())
        skipped = changes[chosen, 0] < 0.25 * changes[chosen, 1]
        yield row("probability", name, "exon", n, P[chosen].sum() / max(1, n))
        yield row("loss", name, "exon", n, changes[chosen, 1].sum() / max(1, n))
        yield row("skipped", name, "exon", n, skipped.sum() / max(1, n))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("model", help="paired model")
    parser.add_argument("genome", type=Path, help="FASTA")
    parser.add_argument("annotation", type=Path)
    parser.add_argument("--organism", help="organism of the model, if there are several")
    parser.add_argument("--most", type=int, default=500, help="alleles of a group, and signal")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    model, genome = load(arguments.model), load_genome(arguments.genome, padding=1)
    organism, rng = arguments.organism or model.tasks[0], np.random.default_rng(arguments.seed)
    name = max(genome.names, key=lambda own: genome.contig(own).size)
    codes = genome.contig(name)
    every = read_annotation(arguments.annotation).transcripts
    transcripts = [own for own in every if own.contig == name]
    variants = broken_sites(model, organism, codes, transcripts, arguments.most, rng)
    variants += random_bases(codes, transcripts, arguments.most, rng)
    variants.sort()
    ends = [EffectScorer(own, organism) for own in (model.donor, model.acceptor)]
    alone = effects_of(ends, genome, name, variants)
    paired = effects_of([PairedEffectScorer(model, organism)], genome, name, variants)
    group = np.array([own.group for own in variants])
    signal = np.array([own.signal for own in variants])
    single, both = (np.stack([own.changes for own in part]) for part in (alone, paired))
    changes = single.max(axis=(0, 2)), both.max(axis=(0, 2)), both[2].max(axis=1)
    exons = np.array([own.exon for own in variants])
    rows = [
        *sizes(group, dict(zip(SCORES, changes, strict=True))),
        *ranks(group, signal, single[..., 1], both[..., 1]),
        *exons_lost(paired[2], exons, group == SITE),
    ]
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
