"""``seqmtl explain``: show what a model has learned, as figures and tables."""

from __future__ import annotations

import argparse
import logging
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._explain import KIND, SUMMARY
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from pathlib import Path

    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl explain splice.seqmtl -o explained
  seqmtl explain splice.seqmtl --organism c_elegans --reference h_sapiens --max-order 8 -o worm
  seqmtl explain splice.seqmtl windows.tsv.gz --background data -o explained
  seqmtl explain pair.seqmtl --genome worm=worm.fa --sites worm=sites.bed -o explained

Positions are relative to the first base of the site (position 0). Importances are in units of the
score. Files in DIR:
  logo_ORGANISM.png, .svg                  importance of single letters as a sequence logo
  poim_ORGANISM.png, .svg, .tsv            importance by order and position; top oligomers
  poim_difference_A_B.png, .svg            the same for the difference between two organisms
  position_importance.tsv                  the most important oligomer per order and position
  kmers.tsv                                k-mers up- and downstream of the site, with their mean
                                           importance over these positions
  contributions.tsv, contributions_*.png   with DATA: the contribution of every base in the top
                                           windows, and the effect of every substitution
  summary.json                             settings and list of files
The column beyond_letters is the part of an importance that single letters do not explain. It
reveals motifs among letters that are important by themselves; within each region and length,
kmers.tsv is sorted by it.

Letters that sites and decoys share, such as the AG of an acceptor, do not discriminate and thus
have no importance.

For a model of seqmtl pair, name sites of a genome; sites.tsv then has the log-odds of each alone
and paired, and by how much the paired ones drop without the evidence of the site itself, of its
best partner, of intron lengths, of the coding content on either side, and of rivals within 60
bases (mostly negative); and its most probable introns as START-END:PROBABILITY."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "explain", run,
        "show what a model has learned: POIMs, sequence logos, base contributions", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(parser, "windows to explain (labels are not needed)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR",
        help="folder to write; other files in it are kept",
    )  # fmt: skip
    parser.add_argument(
        "--organism", "--task", default="all", metavar="NAME,...",
        help="organisms to explain (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--reference", metavar="NAME",
        help="organism to compare the others with (default: the mean over all organisms; with "
        "two, the second)",
    )  # fmt: skip
    parser.add_argument(
        "--max-order", type=_options.positive_int, default=6, metavar="K",
        help="length of the longest oligomers, up to 10 (default: 6)",
    )  # fmt: skip
    parser.add_argument(
        "--background", default="uniform", metavar="uniform|data|A,C,G,T",
        help="letter frequencies of the background sequences: uniform, as in the organism's "
        "windows in DATA, or four probabilities (default: uniform)",
    )  # fmt: skip
    parser.add_argument(
        "--top", type=_options.positive_int, default=100, metavar="N",
        help="oligomers to list per order, and k-mers per region (default: 100)",
    )  # fmt: skip
    parser.add_argument(
        "--n-windows", type=_options.positive_int, default=10, metavar="N",
        help="explain the N highest-scoring windows of DATA per organism (default: 10); the first "
        "3 are drawn",
    )  # fmt: skip
    parser.add_argument(
        "--split", default="test",
        help="split to use, if DATA has a split column; all for every row (default: test)",
    )  # fmt: skip
    _options.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.files.atomic import atomic_folder

    started = time.perf_counter()
    _options.check_figure("figure.png")
    _check_summary(os.path.join(args.output, SUMMARY))
    with atomic_folder(args.output, last=SUMMARY) as folder:
        n_files = _explain(args, folder)
    logger.info("%s: %d files, %.1f s", args.output, n_files, time.perf_counter() - started)
    return 0


def _explain(args: argparse.Namespace, folder: Path) -> int:
    """Write the files into a folder; return their number."""
    from seqmtl.cli._explain import Explanation
    from seqmtl.cli._explain_pairs import explain_pairs
    from seqmtl.models.saved import load_model

    model: Any = load_model(args.model, only=("weights", "pairs"))
    if model.structure == "pairs":
        return explain_pairs(model, args, folder)
    organisms = _organisms(args.organism, model)
    reference = _organisms(args.reference, model)[0] if args.reference else None
    windows = _windows(args, model, organisms)
    backgrounds = _backgrounds(args.background, organisms, windows)
    work = Explanation(model, folder, args.max_order, args.top)
    for number, organism in enumerate(organisms, 1):
        begun = time.perf_counter()
        work.importance(organism, backgrounds[organism], reference)
        if organism in windows:
            work.windows(organism, windows[organism], args.n_windows)
        logger.info(
            "%s (%d of %d): %.1f s",
            organism, number, len(organisms), time.perf_counter() - begun,
        )  # fmt: skip
    settings = {
        "max_order": args.max_order, "top": args.top, "n_windows": args.n_windows,
        "reference": reference, "background": backgrounds,
    }  # fmt: skip
    work.finish(args.model, organisms, settings)
    return len(work.files)


def _check_summary(path: str) -> None:
    """Refuse to overwrite a summary.json that another program wrote."""
    from seqmtl.files.whole import read_json

    if not os.path.exists(path):
        return
    content = None
    with suppress(OSError, ValueError):
        content = read_json(path)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise SeqmtlError(
            f"{path} was not written by seqmtl explain and would be overwritten; choose another "
            "folder with -o"
        )


def _organisms(wanted: str, model: MultiTaskModel) -> list[str]:
    from seqmtl._names import match_names
    from seqmtl.models.base import is_known

    if wanted == "all" and "all" not in model.tasks:
        return list(model.tasks)
    names = wanted.split(",")
    relatives = model.kernel.names[len(model.tasks) :]
    for name in names:
        if is_known(name, relatives) and not is_known(name, model.tasks):
            raise SeqmtlError(
                f"organism {name!r} has no training data, but is a relative; explain shows "
                f"{', '.join(model.tasks)}, and seqmtl.explain.poim takes from_relatives=True"
            )
    return [model.tasks[t] for t in match_names(names, model.tasks, "this model")]


def _windows(
    args: argparse.Namespace, model: MultiTaskModel, organisms: list[str]
) -> dict[str, Windows]:
    """Read the windows of each requested organism; empty if no input is given."""
    from seqmtl.verbs._windows import read_as_of_model

    if not (args.data or args.genome):
        return {}
    windows = read_as_of_model(model, args, None, require_labels=False)
    if windows.task_names == ("task",) and "task" not in model.tasks:
        if len(organisms) > 1:
            raise SeqmtlError(
                "the windows do not name their organism; give one of "
                f"{', '.join(model.tasks)} with --organism"
            )
        windows = windows.with_tasks(organisms * len(windows))
    found = {name: _of(windows, name) for name in organisms}
    missing = [name for name, own in found.items() if not len(own)]
    if len(missing) == len(organisms):
        raise SeqmtlError(
            f"the data have no windows of {', '.join(missing)}, only of "
            f"{', '.join(windows.task_names) or 'none'}; check --organism and --split"
        )
    if missing:
        logger.warning("no windows of %s in the data", ", ".join(missing))
    return {name: own for name, own in found.items() if len(own)}


def _of(windows: Windows, organism: str) -> Windows:
    """Return the windows of one organism, under any spelling that matches."""
    from seqmtl._names import match_names
    from seqmtl.exceptions import UnknownTaskError

    try:
        number = match_names([organism], windows.task_names, "the data")[0]
    except UnknownTaskError:
        return windows[:0]
    return windows[windows.task_ids == number]


def _backgrounds(
    text: str, organisms: list[str], windows: dict[str, Windows]
) -> dict[str, list[float]]:
    """Return the probabilities of A, C, G and T for every organism."""
    import numpy as np

    from seqmtl.explain.poim import UNIFORM, check_background

    if text == "data":
        missing = [name for name in organisms if name not in windows]
        if missing:
            raise SeqmtlError(
                f"--background data needs windows of {', '.join(missing)}; give DATA with them"
            )
        counts = {name: np.bincount(own.matrix().ravel(), minlength=5)[:4] for name, own in
                  windows.items()}  # fmt: skip
        return {name: (own / max(own.sum(), 1)).tolist() for name, own in counts.items()}
    letters: Any = UNIFORM
    if text != "uniform":
        try:
            letters = [float(part) for part in text.split(",")]
        except ValueError:
            raise SeqmtlError(
                "--background must be uniform, data, or four probabilities such as "
                f"0.3,0.2,0.2,0.3, got {text!r}"
            ) from None
    return dict.fromkeys(organisms, check_background(letters).tolist())
