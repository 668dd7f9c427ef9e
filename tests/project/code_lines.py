"""Count lines of code: without docstrings, blank lines and comments, by room.

``python tests/project/code_lines.py [--files] [FOLDER]`` prints the rooms (or files) of the package
and of the tests of a checkout, and the sums of both.
"""

from __future__ import annotations

import argparse
import ast
import collections
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Return the number of lines of code of a module."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _WITH_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None:
            documented.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(map(str.strip, source.split("\n")), start=1)
    return sum(bool(line) and line[0] != "#" and n not in documented for n, line in lines)


def lines_by_file(root: Path = ROOT) -> dict[str, int]:
    """Return the lines of code of every module of the package and of the tests."""
    paths = sorted(path for top in ("seqmtl", "tests") for path in (root / top).rglob("*.py"))
    return {
        path.relative_to(root).as_posix(): code_lines(path.read_text(encoding="utf-8"))
        for path in paths
    }


def lines_by_room(files: dict[str, int]) -> dict[str, int]:
    """Return the sums by folder; what lies at the top is a room, too."""
    rooms: collections.Counter[str] = collections.Counter()
    for name, n in files.items():
        rooms["/".join(name.split("/")[:-1][:2])] += n
    return dict(rooms)


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--files", action="store_true", help="by file")
    args = parser.parse_args()
    files = lines_by_file(args.folder)
    for name, n in (files if args.files else lines_by_room(files)).items():
        print(f"{n:6} {name}")
    for top in ("seqmtl", "tests"):
        print(f"{sum(n for name, n in files.items() if name.startswith(top)):6} {top}, all")


if __name__ == "__main__":
    main()
