"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from typing import Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.features.grammar import GRAMMAR

Subparsers = Any


def new_command(
    subparsers: Subparsers,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    summary: str,
    examples: str,
    **settings: Any,
) -> argparse.ArgumentParser:
    """Add a command with the options that all have; `settings` are of its parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{examples}",
        **{"formatter_class": argparse.RawDescriptionHelpFormatter, **settings},
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="only warnings and errors")
    parser.add_argument("--log-json", action="store_true", help="messages as JSON lines")
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    parser.set_defaults(run=run)
    return parser


class OneScreen(argparse.RawDescriptionHelpFormatter):
    """Help of a command with many options: wide, and without lines between the groups."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def format_help(self) -> str:
        """Return the text."""
        return re.sub(r"\n\n(\S.*:\n)", r"\n\1", super().format_help())


def positive_int(text: str) -> int:
    """Read an integer of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def positive_float(text: str) -> float:
    """Read a number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return value


def positive_floats(text: str) -> tuple[float, ...]:
    """Read numbers above 0 between commas, and return them rising."""
    return tuple(sorted({positive_float(part) for part in text.split(",")}))


def features(text: str) -> Any:
    """Read a list of views of k-mers; where it is none, say how one is written."""
    from seqmtl.features.kmer_views import parse_views
    from seqmtl.features.positional_kmers import PositionalKmers

    if text == "help":
        raise argparse.ArgumentTypeError(GRAMMAR)
    try:
        parse_views(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}\n{GRAMMAR}") from error
    return PositionalKmers(text)


def add_features(parser: Any) -> None:
    """Add --features."""
    parser.add_argument(
        "--features",
        type=features,
        metavar="FEATURES",
        help="k-mers to count, and where, such as wd:8 (try --features help)",
    )


def norm(text: str) -> float:
    """Read the p of a norm."""
    value = float(text)
    if not value >= 1:
        raise argparse.ArgumentTypeError(f"must be from 1 to inf, got {text}")
    return value


def named_path(text: str) -> tuple[str, str]:
    """Read NAME=PATH."""
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError(f"must be ORGANISM=FILE, got {text!r}")
    return name, path


def check_figure(path: str) -> None:
    """Refuse a figure that could not be drawn after hours of work.

    Raises
    ------
    ValueError
        If the suffix is not one of a figure.
    SeqmtlError
        If matplotlib is not installed.
    """
    from importlib.util import find_spec

    from seqmtl.evaluation.figures import figure_format

    figure_format(path)
    if find_spec("matplotlib") is None:
        raise SeqmtlError("figures need matplotlib; pip install 'seqmtl[plots]'")


def add_threads(parser: argparse.ArgumentParser, *, all_cores: bool = False) -> None:
    """Add --threads; the default is one, or every core that this process may use."""
    parser.add_argument(
        "--threads",
        type=positive_int,
        default=usable_cores() if all_cores else 1,
        metavar="N",
        help="threads; results do not depend on it (default: "
        + ("all usable cores)" if all_cores else "1)"),
    )


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def add_window_input(parser: argparse.ArgumentParser, what: str, tables: str | None = None) -> Any:
    """Add the ways to say which windows are meant, or tables where a command takes them.

    Returns
    -------
    group
        Of the options, for more of them.
    """
    parser.add_argument(
        "data", nargs="?", metavar="DATA",
        help=f"{what}: TSV with organism, label, sequence and maybe split, or FASTA with "
        "organism= and label= in its headers; plain, gzip or bgzip; - for stdin"
        + (f"; {tables}" if tables else ""),
    )  # fmt: skip
    sites = parser.add_argument_group("windows cut from genomes instead of DATA")
    sites.add_argument(
        "--genome", action="append", type=named_path, default=[], metavar="ORGANISM=FASTA",
        help="genome of an organism; once per organism",
    )  # fmt: skip
    sites.add_argument(
        "--sites", action="append", type=named_path, default=[], metavar="ORGANISM=BED",
        help="BED6 (score 0: decoy) or TSV: contig, 0-based position, strand, label",
    )  # fmt: skip
    sites.add_argument(
        "--at-end", choices=("pad", "drop"), default="pad",
        help="over the end of a contig: pad windows with N, or drop (default: pad)",
    )  # fmt: skip
    return sites


def add_training_rows(group: Any) -> None:
    """Add which rows of the data are trained on, and which part of their sequences."""
    group.add_argument(
        "--organism",
        metavar="NAME",
        help="organism or task of all rows, whatever DATA says",
    )
    group.add_argument("--task", dest="organism", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    group.add_argument(
        "--split", default="train", help="rows to use, where DATA has a split column"
    )
    group.add_argument(
        "--window", type=positive_int, metavar="BP",
        help="central bases of each sequence (default: all; 141 around sites)",
    )  # fmt: skip
    group.add_argument(
        "--shift", type=int, default=0, metavar="BP",
        help="move the window this far to the 3' side of the centre (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--decoys", type=positive_float, default=10.0, metavar="RATIO",
        help="decoys drawn per site where the sites have none (default: 10)",
    )  # fmt: skip


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add what every training takes besides its data and its model."""
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    parser.add_argument("--json", metavar="FILE", help="write the training summary as JSON")
    parser.add_argument(
        "--seed", type=int, default=0, help="visiting order and decoys (default: 0)"
    )
