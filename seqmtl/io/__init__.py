"""Read biological files: FASTA, genomes, annotation, sites, variants, tables."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl.io.annotation import read_annotation
    from seqmtl.io.dataset import is_dataset, read_dataset, read_summary
    from seqmtl.io.fasta import guess_format
    from seqmtl.io.genome import ContigPiece, load_genome, load_genomes, read_contigs
    from seqmtl.io.tables import is_table_of_windows, read_windows
    from seqmtl.io.transcripts import Annotation, Transcript

__all__ = [
    "Annotation",
    "ContigPiece",
    "Transcript",
    "guess_format",
    "is_dataset",
    "is_table_of_windows",
    "load_genome",
    "load_genomes",
    "read_annotation",
    "read_contigs",
    "read_dataset",
    "read_summary",
    "read_windows",
]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.io.annotation": "read_annotation",
        "seqmtl.io.dataset": "is_dataset read_dataset read_summary",
        "seqmtl.io.fasta": "guess_format",
        "seqmtl.io.genome": "ContigPiece load_genome load_genomes read_contigs",
        "seqmtl.io.tables": "is_table_of_windows read_windows",
        "seqmtl.io.transcripts": "Annotation Transcript",
    },
)
