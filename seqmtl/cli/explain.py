"""``seqmtl explain``: what a model has learnt, as pictures and tables."""

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

Positions are relative to the first base of the site, which is 0. All importances are in units of
the score. DIR then has
  logo_ORGANISM.png, .svg                  importance of single letters as a sequence logo
  poim_ORGANISM.png, .svg, .tsv            importance by order and position; its top oligomers
  poim_difference_A_B.png, .svg            the same for the difference of two organisms
  position_importance.tsv                  the strongest oligomer of every order and position
  kmers.tsv                                k-mers up- and downstream of the site, and their mean
                                           importance over the positions there
  contributions.tsv, contributions_*.png   with DATA: what every base of the best windows adds,
                                           and what another letter there would change
  summary.json                             settings and files
In the tables beyond_letters is the part of an importance that single letters do not explain: it
finds motifs among letters that are important by themselves, and orders kmers.tsv.

Letters that sites and decoys share, such as the AG of an acceptor, tell nothing apart and so have
no importance."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "explain", run,
        "what a model has learnt: oligomer importance, logos, contributions of bases", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(parser, "windows to explain (labels are not needed)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR",
        help="folder to write; files of other names in it stay",
    )  # fmt: skip
    parser.add_argument(
        "--organism", "--task", default="all", metavar="NAME,...",
        help="organisms to explain (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--reference", metavar="NAME",
        help="organism with which the others are compared (default: the mean over all; of two, "
        "one with the other)",
    )  # fmt: skip
    parser.add_argument(
        "--max-order", type=_options.positive_int, default=6, metavar="K",
        help="longest oligomers, up to 10 (default: 6)",
    )  # fmt: skip
    parser.add_argument(
        "--background", default="uniform", metavar="uniform|data|A,C,G,T",
        help="letters of the sequences over which is averaged: all alike, as often as in the "
        "organism's windows in DATA, or four probabilities (default: uniform)",
    )  # fmt: skip
    parser.add_argument(
        "--top", type=_options.positive_int, default=100, metavar="N",
        help="oligomers listed per order, and k-mers per region (default: 100)",
    )  # fmt: skip
    parser.add_argument(
        "--n-windows", type=_options.positive_int, default=10, metavar="N",
        help="windows of DATA to explain, per organism those with the highest scores (default: "
        "10, of which 3 are drawn)",
    )  # fmt: skip
    parser.add_argument(
        "--split", default="test",
        help="rows to use, where DATA has a split column; all for all (default: test)",
    )  # fmt: skip


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
    """Write the files into a folder; return how many."""
    from seqmtl.cli._explain import Explanation
    from seqmtl.models.model import MultiTaskModel

    model = MultiTaskModel.load(args.model)
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
    """Refuse to write over a summary that is of something else."""
    from seqmtl.files.whole import read_json

    if not os.path.exists(path):
        return
    content = None
    with suppress(OSError, ValueError):
        content = read_json(path)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise SeqmtlError(
            f"{path} is not of seqmtl explain and would be lost; choose another folder with -o"
        )


def _organisms(wanted: str, model: MultiTaskModel) -> list[str]:
    from seqmtl.similarity.names import match_names

    if wanted == "all" and "all" not in model.tasks:
        return list(model.tasks)
    return [model.tasks[t] for t in match_names(wanted.split(","), model.tasks, "this model")]


def _windows(
    args: argparse.Namespace, model: MultiTaskModel, organisms: list[str]
) -> dict[str, Windows]:
    """Read the windows of each organism that is asked for; none where no input is named."""
    from seqmtl.cli._input import read_input

    if not (args.data or args.genome):
        return {}
    source = argparse.Namespace(**{**vars(args), "organism": None})
    split = None if args.split == "all" else args.split
    windows = read_input(
        source, split=split, window=model.length, require_labels=False, shift=model.shift
    )
    if windows.task_names == ("task",) and "task" not in model.tasks:
        if len(organisms) > 1:
            raise SeqmtlError(
                "the windows do not say their organism; name one of "
                f"{', '.join(model.tasks)} with --organism"
            )
        windows = windows.with_tasks(organisms * len(windows))
    found = {name: _of(windows, name) for name in organisms}
    missing = [name for name, own in found.items() if not len(own)]
    if len(missing) == len(organisms):
        raise SeqmtlError(
            f"there are no windows of {', '.join(missing)} in the data, which has "
            f"{', '.join(windows.task_names) or 'none'}; see --organism and --split"
        )
    if missing:
        logger.warning("no windows of %s in the data", ", ".join(missing))
    return {name: own for name, own in found.items() if len(own)}


def _of(windows: Windows, organism: str) -> Windows:
    """Return the windows of one organism, by whatever name the data has for it."""
    from seqmtl.exceptions import UnknownTaskError
    from seqmtl.similarity.names import match_names

    try:
        number = match_names([organism], windows.task_names, "the data")[0]
    except UnknownTaskError:
        return windows[:0]
    return windows[windows.task_ids == number]


def _backgrounds(
    text: str, organisms: list[str], windows: dict[str, Windows]
) -> dict[str, list[float]]:
    """Return the probabilities of A, C, G, T of every organism."""
    import numpy as np

    from seqmtl.explain.poim import UNIFORM, check_background

    if text == "data":
        missing = [name for name in organisms if name not in windows]
        if missing:
            raise SeqmtlError(
                f"--background data needs windows of {', '.join(missing)}; name DATA that has them"
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
