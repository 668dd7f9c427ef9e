"""Accuracy over genomes: sites alone and in pairs, with and without homologues in training.

    python benchmarks/bench_genomes.py first.toml second.toml --tree six_eukaryotes --json OUT.json

Each TOML file, of `seqmtl dataset`, is one split of the same genomes. Donors and acceptors are made
into datasets, trained with the defaults, calibrated, paired and evaluated on the test regions, each
step a process of its own. With `--no-homologues` all of it is repeated without the sites of train
that have a homologue in valid or test; the test regions are the same. Prints AUPRC over every
candidate (mean over the splits), its difference without homologues, and the share of test sites
with a homologue in train. `--edge start stop` pairs with models of these edges of genes, too, which
all annotations must have. Files stay in `--folder`, and are not made again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, seqmtl, write_result

from seqmtl.datasets import read_config, write_dataset

SIGNALS = ("donor", "acceptor")
QUICK = {"no_homologues": True}


def simulate(folder: Path) -> dict[str, Any]:
    """Return the configuration and the tree of simulated genomes, and a folder of results."""
    config = _toy.genomes(folder)
    return {"configs": [config], "tree": folder / "tree.nwk", "folder": folder / "runs"}


def make(output: Path, *arguments: object, option: str = "-o") -> None:
    """Run a command, if its output does not exist."""
    if not output.exists():
        seqmtl(*arguments, option, output)


def evaluate(
    config: Path,
    folder: Path,
    tree: str,
    *,
    homologues: bool = True,
    edges: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return what `evaluate` says of the paired model of one split."""
    ends, names = "" if homologues else ".distinct", []
    for signal in (*SIGNALS, *edges):
        whole, data = (folder / f"{config.stem}.{signal}{end}" for end in ("", ends))
        make(whole, "dataset", config, "--signal", signal)
        if not data.exists():  # the same, without homologues
            settings = read_config(config, signal=signal)
            split = replace(settings.split, homologues=False)
            write_dataset(replace(settings, split=split), data)
        raw, model = Path(f"{data}.raw"), Path(f"{data}.seqmtl")
        make(raw, "train", data, "--tree", tree)
        make(model, "calibrate", raw, data)
        names.append((model, data, whole))
    models, data, whole = zip(*names[:2], strict=True)
    kind = "genes" if edges else "pair"
    pair = folder / f"{config.stem}.{kind}{ends}.seqmtl"
    options = [word for model, *_ in names[2:] for word in ("--boundary-model", model)]
    make(pair, "pair", *models, *data, *options)
    figures = Path(f"{pair}.json")
    make(figures, "evaluate", pair, *whole, option="--json")
    found: dict[str, Any] = json.loads(figures.read_text())["signals"]
    for signal, folder_ in zip(SIGNALS, whole, strict=True):
        summary = json.loads((folder_ / "summary.json").read_text())
        found[signal]["leakage"] = summary["leakage"]
    return found


def auprc(splits: list[dict[str, Any]], signal: str, way: str, organism: str) -> float:
    """Return the mean AUPRC (genome) over the splits."""
    return float(
        np.mean([split[signal][way]["tasks"][organism]["auprc_genome"] for split in splits])
    )


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("configs", type=Path, nargs="+")
    parser.add_argument("--tree", required=True)
    parser.add_argument("--folder", type=Path, default=Path("genomes"))
    parser.add_argument("--no-homologues", action="store_true")
    parser.add_argument("--edge", nargs="+", default=(), help="signals such as start stop")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)

    def run(**options: Any) -> list[dict[str, Any]]:
        return [
            evaluate(config, arguments.folder, arguments.tree, **options)
            for config in arguments.configs
        ]

    usual = run()
    genes = run(edges=tuple(arguments.edge)) if arguments.edge else None
    distinct = run(homologues=False) if arguments.no_homologues else None
    rows: list[dict[str, Any]] = []
    for signal in SIGNALS:
        organisms = list(usual[0][signal]["alone"]["tasks"])
        for organism in organisms:
            row: dict[str, Any] = {"signal": signal, "organism": organism}
            for way in ("alone", "paired"):
                row[way] = auprc(usual, signal, way, organism)
                if distinct:
                    row[f"{way}, difference"] = auprc(distinct, signal, way, organism) - row[way]
            if genes:
                row["with edges"] = auprc(genes, signal, "paired", organism)
            with_homologue, compared = (
                sum(split[signal]["leakage"][f"test_sites_{name}"][organism] for split in usual)
                for name in ("with_homologue_in_train", "compared")
            )
            row["with a homologue, %"] = 100 * with_homologue / max(1, compared)
            rows.append(row)
        own = [row for row in rows if row["signal"] == signal]
        mean = {key: float(np.mean([row[key] for row in own])) for key in [*own[0]][2:]}
        rows.append({"signal": signal, "organism": "mean", **mean})
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
