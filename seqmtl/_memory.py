"""Check that data fit into memory before allocating it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from seqmtl.exceptions import MemoryLimitError


def available_memory() -> int:
    """Return the bytes that can be allocated now (physical memory, or a limit of the process)."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        total = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass  # no Linux: the physical memory stands
    try:
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_bytes()))
    except (OSError, ValueError):
        pass  # no control group, or one without a limit ("max")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]  # of ulimit -v, and some batch systems
    if limit != resource.RLIM_INFINITY:
        used = int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        total = max(0, min(total, limit - used))
    return total


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise an error if an allocation cannot fit, before it is tried.

    Raises
    ------
    MemoryLimitError
        With the memory needed, the memory available, and the remedy.
    """
    limit = available_memory()
    if n_bytes > limit:
        raise MemoryLimitError(
            f"{what} would take {n_bytes / 2**30:.1f} GiB of memory, but "
            f"{limit / 2**30:.1f} GiB are available; {remedy}"
        )
