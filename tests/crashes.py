"""Commands that are killed at any moment, and what they leave."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from seqmtl.commands.main import main

#: What Python does to files and folders, of which some name the file.
EVENTS = {"open", "os.remove", "os.rename", "os.chmod", "os.mkdir", "os.rmdir", "os.truncate"}


def run_killed(words: list[str], folder: Path, n: int | None = None) -> int:
    """Run a command in a process that kills itself before its n-th event in a folder.

    Default: the process ends by itself.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = n

    def hook(event, arguments):
        nonlocal left
        if event not in EVENTS:
            return
        place = str(arguments[event == "os.rename"])
        is_inside = place.startswith(str(folder)) and "/.unfinished-" not in os.path.dirname(place)
        if is_inside:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        if n is not None:
            sys.addaudithook(hook)
        code = main(words)
    except BaseException:
        code = 99
    os._exit(code)


def files_of(folder: Path, but: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return the visible files of a folder and of those in it, but some names."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "/." not in str(path) and path.name not in but
    }
