"""``seqmtl pair``: pair a model of donors with one of acceptors, so that sites see each other."""

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

An acceptor without a donor at the distance of an intron is no acceptor, and most introns are
between stretches of coding sequence that are in frame. The new model holds both models and a layer
above them: every parse of a contig into coding sequence and introns is weighed by the log-odds of
its sites, by the lengths of its introns, and by its codons, from a start codon to a stop codon; the
probability of a site is the share of the parses with it. Lengths and coding content are learnt from
the training regions; eight numbers per organism are fitted on the validation regions, which neither
model has seen. Models of starts and stops (trained and calibrated like the others, on datasets of
annotations with CDS) tell which codons, and find more; those of tss and polya tell where
transcripts begin and end. scan then reports these signals, too.

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
    "pair a model of donors with one of acceptors: sites that see their partners",
    _TEXT,
    _show,
)
