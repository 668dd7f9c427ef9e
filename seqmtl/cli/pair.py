"""``seqmtl pair``: combine donor and acceptor models, so that sites are scored in pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqmtl.cli._command import Command
from seqmtl.verbs.pair import Pair

if TYPE_CHECKING:
    from seqmtl.splicing.model import PairedModel

_TEXT = """\
  seqmtl dataset genomes.toml --signal donor -o donors
  seqmtl dataset genomes.toml --signal acceptor -o acceptors
  seqmtl train donors -o donor.seqmtl; seqmtl calibrate donor.seqmtl donors -o donor.seqmtl
  seqmtl train acceptors -o acc.seqmtl; seqmtl calibrate acc.seqmtl acceptors -o acc.seqmtl
  seqmtl pair donor.seqmtl acc.seqmtl donors acceptors -o splice.seqmtl
  seqmtl evaluate splice.seqmtl donors acceptors
  seqmtl pair donor.seqmtl acc.seqmtl donors acceptors --edge start.seqmtl -o genes.seqmtl

An acceptor needs a donor at the distance of an intron, and most introns are between stretches of
coding sequence in the same frame. The new model has both models, and a layer above them that gives
every parse of a contig into coding sequence and introns a weight: by the log-odds of its sites, the
lengths of its introns, and its codons, from a start codon to a stop codon. The probability of a
site is the share of the parses with it. Intron lengths and coding content are learned from the
training regions. Eight numbers per organism are fitted on the validation regions, which neither
model has seen. With models of start and stop codons (--edge; trained and calibrated like the
others, on datasets of annotations with CDS) more sites are found; models of tss and polya give the
ends of transcripts. scan then reports these signals, too.

Only regions in the same split of both datasets are used. They have the same splits if they come
from one configuration with annotations; or name the contigs under [organisms.NAME.split].

columns: introns are those annotated in the training regions, shortest and longest the bases in the
table of their lengths (longer ones are geometric), coding the coding bases that the content is
from, sites the true sites fitted on; see the page Method."""


def _show(_: Pair, model: PairedModel) -> str:
    """Format the layer of every organism."""
    lines = [
        "organism\tintrons\tshortest\tlongest\tcoding\tsites\tscale\tshift\tcoding_shift\tswitch"
        "\tcoding_scale\texon_shift"
    ]
    lines += [
        f"{name}\t{layer.n_introns}\t{layer.shortest}\t{layer.longest}\t{layer.n_coding}"
        f"\t{layer.n_sites}\t{layer.scale:.3f}\t{layer.shift:.3f}\t{layer.coding_shift:.3f}"
        f"\t{layer.switch:.3f}\t{layer.coding_scale:.3f}\t{layer.exon_shift:.3f}"
        for name, layer in model.layer.items()
    ]
    return "\n".join(lines) + "\n"


COMMAND = Command(
    Pair,
    "combine donor and acceptor models, so that each site is scored with its partner",
    _TEXT,
    _show,
)
