"""Options shared by several commands."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl.commands import _kinds
from seqmtl.commands._request import Request, option, required
from seqmtl.features.grammar import GRAMMAR
from seqmtl.files.write import write_json

if TYPE_CHECKING:
    from seqmtl.features._base import FeatureDefinition
    from seqmtl.linear_model.base import Model

logger = logging.getLogger("seqmtl")


def model_file(what: str = "model file") -> Any:
    """Return the option of a model, an argument without a flag."""
    return required(what, metavar="MODEL", is_positional=True)


STARTER_OR_FILE = "model file, starter:donor, starter:acceptor or starter:splice (both, paired)"


def window_data(what: str, *, is_required: bool = True) -> Any:
    """Return the option DATA."""
    about = (
        f"{what}: dataset folder, TSV (organism, label, sequence, split) or FASTA (organism=, "
        "label=), plain or gzip; - for stdin"
    )
    return (required if is_required else option)(about, metavar="DATA", is_positional=True)


def summary_file(what: str) -> Any:
    """Return the option --json."""
    return option(what, metavar="FILE", role="how")


def figure(what: str) -> Any:
    """Return the option --plot."""
    about = f"{what}: .png, .svg or .pdf"
    return option(about, kind=_kinds.figure, metavar="FILE", role="how")


def known_introns() -> Any:
    """Return the option --introns."""
    return option(
        "known introns of the genome, from reads, proteins or a few genes: GFF3 or GTF of genes, "
        "BED12, STAR's SJ.out.tab, GFF of hints (BRAKER), or BED6 of introns",
        metavar="FILE",
    )


def seed(what: str, default: int = 0) -> Any:
    """Return the option --seed."""
    return option(what, kind=_kinds.count, default=default)


def features(value: Any) -> str:
    """Take a list of k-mer features."""
    text = _kinds.text(value)
    try:
        str(feature_map(text))
    except ValueError as error:
        raise ValueError(f"{error}\n{GRAMMAR}") from error
    return text


def feature_map(text: str | None) -> FeatureDefinition:
    """Return the features that are asked for, or the default."""
    from seqmtl.features.joint import JointFeatures
    from seqmtl.features.positional_kmers import PositionalKmers

    parts = [None] if text is None else text.split("+")
    maps = [PositionalKmers(part and part.strip()) for part in parts]
    return JointFeatures(maps) if len(maps) > 1 else maps[0]


def features_option(group: str) -> Any:
    """Return the option --features."""
    about = "k-mer features, such as wd:8 (see --features help)"
    return option(about, kind=features, metavar="FEATURES", group=group, manual=GRAMMAR)


@dataclass(frozen=True, kw_only=True)
class Threads(Request):
    """Threads."""

    threads: int | None = option(
        "threads; results do not depend on it (default: all usable cores)", role="how"
    )

    @contextmanager
    def threads_in_use(self) -> Iterator[None]:
        """Use the threads: at most as many as there are cores."""
        from seqmtl._threads import usable_cores, use_threads

        cores = usable_cores()
        if self.threads is not None and self.threads > cores:
            logger.warning(
                "--threads %d: only %d cores may be used; using these", self.threads, cores
            )
        with use_threads(min(self.threads or cores, cores)):
            yield


@dataclass(frozen=True, kw_only=True)
class WindowInput(Request):
    """Windows of a dataset, a table or a FASTA file."""

    data: str | None = window_data("windows")
    organism: str | None = None
    split: str = "all"
    site: int | None = None

    @property
    def is_dataset(self) -> bool:
        """Whether DATA is a dataset."""
        from seqmtl.io.dataset import is_dataset

        return bool(self.data) and is_dataset(str(self.data))

    @property
    def files(self) -> list[str]:
        """The files that are read for the windows."""
        from seqmtl.io.dataset import files_of_data

        return files_of_data(self.data)

    @property
    def split_or_all(self) -> str | None:
        """The split to read, None for all rows."""
        return None if self.split == "all" else self.split


@dataclass(frozen=True, kw_only=True)
class LabelledRows(WindowInput):
    """The rows to score."""

    organism: str | None = option("organism of all rows (default: as in DATA)")
    split: str = option(
        "split to use, if DATA is a dataset or has a split column; all for every row",
        default="test",
    )


of_sites = partial(option, group="windows cut from genomes instead of DATA")


@dataclass(frozen=True, kw_only=True)
class GenomeSites(WindowInput):
    """Windows of DATA, or around sites in genomes."""

    genome: tuple[tuple[str, str], ...] = of_sites(
        "genome of an organism; repeat for each",
        metavar="ORGANISM=FASTA",
        kind=_kinds.named_path,
        is_repeated=True,
    )
    sites: tuple[tuple[str, str], ...] = of_sites(
        "BED6 (score 0: decoy) or TSV: contig, 0-based position, strand, label",
        metavar="ORGANISM=BED",
        kind=_kinds.named_path,
        is_repeated=True,
    )
    at_end: str = of_sites(
        "at contig ends, pad windows with N or drop them", choices=("pad", "drop"), default="pad"
    )

    @property
    def files(self) -> list[str]:
        """The files that are read for the windows."""
        return [*super().files, *(path for _, path in (*self.genome, *self.sites))]


@dataclass(frozen=True, kw_only=True)
class TrainingRun(Threads):
    """What training writes, and how it runs."""

    output: str = required("-o", "model file", metavar="MODEL", role="how")
    json: str | None = summary_file("write the training summary as JSON")

    def finish(self, model: Model, summary: str, tol: float, limits: str) -> None:
        """Write the model and its summary, and log it; limits are the options to raise."""
        model.save(self.output)
        write_json(self.json, {"schema_version": 1, **model.training})
        logger.info("%s: %s, %.1f s", self.output, summary, model.training["seconds"])
        if not model.training["converged"]:
            logger.warning("not converged to the tolerance %g; raise %s", tol, limits)


@dataclass(frozen=True, kw_only=True)
class Relatives(Request):
    """The options that score an organism without training data."""

    like: str | None = option(
        "relative of an organism that the model lacks: a species, genus, clade, common name or "
        "NCBI taxid; auto: no relative known, so all organisms of the model count the same, or, "
        "for a model of seqmtl pair, by what each finds in the genome",
        metavar="NAME",
    )
    tree: str | None = option(
        "where --like is looked up: Newick or Nexus file, shipped tree, or folder of an NCBI "
        "taxonomy dump (default: what the model knows, then eukaryotes)",
        metavar="FILE|NAME",
    )
    organism: str | None = None
