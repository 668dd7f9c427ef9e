"""Tutorials run: their blocks are carried out in order, and their pages show what came out.

Blocks marked ``sh`` go to a shell, those marked ``python`` share one namespace. A page is run in a
folder of its own. ``tests/project/test_docs.py`` runs the pages. The build does so if
SEQMTL_TUTORIALS names a folder, or takes what the tests have left there: it adds to every block
what it printed, and takes the pictures that the page shows. Else a page is text and code alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(pictures/([^)]+)\)")
PRINTED = "\n```{code-block} text\n:class: printed\n"
MAX_LINES = 24
RESULTS = "SEQMTL_TUTORIALS"
GALLERY = "tutorials/index"
NOT_RUN = f"""```{{note}}
Built without {RESULTS}: what the blocks print and draw is not shown.
```
"""
ROOT = Path(__file__).resolve().parents[2]


def run_blocks(text: str, folder: Path) -> Iterator[str]:
    """Carry out every block of a page in a folder, and yield what it printed.

    Raises
    ------
    RuntimeError
        If a command fails; an error of Python goes through as it is.
    """
    names: dict[str, Any] = {"__name__": "tutorial"}
    for language, code in BLOCK.findall(text):
        out = _shell(code, folder) if language == "sh" else _python(code, folder, names)
        yield out.replace(f"{folder}{os.sep}", "")


def _shell(code: str, folder: Path) -> str:
    seqmtl = f'seqmtl() {{ "{sys.executable}" -m seqmtl "$@"; }}\n'
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", seqmtl + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode} of\n{code}\n{done.stdout}")
    return done.stdout


def _python(code: str, folder: Path, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(code, "tutorial", "exec"), names)
    return printed.getvalue()


def run_page(text: str, folder: Path) -> str:
    """Run a page in a folder, and return it with what every block printed below the block."""
    printed = run_blocks(text, folder)

    def with_output(match: re.Match[str]) -> str:
        lines = next(printed).rstrip().splitlines()
        if len(lines) > MAX_LINES:
            lines = [*lines[:MAX_LINES], "..."]
        return "\n".join([match[0], PRINTED, *lines, "```"]) if lines else match[0]

    return BLOCK.sub(with_output, text)


@contextlib.contextmanager
def finished(name: str, text: str) -> Iterator[tuple[str, Path]]:
    """Give a page as it is after its run, and the folder in which it was run.

    SEQMTL_TUTORIALS may name a folder: then a page is run once, by the tests or by the build.
    """
    with tempfile.TemporaryDirectory(prefix="seqmtl-docs.") as temporary:
        folder = Path(os.environ.get(RESULTS, temporary)) / name
        page = folder / "page.md"
        if not page.exists():
            folder.mkdir(parents=True)
            page.write_text(run_page(text, folder), encoding="utf-8")
        yield page.read_text(encoding="utf-8"), folder


def read_tutorial(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a page below ``tutorials`` as it is after its run into the place of its text."""
    if docname == GALLERY:
        _copy_gallery(app, source)
    if not docname.startswith("tutorials/") or not BLOCK.search(source[0]):
        return
    if RESULTS not in os.environ:
        title, _, rest = source[0].partition("\n")
        source[0] = f"{title}\n\n{NOT_RUN}{PICTURE.sub('', rest)}"
        return
    name = docname.rpartition("/")[2]
    pictures = Path(app.srcdir) / "tutorials" / "pictures" / name
    with finished(name, source[0]) as (text, folder):
        for picture in PICTURE.findall(text):
            target = pictures / picture
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / picture, target)
    source[0] = PICTURE.sub(lambda m: m[0].replace("pictures/", f"pictures/{name}/"), text)


def _copy_gallery(app: Sphinx, source: list[str]) -> None:
    """Copy the pictures of the gallery from the tutorials that draw them, or leave them out."""
    if RESULTS not in os.environ:
        source[0] = PICTURE.sub("", source[0])
        return
    tutorials = Path(app.srcdir) / "tutorials"
    for picture in PICTURE.findall(source[0]):
        name, _, file = picture.partition("/")
        text = (tutorials / f"{name}.md").read_text(encoding="utf-8")
        with finished(name, text) as (_, folder):
            target = tutorials / "pictures" / picture
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read_tutorial)
    return {"parallel_read_safe": False}
