"""Splice junctions of reads in the place of an annotation.

    python benchmarks/bench_junctions.py GENOMES

GENOMES has ORGANISM.1pct.fa.gz and ORGANISM.1pct.gff3.gz of several organisms, whose GFF3 has both
genes and introns of RNA-seq reads (source RNASeq_splice, score: reads). For each fold of the
contigs, models of all organisms are trained on the other contigs, with labels from

    annotation   the genes
    half         junctions: half of the annotated introns, drawn at random
    errors       the same and a tenth as many false ones, GT to AG at random, with as many reads
    simulated    all annotated introns with log-normal numbers of reads (median 50), and false
                 junctions (--false: share of the true) with few (median 2), default thresholds
    reads        the junctions of the reads, with the default thresholds
    all reads    the same without thresholds

Prints the AUPRC over every candidate of the fold against the genes, per organism as the mean of the
folds, and the difference from the annotation with its standard error over organisms and folds.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, seqmtl, write_result

from seqmtl.io import load_genome
from seqmtl.io.annotation import read_annotation
from seqmtl.sequences.alphabet import decode

Intron = tuple[str, int, int, bool]
LENGTHS, READS = (50, 600), 10
MEDIANS, SPREAD = (50.0, 2.0), 1.2
WAYS = ("annotation", "half", "errors", "simulated", "reads", "all reads")

QUICK = {"organisms": _toy.GENOMES, "folds": 2, "ways": ["reads"], "no_selection": True}


def simulate(folder: Path) -> dict[str, Path]:
    """Return the folder of simulated genomes, whose introns all have nine reads."""
    _toy.genomes(folder)
    for name in _toy.GENOMES:
        genome = (folder / "genomes" / f"{name}.fa").read_bytes()
        genes = folder / "annotation" / f"{name}.gff3"
        rows = [
            f"{contig}\tRNASeq_splice\tintron\t{start + 1}\t{end}\t9\t"
            f"{'+-'[is_reverse]}\t.\tID={n}\n"
            for n, (contig, start, end, is_reverse) in enumerate(annotated(genes))
        ]
        (folder / f"{name}.1pct.fa.gz").write_bytes(gzip.compress(genome))
        text = genes.read_text() + "".join(rows)
        (folder / f"{name}.1pct.gff3.gz").write_bytes(gzip.compress(text.encode()))
    return {"genomes": folder}


def main() -> None:
    """Run the comparison."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("genomes", type=Path)
    parser.add_argument("--signal", default="donor", choices=("donor", "acceptor"))
    parser.add_argument(
        "--organisms", nargs="+", default=["c_elegans", "d_melanogaster", "a_thaliana"]
    )
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS, help="with annotation")
    parser.add_argument("--false", type=float, default=0.1)
    parser.add_argument("--no-selection", action="store_true", help="train once")
    args = parser.parse_args()
    found: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for fold in range(args.folds):
            for name, row in run_fold(fold, Path(folder), args).items():
                found.setdefault(name, []).append(row)
                print(fold, name, *(f"{value:.3f}" for value in row), file=sys.stderr, flush=True)
    table, base = [], np.array(found["annotation"])
    for name, rows in found.items():
        values = np.array(rows)
        away = values - base
        error = away.std(ddof=1) / away.size**0.5 if away.size > 1 else 0.0
        table.append(
            {
                "labels": name,
                **dict(zip(args.organisms, values.mean(axis=0).tolist(), strict=True)),
                "mean": float(values.mean()),
                "difference": float(away.mean()),
                "error": float(error),
            }
        )
    write_result(args, table)


def run_fold(fold: int, folder: Path, args: Any) -> dict[str, list[float]]:
    """Return the AUPRC of each organism by the origin of the labels."""
    rng = np.random.default_rng(fold)
    ways: dict[str, list[str]] = {way: [] for way in WAYS if way in (*args.ways, "annotation")}
    for name in args.organisms:
        fasta, gff = (args.genomes.resolve() / f"{name}.1pct.{end}" for end in ("fa.gz", "gff3.gz"))
        introns = annotated(gff)
        half = [introns[i] for i in rng.permutation(len(introns))[: len(introns) // 2]]
        false = draw_false(fasta, set(introns), round(args.false * len(introns)), rng)
        lists = {
            "half": dict.fromkeys(half, READS),
            "errors": dict.fromkeys(half + false[: round(len(half) / 10)], READS),
            "simulated": {**draw_reads(introns, 0, rng), **draw_reads(false, 1, rng)},
            "reads": of_reads(gff),
        }
        lists["all reads"] = lists["reads"]
        test = fold_of(introns, fold, args.folds)
        for way, lines in ways.items():
            path = gff
            if way != "annotation":
                path = folder / f"{name}.{way.replace(' ', '_')}.tab"
                path.write_text("".join(star(lists[way])))
            key = "annotation" if way == "annotation" else "junctions"
            lines.append(
                f'[organisms.{name}]\ngenome = "{fasta}"\n{key} = "{path}"\n'
                f"split = {{ test = {json.dumps(test)} }}\n"
            )
    options = ["--selection", "none"] if args.no_selection else []
    result = {}
    for way, lines in ways.items():
        rules = "[junctions]\nmin_reads = 1\nmin_share = 0\n" if way == "all reads" else ""
        config = folder / "config.toml"
        config.write_text(f'signal = "{args.signal}"\n{rules}' + "".join(lines))
        data = folder / way.replace(" ", "_")
        seqmtl("dataset", config, "-o", data)
        seqmtl("train", data, "-o", folder / "m.seqmtl", *options)
        evaluate = ["evaluate", folder / "m.seqmtl", folder / "annotation", "--bootstrap", 0]
        seqmtl(*evaluate, "--json", folder / "e.json")
        rows = json.loads((folder / "e.json").read_text())["tasks"]
        result[way] = [rows[name]["auprc_genome"] for name in args.organisms]
    return result


def annotated(gff: Path) -> list[Intron]:
    """Return the introns of genes."""
    transcripts = read_annotation(gff).transcripts
    found = {(t.contig, *intron, t.is_reverse) for t in transcripts for intron in t.introns}
    return sorted(found)


def of_reads(gff: Path) -> dict[Intron, int]:
    """Return the reads of each RNA-seq intron."""
    reads: Counter[Intron] = Counter()
    with gzip.open(gff, "rt") as lines:
        for line in lines:
            fields = line.split("\t")
            if len(fields) == 9 and fields[1] == "RNASeq_splice":
                key = fields[0], int(fields[3]) - 1, int(fields[4]), fields[6] == "-"
                reads[key] += int(float(fields[5]))
    return dict(reads)


def draw_false(fasta: Path, true: set[Intron], n: int, rng: np.random.Generator) -> list[Intron]:
    """Draw intervals from GT to AG on a random strand that share no end with an intron."""
    genome = load_genome(fasta, padding=LENGTHS[1])
    taken = {(c, place, side) for c, start, end, side in true for place in (start, end)}
    false: list[Intron] = []
    while len(false) < n:
        at, is_reverse = int(rng.integers(*genome.span)), bool(rng.integers(2))
        number = int(genome.contigs.contig_of(np.array([at]))[0])
        start = at - int(genome.starts[number])
        text = decode(genome.codes[at : at + LENGTHS[1]])
        first, last = ("CT", "AC") if is_reverse else ("GT", "AG")
        length = text.find(last, LENGTHS[0]) + 2
        intron = genome.names[number], start, start + length, is_reverse
        ends = {(intron[0], place, is_reverse) for place in intron[1:3]}
        if start > 0 and text.startswith(first) and length >= LENGTHS[0] and not ends & taken:
            false.append(intron)
    return false


def draw_reads(introns: list[Intron], kind: int, rng: np.random.Generator) -> dict[Intron, int]:
    """Draw numbers of reads of true (0) or false (1) junctions."""
    reads = np.ceil(MEDIANS[kind] * np.exp(SPREAD * rng.normal(size=len(introns))))
    return dict(zip(introns, reads.astype(int).tolist(), strict=True))


def star(junctions: dict[Intron, int]) -> list[str]:
    """Return lines of SJ.out.tab, without strands."""
    return [
        f"{contig}\t{start + 1}\t{end}\t0\t0\t0\t{reads}\t0\t30\n"
        for (contig, start, end, _), reads in junctions.items()
    ]


def fold_of(introns: list[Intron], fold: int, n: int) -> list[str]:
    """Return the contigs of a fold; the folds have about as many introns each."""
    sizes = [0] * n
    chosen: list[list[str]] = [[] for _ in range(n)]
    for contig, count in Counter(intron[0] for intron in introns).most_common():
        smallest = sizes.index(min(sizes))
        chosen[smallest].append(contig)
        sizes[smallest] += count
    return chosen[fold]


if __name__ == "__main__":
    main()
