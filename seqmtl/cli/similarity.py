"""``seqmtl similarity``: a task kernel as a table and a figure."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.cli._console import show
from seqmtl.verbs.similarity import Similarity

_TEXT = """\
  seqmtl similarity --tree metazoa --organisms human,mouse,c_elegans,fruit_fly
  seqmtl similarity --tree tree.nwk --kind hierarchical -o K.tsv --plot K.png
  seqmtl similarity --alignment rrna.fasta --scales 0.05,0.2 -o K.tsv
  seqmtl similarity --graph a.graphml --graph b.tsv --kind multigraph -o K.tsv
  seqmtl train windows.tsv.gz --similarity K.tsv -o splice.seqmtl

kinds of similarity:
  tree          length of the path shared from the root (default for --tree, --taxonomy)
  hierarchical  one kernel per inner node of the tree
  smooth        one kernel exp(-distance/scale) per scale (default for --alignment, --distances)
  multigraph    one kernel per --graph (default for several); from a tree, one graph per inner
                node, connecting all its leaves
  graph         one --graph (default for one); from a tree, each leaf is connected to all leaves
                below its parent
  graphical     as graph, scaled to a diagonal of 1
  clustering    --groups (default for it); from a tree, the leaves below each inner node
  individual, union, easy    share nothing, everything, or half
If a kind needs a tree, --alignment and --distances are turned into one by average linkage."""


def _show(request: Similarity, kernel: Any) -> None:
    if not request.output:
        show(f"{kernel}\n")


COMMAND = Command(Similarity, "print and draw the similarity of organisms", _TEXT, _show)
