"""``seqmtl explain``: show what a model has learned, as figures and tables."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.explain import Explain

_TEXT = """\
  seqmtl explain splice.seqmtl -o explained
  seqmtl explain splice.seqmtl --organism c_elegans --reference h_sapiens --max-order 8 -o worm
  seqmtl explain splice.seqmtl windows.tsv.gz --background data -o explained
  seqmtl explain pair.seqmtl --genome worm=worm.fa --sites worm=sites.bed -o explained

Positions are relative to the first base of the site (position 0). Importances are in units of the
score. Files in DIR:
  logo_ORGANISM.png, .svg                  importance of single letters as a sequence logo
  poim_ORGANISM.png, .svg, .tsv            importance by order and position; top oligomers
  poim_difference_A_B.png, .svg            the same for the difference between two organisms
  position_importance.tsv                  the most important oligomer per order and position
  kmers.tsv                                k-mers up- and downstream of the site, with their mean
                                           importance over these positions
  contributions.tsv, contributions_*.png   with DATA: the contribution of every base in the top
                                           windows, and the effect of every substitution
  summary.json                             settings and list of files
The column beyond_letters is the part of an importance that single letters do not explain. It
reveals motifs among letters that are important by themselves; within each region and length,
kmers.tsv is sorted by it.

Letters that sites and decoys share, such as the AG of an acceptor, do not discriminate and thus
have no importance.

For a model of seqmtl pair, name sites of a genome. For each of them, sites.tsv has the log-odds
without and with its partners, and the drop of the latter without each part of the evidence: the
site itself, its best partner, intron lengths, the coding content on either side, and competing
sites within 60 bases (this drop is mostly negative). Its most probable introns are written as
START-END:PROBABILITY."""


COMMAND = Command(
    Explain, "show what a model has learned: POIMs, sequence logos, base contributions", _TEXT
)
