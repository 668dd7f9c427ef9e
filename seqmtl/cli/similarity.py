"""``seqmtl similarity``: a task kernel as a table and a figure."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.cli._console import show
from seqmtl.similarity.kinds import ALL
from seqmtl.verbs.similarity import Similarity

_INDENT = "\n" + " " * 16
_KINDS = "".join(
    f"  {kind:<14}{entry.text.replace(chr(10), _INDENT)}\n"
    for kind, entry in ALL.items()
    if entry.text
)
_TEXT = f"""\
  seqmtl similarity --tree metazoa --organisms human,mouse,c_elegans,fruit_fly
  seqmtl similarity --tree tree.nwk --similarity hierarchical -o K.tsv --plot K.png
  seqmtl similarity --alignment rrna.fasta --scales 0.05,0.2 -o K.tsv
  seqmtl similarity --graph a.graphml --graph b.tsv --similarity multigraph -o K.tsv
  seqmtl train windows.tsv.gz --similarity K.tsv -o splice.seqmtl

kinds of similarity:
{_KINDS}  individual, union, easy    share nothing, everything, or half
If a kind needs a tree, --alignment and --distances are turned into one by average linkage."""


def _show(request: Similarity, kernel: Any) -> None:
    if not request.output:
        show(f"{kernel}\n")


COMMAND = Command(Similarity, "print and draw the similarity of organisms", _TEXT, _show)
