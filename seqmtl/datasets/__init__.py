"""Build labelled windows from annotated genomes: sites, decoys, splits, leakage checks."""

from seqmtl.datasets.config import Config, read_config
from seqmtl.datasets.duplicates import measure_leakage
from seqmtl.datasets.writing import write_dataset
from seqmtl.io.dataset import check_folder

__all__ = ["Config", "check_folder", "measure_leakage", "read_config", "write_dataset"]
