"""Commands that die when they give a file its name, at each such moment, and are repeated."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

#: Runs a command, and then in forks, of which each dies, as if killed, at one of the renames that
#: the first run had, and leaves its folder behind; there the command is repeated.
_DRIVER = """
import os, sys
from seqmtl.commands.main import main

folder, renames, *words = sys.argv[1:]
replace, n_renames = os.replace, 0

def run(name, last=None):
    def counted(*paths):
        global n_renames
        n_renames += 1
        if n_renames == last:
            os._exit(99)
        replace(*paths)
    os.replace = counted
    return main([word.replace("OUT", f"{folder}/{name}") for word in words])

def in_a_fork(*how):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        code = run(*how)
    finally:
        os._exit(code)

assert run("whole") == 0
n, n_renames = n_renames, 0
for last in map(int, renames.split(",")) if renames else range(1, n + 1):
    codes = in_a_fork(last, last), in_a_fork(last)
    assert codes == (99, 0), f"dies at rename {last} and is repeated: {codes}"
"""


def die_at_renames(
    folder: Path, command: str, renames: Iterable[int] = ()
) -> tuple[Path, list[Path]]:
    """Return the folder of a run, and those of runs that died at a rename and were repeated.

    `command` has OUT for the folder. Default: every rename.
    """
    folder.mkdir()
    words = [str(folder), ",".join(map(str, renames)), *shlex.split(command), "-q"]
    subprocess.run([sys.executable, "-c", _DRIVER, *words], check=True, timeout=600)
    return folder / "whole", [path for path in folder.iterdir() if path.name != "whole"]


def files_of(folder: Path, but: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return the visible files of a folder and of those in it, but some names."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "/." not in str(path) and path.name not in but
    }
