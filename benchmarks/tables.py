"""Fill the tables of the README and of docs/benchmarks.md from recorded results.

    python benchmarks/tables.py [--check]

`benchmarks/results` has what the programs here and `seqmtl compare` wrote with `--json`. In the
documents a table stands between ``<!-- table NAME -->`` and ``<!-- end -->``, and is written anew
from the function of that name below. `--check` changes nothing, and fails if a document is not what
would be written.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/benchmarks.md")
NAMES = {
    "p_falciparum": "P. falciparum",
    "a_thaliana": "A. thaliana",
    "c_elegans": "C. elegans",
    "d_melanogaster": "D. melanogaster",
    "s_cerevisiae": "S. cerevisiae",
}
_BLOCK = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(name: str) -> Any:
    """Return a recorded result."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def share(value: float, digits: int = 3, sign: str = "") -> str:
    """Format a number between -1 and 1 without the zero before the point."""
    return f"{value:{sign}.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def lay_out(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def homologues() -> str:
    """Sites alone and paired, with and without homologues in training."""
    rows = [
        [
            f"{row['signal']}s, {NAMES.get(row['organism'], row['organism'])}",
            f"{row['with a homologue, %']:.1f} %",
            *(
                text
                for way in ("alone", "paired")
                for text in (share(row[way]), share(row[f"{way}, difference"], sign="+"))
            ),
        ]
        for row in read("genomes")["rows"]
    ]
    return lay_out(
        ["", "test sites with a homologue", "alone", "without", "paired", "without"], rows
    )


TABLES: dict[str, Callable[[], str]] = {"homologues": homologues}


def fill(text: str) -> str:
    """Return a document with its tables written anew."""
    return _BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)


def main() -> None:
    """Fill the tables."""
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text("utf-8")
        if fill(text) != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(fill(text), "utf-8")
    if "--check" in sys.argv and stale:
        raise SystemExit(f"not of benchmarks/results: {', '.join(stale)}; run benchmarks/tables.py")


if __name__ == "__main__":
    main()
