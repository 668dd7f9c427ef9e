"""Fill the tables of documents from recorded results.

    python benchmarks/tables.py [--check]

`benchmarks/results` has what the programs here wrote with `--json`, and figures that were
transcribed from what they printed ("transcribed": true). In the documents a
table stands between ``<!-- table NAME -->`` and ``<!-- end -->``, and is written anew as
`tables.toml` lays it out; in docs/benchmarks.md with a line that names its results. `--check`
changes nothing, and fails if a document is not what would be written.

A table of `tables.toml` has

    results   names of results, whose rows stand below each other
    columns   [head, template] of each
    only      values of a key of the rows, in the order in which they stand; others are left out
    across    a key whose values become columns: rows that are equal in the keys `by` become one,
              with keys such as "100 mean"
    names     words in the place of values
    rows      templates of all cells, in the place of results and columns, with `head`

A template has fields such as {mean:.3f}: a key of the row and a format.
{few_labels/labels=100/method=tree/mean:.3f} is of the one row of a result with these values. A cell
is empty if one of its fields is, unless another template follows after a "|". Numbers below one
that were transcribed without their zero get it.
"""

from __future__ import annotations

import json
import re
import string
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENTS = (
    "README.md",
    "docs/benchmarks.md",
    "docs/howto/adapt.md",
)
BLOCK = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
SPECIFICATION = tomllib.loads((ROOT / "benchmarks" / "tables.toml").read_text("utf-8"))
Row = dict[str, Any]


def read(name: str) -> Any:
    """Return a recorded result."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


class Cells(string.Formatter):
    """Formats templates with the fields of a row or of a recorded result."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return a value of the row, or of a row of a result."""
        name, *conditions = field_name.split("/")
        if conditions:
            *conditions, key = conditions
            wanted = dict(condition.split("=") for condition in conditions)
            (kwargs,) = (
                row
                for row in read(name)["rows"]
                if all(str(row[key]) == value for key, value in wanted.items())
            )
            name = key
        value = kwargs.get(name, "")
        if value == "":
            raise LookupError(name)
        return self.names.get(str(value), value), name

    def fill(self, template: str, row: Row) -> str:
        """Return a cell."""
        for way in template.split("|"):
            try:
                return re.sub(r"(?<![\w.])(?=\.\d)", "0", self.vformat(way, (), row))
            except LookupError:
                continue
        return ""


def spread(rows: list[Row], across: str, by: list[str]) -> list[Row]:
    """Join rows that are equal in `by`; their other keys begin with their value of `across`."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        own = found.setdefault(tuple(row[key] for key in by), {key: row[key] for key in by})
        own.update({f"{row[across]} {key}": value for key, value in row.items()})
    return list(found.values())


def lay_out(name: str) -> tuple[list[list[str]], list[str]]:
    """Return the head and the rows of a table, and the results that they are of."""
    table = SPECIFICATION[name]
    cells = Cells({**SPECIFICATION["names"], **table.get("names", {})})
    if "rows" in table:
        lines = [table["head"]]
        lines += [[cells.fill(template, {}) for template in row] for row in table["rows"]]
        return lines, list(dict.fromkeys(re.findall(r"\{(\w+)/", str(table["rows"]))))
    results = table["results"]
    rows = [{"result": result, **row} for result in results for row in read(result)["rows"]]
    for key, values in table.get("only", {}).items():
        order = {value: n for n, value in enumerate(values)}
        rows = sorted((row for row in rows if row[key] in order), key=lambda row: order[row[key]])
    if "across" in table:
        rows = spread(rows, table["across"], table["by"])
    lines = [[head for head, _ in table["columns"]]]
    lines += [[cells.fill(template, row) for _, template in table["columns"]] for row in rows]
    return lines, results


def origin(name: str) -> str:
    """Return the name of a result, with the version that it is of."""
    result = read(name)
    parts = [result["seqmtl"].split("+")[0], "transcribed" if result.get("transcribed") else ""]
    return f"`{name}.json` ({', '.join(filter(None, [*parts, result.get('note')]))})"


def write(name: str, *, with_origin: bool) -> str:
    """Return a table in Markdown."""
    lines, results = lay_out(name)
    for head, *column in zip(*lines, strict=True):
        if not any(column):
            raise SystemExit(f"tables.toml, {name}: nothing below {head!r}; is a key wrong?")
    lines.insert(1, ["---"] * len(lines[0]))
    text = "".join(
        "|" + "".join(f" {cell} |" if cell else " |" for cell in line) + "\n" for line in lines
    )
    if with_origin:
        text += f"\n*From {', '.join(map(origin, results))}.*\n"
    return text


def fill(text: str, *, with_origin: bool) -> str:
    """Return a document with its tables written anew."""
    return BLOCK.sub(
        lambda block: block[1] + write(block[2], with_origin=with_origin) + block[3], text
    )


def main() -> None:
    """Fill the tables."""
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text("utf-8")
        filled = fill(text, with_origin=name == "docs/benchmarks.md")
        if filled != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(filled, "utf-8")
    if "--check" in sys.argv and stale:
        raise SystemExit(f"not of benchmarks/results: {', '.join(stale)}; run benchmarks/tables.py")


if __name__ == "__main__":
    main()
