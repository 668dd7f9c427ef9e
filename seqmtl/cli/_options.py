"""Options shared by several commands."""

from __future__ import annotations

import argparse
import re
import sys
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
    """Add a command with the options all commands have; `settings` go to its parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{examples}",
        **{"formatter_class": argparse.RawDescriptionHelpFormatter, **settings},
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show only warnings and errors")
    parser.add_argument("--log-json", action="store_true", help="log messages as JSON lines")
    parser.add_argument("--debug", action="store_true", help="show the traceback of errors")
    parser.set_defaults(run=run)
    return parser


class OneScreen(argparse.RawDescriptionHelpFormatter):
    """Compact help for a command with many options: no blank lines between groups."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def format_help(self) -> str:
        """Return the text."""
        return re.sub(r"\n\n(?=\S)", "\n", super().format_help())


_LARGEST = (1 << 62) - 1


def positive_int(text: str) -> int:
    """Parse an integer of at least 1."""
    return _integer(text, 1)


def memory(text: str) -> int:
    """Parse a size in bytes, such as 500M or 4G."""
    factors = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    plain = text.upper().removesuffix("B").removesuffix("I")
    number, factor = (plain[:-1], factors[plain[-1:]]) if plain[-1:] in factors else (plain, 1)
    try:
        found = int(positive_float(number) * factor)
    except (ValueError, argparse.ArgumentTypeError):
        found = 0
    if found < 1:
        raise argparse.ArgumentTypeError(f"must be a size such as 500M or 4G, got {text!r}")
    return found


def seed(text: str) -> int:
    """Parse an integer of at least 0."""
    return _integer(text, 0)


def _integer(text: str, least: int) -> int:
    value = int(text)
    if value < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
    if value > _LARGEST:
        raise argparse.ArgumentTypeError(f"must be at most {_LARGEST}")
    return value


def finite_float(text: str) -> float:
    """Parse a finite number."""
    value = float(text)
    if not -float("inf") < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be finite, got {text}")
    return value


def positive_float(text: str) -> float:
    """Parse a finite number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return value


def share(text: str) -> float:
    """Parse a number between 0 and 1, both excluded."""
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text}")
    return value


def positive_floats(text: str) -> tuple[float, ...]:
    """Parse comma-separated numbers above 0; return them sorted, without duplicates."""
    return tuple(sorted({positive_float(part) for part in text.split(",")}))


def features(text: str) -> Any:
    """Parse a list of k-mer views; show the grammar on request, and on error."""
    from seqmtl.features.kmer_views import parse_views
    from seqmtl.features.positional_kmers import PositionalKmers

    if text == "help":
        sys.stdout.write(f"{GRAMMAR}\n")
        sys.exit(0)
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
        help="k-mer features, such as wd:8 (see --features help)",
    )


def norm(text: str) -> float:
    """Parse the p of a p-norm."""
    value = float(text)
    if not value >= 1:
        raise argparse.ArgumentTypeError(f"must be from 1 to inf, got {text}")
    return value


def named_path(text: str) -> tuple[str, str]:
    """Parse NAME=PATH."""
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError(f"must be ORGANISM=FILE, got {text!r}")
    return name, path


def check_figure(path: str) -> None:
    """Check, before any long computation, that a figure can be drawn.

    Raises
    ------
    ValueError
        If the suffix is not a figure format.
    SeqmtlError
        If matplotlib is not installed.
    """
    from importlib.util import find_spec

    from seqmtl.evaluation.figures import figure_format

    figure_format(path)
    if find_spec("matplotlib") is None:
        raise SeqmtlError("figures need matplotlib; pip install 'seqmtl[plots]'")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add --threads; :mod:`seqmtl.cli._program` starts them."""
    parser.add_argument(
        "--threads", type=positive_int, metavar="N",
        help="threads; results do not depend on it (default: all usable cores)",
    )  # fmt: skip


def add_dask(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --dask; `what` names the pieces of work."""
    parser.add_argument(
        "--dask", type=_dask_address, metavar="ADDRESS",
        help=f"{what} on dask workers: tcp://HOST:PORT, FILE.json or local:N",
    )  # fmt: skip


def _dask_address(text: str) -> str:
    """Parse the address of a scheduler."""
    from seqmtl.cluster import check_address

    try:
        return check_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_window_input(parser: argparse.ArgumentParser, what: str, tables: str | None = None) -> Any:
    """Add the arguments that name the input: windows, or tables if the command takes them.

    Returns
    -------
    group
        Option group, to which further options may be added.
    """
    parser.add_argument(
        "data", nargs="?", metavar="DATA",
        help=f"{what}: dataset folder, TSV (organism, label, sequence, split) or FASTA "
        "(organism=, label=), plain or gzip; - for stdin"
        + (f"; {tables}" if tables else ""),
    )  # fmt: skip
    sites = parser.add_argument_group("windows cut from genomes instead of DATA")
    sites.add_argument(
        "--genome", action="append", type=named_path, default=[], metavar="ORGANISM=FASTA",
        help="genome of an organism; repeat for each",
    )  # fmt: skip
    sites.add_argument(
        "--sites", action="append", type=named_path, default=[], metavar="ORGANISM=BED",
        help="BED6 (score 0: decoy) or TSV: contig, 0-based position, strand, label",
    )  # fmt: skip
    sites.add_argument(
        "--at-end", choices=("pad", "drop"), default="pad",
        help="at contig ends, pad windows with N or drop them (default: pad)",
    )  # fmt: skip
    return sites


def add_training_rows(group: Any) -> None:
    """Add the options that choose the training rows and the part of their sequences to use."""
    group.add_argument(
        "--organism",
        metavar="NAME",
        help="organism or task of all rows; overrides DATA",
    )
    group.add_argument("--task", dest="organism", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    group.add_argument(
        "--split", default="train", help="split to use, if DATA has a split column (default: train)"
    )
    group.add_argument(
        "--window", type=positive_int, metavar="BP",
        help="use the central BP bases (default: all; 141 around sites)",
    )  # fmt: skip
    group.add_argument(
        "--shift", type=int, default=0, metavar="BP",
        help="shift the window from the centre in the 3' direction (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--decoys", type=positive_float, default=10.0, metavar="RATIO",
        help="decoys to draw per site if the file has none (default: 10)",
    )  # fmt: skip


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the output, summary and seed options of training commands."""
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    parser.add_argument("--json", metavar="FILE", help="write the training summary as JSON")
    parser.add_argument(
        "--seed", type=seed, default=0, help="seed for the example order and decoys (default: 0)"
    )
    add_threads(parser)
