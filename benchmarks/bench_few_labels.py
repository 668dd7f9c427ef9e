"""Individual, union, tree and the default by the number of labels of each organism.

    python benchmarks/bench_few_labels.py DATA.tsv.gz --tree six_eukaryotes --json OUT.json

DATA is a table of windows. `seqmtl compare` draws the training windows several times; the test
windows are always the same. Prints AUPRC (windows), mean and standard deviation over the draws, of
the mean over the organisms, and the mean over the draws of each organism. What `compare` wrote
stays in `--folder`, and is not made again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, seqmtl, write_result

METHODS = {"individual": "individual", "union": "union", "mtl": "tree", "default": "default"}
QUICK = {"sizes": [20], "draws": 2}


def simulate(folder: Path) -> dict[str, Any]:
    """Return simulated windows, and a folder of results."""
    return {**_toy.windows(folder), "folder": folder / "runs"}


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tree", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 100, 300, 1000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("few_labels"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    rows: list[dict[str, Any]] = []
    for n in arguments.sizes:
        out = arguments.folder / f"{n}.json"
        options = ["--tree", arguments.tree, "--splits", arguments.draws, "--train-size", n]
        seqmtl("compare", arguments.data, *options, "--methods", ",".join(METHODS), "--json", out)
        found = json.loads(out.read_text())["methods"]
        for method, name in METHODS.items():
            tasks = found[method]["tasks"]
            values = {task: np.array(row["auprc_windows"]) for task, row in tasks.items()}
            mean = np.mean([*values.values()], axis=0)
            rows.append(
                {
                    "labels": n,
                    "method": name,
                    "mean": float(mean.mean()),
                    "deviation": float(mean.std(ddof=1)),
                    **{task: float(value.mean()) for task, value in values.items()},
                }
            )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
