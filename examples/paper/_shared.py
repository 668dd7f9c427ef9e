"""What the scripts of the papers share: options, needs that are checked first, kept results."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from seqmtl.files.write import write_json

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from _common import QuickParser


class Options(QuickParser):
    """Options of a script, with its docstring as the help.

    Parameters
    ----------
    doc : str or None
        The docstring.
    quick : mapping of str to Any
        Values of options under `--quick`, unless they are given.
    simulate : callable, optional
        Writes data into a folder, which is removed at the end, and returns more such values.
    fixed : sequence of str
        Options that must be the same when a run is resumed, because the results in OUT depend on
        them.
    """

    def __init__(
        self,
        doc: str | None,
        quick: Mapping[str, Any],
        simulate: Callable[[Path], Mapping[str, Any]] | None = None,
        *,
        fixed: Sequence[str] = (),
    ) -> None:
        super().__init__(doc, quick, simulate)
        self.fixed = fixed
        self.add_argument("--out", type=Path, required=True, help="folder of the results")

    def start(
        self, needs: Callable[[argparse.Namespace], Sequence[Path]] = lambda _: ()
    ) -> argparse.Namespace:
        """Read the options and make OUT, or say what is missing before any work is done."""
        given = self.parse_args()
        if importlib.util.find_spec("matplotlib") is None:
            self.error("figures need matplotlib; run: pip install matplotlib")
        for path in needs(given):
            if not path.is_file():
                self.error(f"{path} does not exist; the help says what it holds: --help")
        given.out.mkdir(parents=True, exist_ok=True)
        settings = {name: getattr(given, name) for name in self.fixed}
        if settings and kept(given.out / "settings.json", lambda: settings) != settings:
            self.error(f"{given.out} holds results of other settings; give another folder as --out")
        return given


def kept(path: Path, work: Callable[[], Any]) -> Any:
    """Return what the JSON file holds, or do the work and write the file."""
    if not path.exists():
        write_json(path, work())
    return json.loads(path.read_text(encoding="utf-8"))


def with_spread(values: NDArray[np.float64], form: str = ".4f", level: float = 0.0) -> str:
    """Format a mean with its standard error, or half its confidence interval; alone if of one."""
    text = f"{values.mean():{form}}"
    if values.size < 2:
        return text
    error = values.std(ddof=1) / np.sqrt(values.size)
    return f"{text} ± {(student.ppf(0.5 + level / 2, values.size - 1) if level else 1) * error:.4f}"
