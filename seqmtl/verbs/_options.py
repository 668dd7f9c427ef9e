"""Options shared by several verbs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from seqmtl import _kinds
from seqmtl.features.grammar import GRAMMAR
from seqmtl.request import Request, option, required

logger = logging.getLogger("seqmtl")


def model_file(what: str = "model file") -> Any:
    """Return the option of a model, an argument without a flag."""
    return required(help=what, metavar="MODEL", is_positional=True)


STARTER_OR_FILE = "model file, starter:donor or starter:acceptor"


def window_data(what: str, tables: str | None = None) -> Any:
    """Return the option DATA: windows, or tables if the verb takes them."""
    return option(
        is_positional=True, metavar="DATA",
        help=f"{what}: dataset folder, TSV (organism, label, sequence, split) or FASTA "
        "(organism=, label=), plain or gzip; - for stdin"
        + (f"; {tables}" if tables else ""),
    )  # fmt: skip


def summary_file(what: str) -> Any:
    """Return the option --json."""
    return option(help=what, metavar="FILE", role="how")


def figure(what: str) -> Any:
    """Return the option --plot."""
    return option(
        kind=_kinds.figure, metavar="FILE", role="how",
        help=f"{what}: .png, .svg or .pdf",
    )  # fmt: skip


def dask(what: str) -> Any:
    """Return the option --dask; `what` names the pieces of work."""
    return option(
        kind=_kinds.dask_address,
        metavar="ADDRESS",
        role="how",
        help=f"{what} on dask workers: tcp://HOST:PORT, FILE.json or local:N",
    )


def seed(what: str, default: int = 0) -> Any:
    """Return the option --seed."""
    return option(kind=_kinds.seed, default=default, help=f"{what} (default: {default})")


def features(value: Any) -> str:
    """Take a list of k-mer features."""
    from seqmtl.features.kmer_views import parse_views

    words = _kinds.text(value)
    try:
        parse_views(words)
    except ValueError as error:
        raise ValueError(f"{error}\n{GRAMMAR}") from error
    return words


def features_option(group: str) -> Any:
    """Return the option --features."""
    return option(
        kind=features,
        metavar="FEATURES",
        group=group,
        manual=GRAMMAR,
        help="k-mer features, such as wd:8 (see --features help)",
    )


@dataclass(frozen=True, kw_only=True)
class Threads(Request):
    """Threads."""

    threads: int | None = option(
        kind=_kinds.positive_int,
        metavar="N",
        role="how",
        help="threads; results do not depend on it (default: all usable cores)",
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


def _of_sites(what: str, metavar: str | None = None, *flags: str, **more: Any) -> Any:
    group = "windows cut from genomes instead of DATA"
    return option(*flags, metavar=metavar, group=group, help=what, **more)


@dataclass(frozen=True, kw_only=True)
class WindowInput(Request):
    """Windows of a file, or cut from genomes; what a verb has no option for has these values."""

    data: str | None = window_data("windows")
    genome: tuple[tuple[str, str], ...] = _of_sites(
        "genome of an organism; repeat for each",
        "ORGANISM=FASTA",
        kind=_kinds.named_path,
        is_repeated=True,
        default=(),
    )
    sites: tuple[tuple[str, str], ...] = _of_sites(
        "BED6 (score 0: decoy) or TSV: contig, 0-based position, strand, label",
        "ORGANISM=BED",
        kind=_kinds.named_path,
        is_repeated=True,
        default=(),
    )
    at_end: str = _of_sites(
        "at contig ends, pad windows with N or drop them (default: pad)",
        choices=("pad", "drop"),
        default="pad",
    )
    organism: str | None = None
    split: str = "all"
    window: int | None = None
    shift: int = 0
    decoys: float = 10.0
    seed: int = 0

    @classmethod
    def of(cls, request: Any, **changes: Any) -> WindowInput:
        """Return what a request says of windows, with changes."""
        names = [each.name for each in fields(WindowInput)]
        said = {name: getattr(request, name) for name in names if hasattr(request, name)}
        return WindowInput(**(said | changes))

    @property
    def split_or_all(self) -> str | None:
        """The split to read, None for all rows."""
        return None if self.split == "all" else self.split

    @property
    def sources(self) -> list[str]:
        """The files that the windows are from."""
        return [self.data] if self.data else [path for _, path in self.genome]


@dataclass(frozen=True, kw_only=True)
class LabelledRows(WindowInput):
    """The rows to score."""

    organism: str | None = option(
        "--task", help="organism or task of all rows (default: as in DATA)"
    )
    split: str = option(
        default="test",
        help="split to use, if DATA is a dataset or has a split column; all for every row "
        "(default: test)",
    )


def decoys(what: str = "decoys to draw per site if the file has none (default: 10)") -> Any:
    """Return the option --decoys."""
    return _of_sites(what, "RATIO", kind=_kinds.positive_float, default=10.0)


def training_split() -> Any:
    """Return the option --split of training."""
    return _of_sites("split to use, if DATA has a split column (default: train)", default="train")


@dataclass(frozen=True, kw_only=True)
class TrainingRows(WindowInput):
    """The rows to train on, and the part of their sequences to use."""

    organism: str | None = _of_sites(
        "organism or task of all rows; overrides DATA", "NAME", "--task"
    )
    split: str = training_split()
    window: int | None = _of_sites(
        "use the central BP bases (default: all; 141 around sites)", "BP", kind=_kinds.positive_int
    )
    shift: int = _of_sites(
        "shift the window from the centre in the 3' direction (default: 0)",
        "BP",
        kind=_kinds.integer,
        default=0,
    )
    decoys: float = decoys()


@dataclass(frozen=True, kw_only=True)
class TrainingRun(Threads):
    """What training writes, and how it runs."""

    output: str = required("-o", metavar="MODEL", role="how", help="model file")
    json: str | None = summary_file("write the training summary as JSON")
    seed: int = seed("seed for the example order and decoys")


@dataclass(frozen=True, kw_only=True)
class Relatives(Request):
    """The options that score an organism without training data."""

    from_relatives: bool = option(
        default=False,
        help="score an organism without training data from its relatives in the model's tree",
    )
    like: str | None = option(
        metavar="NAME",
        help="score an organism that the model lacks from its relatives, in the place of this "
        "organism, genus, clade or taxid of the model or of --tree",
    )
    tree: str | None = option(
        metavar="FILE|NAME",
        help="where --like is looked up: Newick or Nexus file, shipped tree, or folder of an NCBI "
        "taxonomy dump (default: what the model knows, then eukaryotes)",
    )
