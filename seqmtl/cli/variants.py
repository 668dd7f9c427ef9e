"""``seqmtl variants``: effects of variants on a signal."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, write_json
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.verbs._scoring import add_relatives, with_relatives

if TYPE_CHECKING:
    from seqmtl.cluster import Cluster
    from seqmtl.io.vcf import VcfBatch
    from seqmtl.variants import AnnotationSummary, Annotator

logger = logging.getLogger("seqmtl")

_OF_WORKERS = (
    "model", "fasta", "organism", "like", "tree", "from_relatives", "distance", "threshold",
    "output", "tsv",
)  # fmt: skip

_OPENING = threading.Lock()  # the pieces on a worker wait while the first one opens the genome

_EXAMPLES = """\
  seqmtl variants donor.seqmtl --vcf in.vcf.gz --fasta worm.fa --organism c_elegans -o out.vcf.gz
  seqmtl variants tss.seqmtl --vcf in.vcf --fasta yeast.fa.gz --organism yeast --threshold 0.2 \\
      --chrom-map names.tsv --tsv effects.tsv -o out.vcf.gz
  bcftools view in.bcf | seqmtl variants m.seqmtl --vcf - --fasta g.fa --organism fly -o out.vcf

Every line is written unchanged, except for a new INFO entry with one item per ALT allele:
  SeqMTL_donor=ALLELE|ORGANISM|DS_DG|DS_DL|DP_DG|DP_DL|ST_DG|ST_DL|RS_DG|RS_DL
(acceptors: AG, AL; transcription starts: TG, TL; other sites: G, L)
  DS  largest increase (gain, G) and decrease (loss, L) in the probability of a site, 0 to 1
  DP  its position: bases from POS to the first base of the site in reading direction, on the
      reference
  ST  strand of the site; both strands are scored
  RS  change in raw score there; . if one of the alleles has no such site
Sites on deleted bases are lost. Sites on inserted bases are gained and placed at the base before
the insertion. If an indel can be placed at several positions, the one with the smallest effect
counts, so the result does not depend on how the variant is written. A position without the letters
of the model's sites (such as GT) has probability 0. Windows that cross a contig end are padded with
N. To add a second signal (acceptors after donors), run the command again on its own output.

A model of seqmtl pair writes donors and acceptors, with probabilities given their partners, for all
sites that an intron can join to the windows; RS is the change in the log-odds of the probability.
Each item ends in IR_DG|IR_DL|IA_DG|IA_DL, the most probable intron of the site gained and of that
lost, in the reference (IR) and in the alternative (IA), as FIRST-LAST:PROBABILITY."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "variants", run, "annotate variants (VCF) with site gains and losses",
        _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument(
        "--vcf", required=True, metavar="VCF", help="variants: plain, gzip or bgzip; - for stdin"
    )
    parser.add_argument(
        "--fasta", required=True, metavar="FASTA",
        help="reference genome of the VCF: plain, gzip or bgzip",
    )  # fmt: skip
    parser.add_argument(
        "--organism", metavar="NAME", help="organism whose model to use (default: the only one)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="VCF",
        help="annotated variants: .vcf, .vcf.gz (bgzip; with .tbi if pysam is installed), or -",
    )  # fmt: skip
    parser.add_argument(
        "--distance", type=int, metavar="N",
        help="consider sites up to N bases from the variant (default: all whose window it "
        "overlaps)",
    )  # fmt: skip
    parser.add_argument(
        "--threshold", type=_options.positive_float, metavar="X",
        help="annotate only alleles with a gain or loss of at least X (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--chrom-map", metavar="TSV",
        help="contig names: in the VCF, then in the FASTA (as for bcftools --rename-chrs)",
    )  # fmt: skip
    parser.add_argument(
        "--tsv",
        metavar="FILE",
        help="also write the effects as a table (.gz: bgzip; - for standard output)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write counts as JSON (- for standard output)"
    )
    add_relatives(parser)
    _options.add_threads(parser)
    _options.add_dask(parser, "score the variants")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cluster import Cluster, connect
    from seqmtl.io.rows import read_chrom_map
    from seqmtl.models.saved import load_model
    from seqmtl.variants import Annotator, annotate_vcf

    _check_outputs(args)
    given = {name: getattr(args, name) for name in _OF_WORKERS}
    model = with_relatives(load_model(args.model, only=("weights", "pairs")), args)
    scorer = _scorer(model, args)
    chrom_map = read_chrom_map(args.chrom_map) if args.chrom_map else {}
    annotator = Annotator(
        scorer, _load_genome(scorer, args, chrom_map), chrom_map=chrom_map, threshold=args.threshold
    )
    started = time.perf_counter()
    with connect(args.dask) as workers:
        there = None
        if isinstance(workers, Cluster):
            there = partial(_run_there, workers, annotator, given)
        summary = annotate_vcf(
            args.vcf,
            _stream(args.output),
            annotator,
            table=_stream(args.tsv),
            command=args.command_line,
            run_batches=there,
        )
    _report(summary, args, time.perf_counter() - started)
    _index(summary, args.output)
    if args.json:
        _write_json(summary, annotator, args)
    return 0


def _run_there(
    cluster: Cluster, annotator: Annotator, given: dict[str, Any], batches: Iterator[VcfBatch]
) -> Iterator[Any]:
    """Yield what :func:`seqmtl.variants.annotate.annotate_batch` returns on the workers."""
    from seqmtl.cluster import Piece
    from seqmtl.files.catalogue import model_path

    files: tuple[str, ...] = (
        os.path.abspath(model_path(given["model"])), os.path.abspath(given["fasta"])
    )  # fmt: skip
    tree = given["tree"]
    if tree is not None and os.path.exists(tree):
        tree = os.path.abspath(tree)
        files += (tree,)
    recipe = given | {
        "model": files[0], "fasta": files[1], "tree": tree,
        "changed": [os.stat(path).st_mtime_ns for path in files],
        "chrom_map": dict(annotator.chrom_map), "contigs": list(annotator.genome.names),
    }  # fmt: skip
    pieces = (Piece(f"line {batch.first_line}", (batch,), files) for batch in batches)
    for done in cluster.map(annotate_there, pieces, common=json.dumps(recipe), ordered=True):
        yield done.result


def annotate_there(recipe: str, batch: VcfBatch) -> Any:
    """Annotate some records on a worker."""
    from seqmtl.variants.annotate import annotate_batch

    args = json.loads(recipe)
    with _OPENING:
        annotator = _annotator_of(recipe)
    return annotate_batch(annotator, args["output"], args["tsv"], batch)


@lru_cache(maxsize=1)
def _annotator_of(recipe: str) -> Annotator:
    """Open the model and the genome, once in a worker."""
    from seqmtl._messages import messages_from
    from seqmtl.io import load_genome
    from seqmtl.models.saved import load_model
    from seqmtl.variants import Annotator

    args = argparse.Namespace(**json.loads(recipe))
    with messages_from(logging.ERROR):  # all else was told where the command runs
        scorer = _scorer(with_relatives(load_model(args.model), args), args)
        genome = load_genome(args.fasta, padding=1, only=dict.fromkeys(args.contigs))
    return Annotator(scorer, genome, chrom_map=args.chrom_map, threshold=args.threshold)


def _scorer(model: Any, args: argparse.Namespace) -> Any:
    """Return what scores alleles with the model."""
    from seqmtl.variants import EffectScorer, PairedEffectScorer

    organism = _organism(model, args)
    if model.structure != "pairs":
        return EffectScorer(
            model, organism, distance=args.distance, from_relatives=args.from_relatives
        )
    if args.from_relatives:
        raise SeqmtlError("--from-relatives is not for a model of seqmtl pair; leave it out")
    return PairedEffectScorer(model, organism, distance=args.distance)


def _check_outputs(args: argparse.Namespace) -> None:
    check_outputs(args.output, args.tsv, args.json)
    if args.output != "-" and not args.output.endswith((".vcf", ".vcf.gz")):
        raise SeqmtlError(
            f"output must end in .vcf or .vcf.gz, or be -, got {args.output}; for BCF, write "
            ".vcf.gz and convert it with: bcftools view -Ob"
        )
    if [args.output, args.tsv, args.json].count("-") > 1:
        raise SeqmtlError("only one output can go to standard output; name files for the others")


def _stream(path: str | None) -> Any:
    """Return standard output for ``-``."""
    return sys.stdout.buffer if path == "-" else path


def _organism(model: Any, args: argparse.Namespace) -> str:
    if args.organism is None and len(model.tasks) > 1:
        raise SeqmtlError(
            f"the model has {len(model.tasks)} organisms; name one of "
            f"{', '.join(model.tasks)} with --organism"
        )
    return str(args.organism or model.tasks[0])


def _load_genome(scorer: Any, args: argparse.Namespace, chrom_map: dict[str, str]) -> Any:
    """Load the contigs that have variants; all contigs if the variants come from a stream.

    A VCF file is checked first, so that its errors are reported at once.
    """
    from seqmtl.io import load_genome
    from seqmtl.io.vcf import VcfReader, contigs_of
    from seqmtl.variants.effect_text import texts_of

    if args.vcf == "-":
        return load_genome(args.fasta, padding=1)
    for text in texts_of(scorer):
        text.check(VcfReader(args.vcf))
    contigs = contigs_of(args.vcf)
    only = {chrom_map.get(name, name): None for name in contigs}
    try:
        return load_genome(args.fasta, padding=1, only=only)
    except InputFormatError:
        raise
    except ValueError as error:  # no contig is known
        files = ", ".join(filter(None, [args.vcf, args.fasta, args.chrom_map]))
        raise SeqmtlError(f"{files}: {error}, by --chrom-map") from error


def _report(summary: AnnotationSummary, args: argparse.Namespace, seconds: float) -> None:
    """Log what was scored, and what was not and why."""
    from seqmtl.variants.alleles import REASONS

    logger.info(
        "%s: %d records, %d alleles, %d scored, %d reported in %.1f s (%.0f per second)",
        args.output, summary.n_records, summary.n_alleles, summary.n_scored, summary.n_reported,
        seconds, summary.n_alleles / max(seconds, 1e-9),
    )  # fmt: skip
    if summary.n_without_alleles:
        logger.info(
            "%d records have no allele to score (ALT is . or <NON_REF>) and are written unchanged",
            summary.n_without_alleles,
        )  # fmt: skip
    for reason, n in summary.not_scored.items():
        logger.warning(
            "%d of %d alleles were not scored: %s (%s; first: %s)",
            n, summary.n_alleles, REASONS[reason], reason, summary.examples[reason],
        )  # fmt: skip
    if 2 * summary.not_scored["ref_mismatch"] > summary.n_alleles:
        logger.warning("most REF alleles differ from the genome; is it the right assembly?")


def _index(summary: AnnotationSummary, path: str) -> None:
    """Index a compressed output, or log why there is no index."""
    from importlib.util import find_spec

    from seqmtl.files.bgzip import write_index

    if not path.endswith(".vcf.gz"):
        return
    if not summary.is_sorted:
        logger.warning("%s, like its input, is not sorted: no index; run bcftools sort", path)
    elif find_spec("pysam") is None:
        logger.info("no index without pysam; pip install 'seqmtl[genome]', or run tabix -p vcf")
    else:
        try:
            write_index(path, "vcf")
        except SeqmtlError as error:  # the variants are written anyway
            logger.warning("%s", error)


def _write_json(summary: AnnotationSummary, annotator: Any, args: argparse.Namespace) -> None:
    from seqmtl._version import __version__

    contents = {
        "schema_version": 1,
        "kind": "seqmtl variants",
        "seqmtl_version": __version__,
        "organism": annotator.scorer.organism,
        "field": ",".join(text.field for text in annotator.texts),
        "distance": args.distance,
        "threshold": args.threshold,
        **vars(summary),
    }
    write_json(args.json, contents)
