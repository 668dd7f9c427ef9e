"""Show what a model has learned, as figures and tables."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl.exceptions import SeqmtlError
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

if TYPE_CHECKING:
    from pathlib import Path

    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Explain(_options.WindowInput, _options.Threads):
    """Show what a model has learned: POIMs, sequence logos, base contributions."""

    model: str = _options.model_file()
    data: str | None = _options.window_data("windows to explain (labels are not needed)")
    output: str = required(
        "-o", metavar="DIR", role="how", help="folder to write; other files in it are kept"
    )
    organism: str = option(
        "--task", default="all", metavar="NAME,...", help="organisms to explain (default: all)"
    )
    reference: str | None = option(
        metavar="NAME",
        help="organism to compare the others with (default: the mean over all organisms; with "
        "two, the second)",
    )
    max_order: int = option(
        kind=_kinds.positive_int,
        default=6,
        metavar="K",
        help="length of the longest oligomers, up to 10 (default: 6)",
    )
    background: str = option(
        default="uniform",
        metavar="uniform|data|A,C,G,T",
        help="letter frequencies of the background sequences: uniform, as in the organism's "
        "windows in DATA, or four probabilities (default: uniform)",
    )
    top: int = option(
        kind=_kinds.positive_int,
        default=100,
        metavar="N",
        help="oligomers to list per order, and k-mers per region (default: 100)",
    )
    n_windows: int = option(
        kind=_kinds.positive_int,
        default=10,
        metavar="N",
        help="explain the N highest-scoring windows of DATA per organism (default: 10); the first "
        "3 are drawn",
    )
    split: str = option(
        default="test",
        help="split to use, if DATA has a split column; all for every row (default: test)",
    )

    def run(self) -> dict[str, Any]:
        """Write the folder.

        Returns
        -------
        dict
            Its summary.json.
        """
        from seqmtl.files.atomic import atomic_folder
        from seqmtl.verbs._explain_folder import SUMMARY

        started = time.perf_counter()
        _kinds.require_matplotlib("seqmtl explain")
        _check_summary(os.path.join(self.output, SUMMARY))
        with atomic_folder(self.output, last=SUMMARY) as folder:
            summary = self._write(folder)
        seconds = time.perf_counter() - started
        logger.info("%s: %d files, %.1f s", self.output, len(summary["files"]), seconds)
        return summary

    def _write(self, folder: Path) -> dict[str, Any]:
        """Write the files into a folder; return the summary."""
        from seqmtl.models.saved import load_model
        from seqmtl.verbs._explain_folder import Explanation
        from seqmtl.verbs._explain_pairs import explain_pairs

        model: Any = load_model(self.model, only=("weights", "pairs"))
        if model.structure == "pairs":
            return explain_pairs(model, self.model, self, folder)
        organisms = _organisms(self.organism, model)
        reference = _organisms(self.reference, model)[0] if self.reference else None
        windows = _windows(self, model, organisms)
        backgrounds = _backgrounds(self.background, organisms, windows)
        work = Explanation(model, folder, self.max_order, self.top)
        for number, organism in enumerate(organisms, 1):
            begun = time.perf_counter()
            work.importance(organism, backgrounds[organism], reference)
            if organism in windows:
                work.windows(organism, windows[organism], self.n_windows)
            logger.info(
                "%s (%d of %d): %.1f s",
                organism, number, len(organisms), time.perf_counter() - begun,
            )  # fmt: skip
        settings = {
            "max_order": self.max_order, "top": self.top, "n_windows": self.n_windows,
            "reference": reference, "background": backgrounds,
        }  # fmt: skip
        return work.finish(self.model, organisms, settings)


def _check_summary(path: str) -> None:
    """Refuse to overwrite a summary.json that another program wrote."""
    from seqmtl.files.whole import read_json
    from seqmtl.verbs._explain_folder import KIND

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


def _windows(request: Explain, model: MultiTaskModel, organisms: list[str]) -> dict[str, Windows]:
    """Read the windows of each requested organism; empty if no input is given."""
    from seqmtl._names import NameIndex, match_names
    from seqmtl.verbs._windows import read_as_of_model

    if not (request.data or request.genome):
        return {}
    windows = read_as_of_model(model, request, None, require_labels=False)
    if windows.task_names == ("task",) and "task" not in model.tasks:
        if len(organisms) > 1:
            raise SeqmtlError(
                "the windows do not name their organism; give one of "
                f"{', '.join(model.tasks)} with --organism"
            )
        windows = windows.with_tasks(organisms * len(windows))
    index = NameIndex(windows.task_names)
    clear = [name for name in organisms if len(index.find(name)) == 1]
    places = [match_names([name], windows.task_names, "the data")[0] for name in clear]
    found = {n: windows[windows.task_ids == t] for n, t in zip(clear, places, strict=True)}
    found = {name: own for name, own in found.items() if len(own)}
    missing = [name for name in organisms if name not in found]
    if len(missing) == len(organisms):
        raise SeqmtlError(
            f"the data have no windows of {', '.join(missing)}, only of "
            f"{', '.join(windows.task_names) or 'none'}; check --organism and --split"
        )
    if missing:
        logger.warning("no windows of %s in the data", ", ".join(missing))
    return found


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


explain = verb(Explain)
