"""Which test checks which equation of the papers: a table on the page ``papers``, from the tests.

A test is listed if its docstring begins as in "Widmer 2012, eq. 17: what is checked". Before the
colon are papers and their equations, sections or algorithms; papers are separated by semicolons.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAPERS = ("Sheldon 2008", "Widmer 2012", "Li 2014", "Widmer 2015")
MARKS = re.compile(r"[|*_<\[]")  # of Markdown
PLACE = "<!-- tests of equations -->"
ROOT = Path(__file__).resolve().parents[2]


class Check(NamedTuple):
    """A place in a paper, what a test checks of it, and the name of the test."""

    paper: str
    place: str
    what: str
    test: str

    @property
    def equations(self) -> set[int]:
        """Numbers of the equations."""
        found = set()
        for first, last in re.findall(r"\b(?:eq\. |, )(\d+)(?: to (\d+))?(?![\d.])", self.place):
            found |= set(range(int(first), int(last or first) + 1))
        return found


def find_checks() -> Iterator[Check]:
    """Find the tests that name an equation."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for owner in (tree, *classes):
            name = path.relative_to(ROOT).as_posix() + "::"
            name += f"{owner.name}::" if isinstance(owner, ast.ClassDef) else ""
            for node in owner.body:
                text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
                head, colon, what = (text or "").split("\n")[0].partition(": ")
                if colon and head.startswith(PAPERS):
                    for part in head.split("; "):
                        paper, _, place = part.partition(", ")
                        yield Check(paper, place, what, name + node.name)


def table() -> str:
    """Return the table in Markdown."""
    rows = ["| paper | equation | what is checked | test |", "|---|---|---|---|"]
    checks = sorted(find_checks(), key=lambda c: (PAPERS.index(c.paper), min(c.equations | {99})))
    for paper, place, what, test in checks:
        shown = MARKS.sub(lambda mark: "\\" + mark[0], what)
        rows.append(f"| {paper} | {place} | {shown} | `{test}` |")
    return "\n".join(rows)


def add_table(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the table into the page."""
    source[0] = source[0].replace(PLACE, table()) if docname == "papers" else source[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", add_table)
    return {"parallel_read_safe": True}
