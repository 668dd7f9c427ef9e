"""Speed and memory of annotating a VCF file of simulated variants.

    python benchmarks/bench_variants.py [--variants 10000 100000] [--length 140] [--features VIEWS]
                                        [--threads 1] [--spacing N]
                                        [--model FILE --genome FASTA --organism NAME]

The mix is 85 % single-base substitutions, 5 % insertions, 7 % deletions (1 to 12 bases) and 3 %
replacements, on one contig of 10 Mb, or on the longest contig of a genome with a model of its own,
such as a paired one; all over the contig, or --spacing bases apart on average. Prints seconds and
variants per second of the annotation (model loaded, loops compiled, genome in memory), and the peak
memory of the process after each file.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import _toy
import numpy as np
from _common import Options, peak_mib, write_result

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel, use_threads
from seqmtl.io import load_genome
from seqmtl.linear_model.site import Site
from seqmtl.loading import load
from seqmtl.sequences import decode
from seqmtl.sequences.genome import ContigTable, Genome
from seqmtl.variant_effects import Annotator, annotate_vcf

BASES = 10_000_000
QUICK = {"variants": [50], "model": "starter:splice", "organism": _toy.GENOMES[0], "spacing": 10}


def simulate(folder: Path) -> dict[str, Path]:
    """Return a simulated genome."""
    _toy.genomes(folder)
    return {"genome": folder / "genomes" / f"{_toy.GENOMES[0]}.fa"}


def make_model(length: int, views: str | None) -> MultiTaskModel:
    rng = np.random.default_rng(1)
    features = PositionalKmers(views)
    shape = (features.n_features(length), 1)
    return MultiTaskModel(
        features,
        length,
        ("fly",),
        TaskKernel(["fly"], np.eye(1), "none"),
        rng.standard_normal(shape, dtype=np.float32),
        np.zeros(1),
        np.array([[-2.0, 0.0]]),
        Site(length // 2 - 1, 2, "GT", "donor"),
        {},
    )


def write_variants(path: Path, genome: Genome, n: int, spacing: int | None) -> None:
    rng = np.random.default_rng(n)
    name = max(genome.names, key=lambda own: genome.contig(own).size)
    codes = genome.contig(name)
    size = codes.size - 15
    span = size if spacing is None else min(size, n * spacing)
    drawn = (size - span) // 2 + rng.choice(span, min(span, 10 * n), replace=False)
    is_known = codes[drawn[:, np.newaxis] + np.arange(15)].max(axis=1) < 4
    positions = np.sort(drawn[is_known][:n])
    n = positions.size
    kinds = rng.choice(4, n, p=[0.85, 0.05, 0.07, 0.03])
    sizes = rng.integers(1, 13, n)
    with open(path, "w") as stream:
        stream.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        for p, kind, size in zip(positions.tolist(), kinds, sizes.tolist(), strict=True):
            ref = decode(codes[p : p + 1 + size])
            inserted = decode(rng.integers(0, 4, size).astype(np.uint8))
            first = ref[0]
            ref, alt = [
                (first, "ACGT"["ACGT".index(first) - 1]),
                (first, first + inserted),
                (ref, first),
                (ref, inserted),
            ][kind]
            stream.write(f"{name}\t{p + 1}\t.\t{ref}\t{alt}\t.\tPASS\t.\n")


def main() -> None:
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("--variants", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--length", type=int, default=140)
    parser.add_argument("--features", metavar="VIEWS", help="default: those of train")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--spacing", type=int, metavar="BASES")
    parser.add_argument("--model", help="default: one of random weights")
    parser.add_argument("--genome", metavar="FASTA", help="that of the model")
    parser.add_argument("--organism", default="fly")
    args = parser.parse_args()
    if args.model is None:
        codes = np.random.default_rng(0).integers(0, 4, BASES + 2).astype(np.uint8)
        genome = Genome(codes, ContigTable(("I",), np.array([1]), np.array([BASES])))
        model = make_model(args.length, args.features)
    else:
        genome, model = load_genome(args.genome, padding=1), load(args.model)
    started = time.perf_counter()
    scorer = model.predictor(args.organism).allele_scorer()
    annotator = Annotator(scorer, genome)
    tables, rows = time.perf_counter() - started, []
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder) / "in.vcf", Path(folder) / "out.vcf.gz"
        for k, n in enumerate((min(100, *args.variants), *args.variants)):
            write_variants(path, genome, n, args.spacing)
            started = time.perf_counter()
            with use_threads(args.threads):
                summary = annotate_vcf(path, output, annotator)
            seconds = time.perf_counter() - started
            if k > 0:  # the first one compiles
                rows.append(
                    {
                        "variants": n,
                        "s": seconds,
                        "per second": summary.n_scored / seconds,
                        "tables, s": tables,
                        "peak MiB": peak_mib(),
                    }
                )
    write_result(args, rows)


if __name__ == "__main__":
    main()
