"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.features.grammar import DEFAULT_VIEWS

Subparsers = Any


def new_command(
    subparsers: Subparsers,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    summary: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Add a command with the options that all have."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    general = parser.add_argument_group("messages")
    general.add_argument("-q", "--quiet", action="store_true", help="only warnings and errors")
    general.add_argument("--log-json", action="store_true", help="messages as JSON lines")
    general.add_argument("--debug", action="store_true", help="show where an error came from")
    parser.set_defaults(run=run)
    return parser


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
    """Read a list of views of k-mers."""
    from seqmtl.features.positional_kmers import PositionalKmers
    from seqmtl.features.spec import parse_views

    try:
        parse_views(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return PositionalKmers(text)


def add_features(parser: Any) -> None:
    """Add --features; the list is explained by GRAMMAR."""
    parser.add_argument(
        "--features", type=features, metavar="FEATURES",
        help=f"k-mers to count, and in which bins of positions (below; default: {DEFAULT_VIEWS})",
    )  # fmt: skip


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


def add_window_input(parser: argparse.ArgumentParser, what: str, tables: str | None = None) -> None:
    """Add the ways to say which windows are meant, or tables where a command takes them."""
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help=f"{what}: TSV with the columns organism, label, sequence and optionally split, or "
        "FASTA with organism= and label= in the headers; plain, gzip or bgzip, - for stdin"
        + (f"; {tables}" if tables else ""),
    )
    sites = parser.add_argument_group("windows cut from genomes instead of DATA")
    sites.add_argument(
        "--genome", action="append", type=named_path, default=[], metavar="ORGANISM=FASTA",
        help="genome of an organism; once per organism",
    )  # fmt: skip
    sites.add_argument(
        "--sites", action="append", type=named_path, default=[], metavar="ORGANISM=BED",
        help="its sites: BED6 (score 0 marks decoys where others are above 0), or TSV with the "
        "columns contig, position (0-based), strand, label",
    )  # fmt: skip
    sites.add_argument(
        "--at-end", choices=("pad", "drop"), default="pad",
        help="windows that run over the end of a contig: pad with N, or drop (default: pad)",
    )  # fmt: skip
