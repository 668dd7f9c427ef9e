"""What was a command or an option once, and what does the same today.

A script that was written for an earlier version gets exit code 2 and one line that names the
replacement. An entry stays for as long as such scripts may be around.
"""

from __future__ import annotations

#: Commands that were removed: what to use instead.
COMMANDS: dict[str, str] = {
    "completion": "nothing replaces it; shells complete file names as before",
}

#: Options that were removed, by command: what to use instead.
OPTIONS: dict[str, dict[str, str]] = {
    "compare": {
        "--hash-bits": "write it into --features, such as wd:8,hash:22",
    },
    "dataset": {
        "--no-homologues": "write 'homologues = false' into the table [split] of the TOML file",
    },
    "train": {
        "--hash-bits": "write it into --features, such as wd:8,hash:22",
        "--dtype": "weights are float32; for gaps below 1e-6, train in Python with "
        "seqmtl.MultiTaskSVC(dtype='float64')",
    },
}


def replacement_of_option(command: str, option: str) -> str | None:
    """Return what replaces an option, such as ``--genomes`` of ``scan``; None if it never was."""
    return OPTIONS.get(command, {}).get(option)
