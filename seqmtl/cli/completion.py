"""``seqmtl completion``: words that the Tab key completes in a shell."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from seqmtl.cli._command import Command
from seqmtl.request import Request, required

_SHELLS = ("bash", "zsh", "fish")
_OF_FILES = ("FILE", "FASTA", "MODEL", "DATA", "DIR", "FOLDER", "TABLE", "VCF", "BED", "PATH")

_TEXT = """\
  seqmtl completion bash > ~/.local/share/bash-completion/completions/seqmtl
  seqmtl completion zsh > ~/.zfunc/_seqmtl      # with fpath+=~/.zfunc before compinit in ~/.zshrc
  seqmtl completion fish > ~/.config/fish/completions/seqmtl.fish

Start a new shell then."""


@dataclass(frozen=True, kw_only=True)
class Completion(Request):
    """Complete commands, options and files in a shell."""

    shell: str = required(", ".join(_SHELLS), choices=_SHELLS, metavar="SHELL", is_positional=True)

    def run(self) -> str:
        """Make the script.

        Returns
        -------
        str
            The script, for standard output.
        """
        import shtab

        main = import_module("seqmtl.cli.main")
        parser: Any = main.build_parser()
        parser._subparsers._group_actions[0].help = None  # hidden, as the help has groups of them
        for each in main.parsers_of(parser).values():
            for action in each._actions:
                is_of_files = any(word in str(action.metavar) for word in _OF_FILES)
                if action.nargs != 0 and action.choices is None and is_of_files:
                    action.complete = shtab.FILE
        return str(shtab.complete(parser, shell=self.shell))


def _show(_: Completion, script: str) -> str:
    return f"{script}\n"


COMMAND = Command(Completion, "words that the Tab key completes in a shell", _TEXT, _show)
