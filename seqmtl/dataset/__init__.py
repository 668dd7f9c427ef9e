"""Build labelled windows from annotated genomes: sites, decoys, splits, leakage checks."""

from seqmtl.dataset.config import Config, read_config
from seqmtl.dataset.duplicates import measure_leakage
from seqmtl.dataset.writing import check_folder, write_dataset

__all__ = ["Config", "check_folder", "measure_leakage", "read_config", "write_dataset"]
