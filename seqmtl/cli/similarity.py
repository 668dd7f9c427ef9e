"""``seqmtl similarity``: a task kernel as a table and a figure."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.relations.kinds import MANUAL
from seqmtl.verbs.similarity import Similarity

_TEXT = f"""\
  seqmtl similarity --tree metazoa --organisms human,mouse,c_elegans,fruit_fly
  seqmtl similarity --tree tree.nwk --similarity hierarchical -o K.tsv --plot K.png
  seqmtl similarity --alignment rrna.fasta --scales 0.05,0.2 -o K.tsv
  seqmtl similarity --graph a.tsv --graph b.tsv --similarity multigraph -o K.tsv
  seqmtl train windows.tsv.gz --similarity K.tsv -o splice.seqmtl
  seqmtl similarity splice.seqmtl --tree tree.nwk --plot learnt.png

{MANUAL}"""


def _show(request: Similarity, kernel: Any) -> str:
    return "" if request.output else f"{kernel}\n"


COMMAND = Command(Similarity, "print and draw the similarity of organisms", _TEXT, _show)
