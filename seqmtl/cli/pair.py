"""``seqmtl pair``: pair a model of donors with one of acceptors, so that sites see each other."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, write_metrics

if TYPE_CHECKING:
    from seqmtl.models.paired import PairedModel

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl dataset genomes.toml --signal donor -o donors
  seqmtl dataset genomes.toml --signal acceptor -o acceptors
  seqmtl train donors -o donor.seqmtl; seqmtl calibrate donor.seqmtl donors -o donor.seqmtl
  seqmtl train acceptors -o acc.seqmtl; seqmtl calibrate acc.seqmtl acceptors -o acc.seqmtl
  seqmtl pair donor.seqmtl acc.seqmtl donors acceptors -o splice.seqmtl
  seqmtl evaluate splice.seqmtl donors acceptors

An acceptor without a donor at the distance of an intron is no acceptor, and most introns are
between stretches of coding sequence that are in frame. The new model holds both models and a layer
above them: every parse of a contig into coding sequence and introns is weighed by the log-odds of
its sites, by the lengths of its introns, and by its codons; the probability of a site is the share
of the parses with it. Lengths and coding content are learnt from the training regions; five numbers
per organism are fitted on the validation regions, which neither model has seen.

Only regions in the same split of both datasets are used. They have the same splits if they come
from one configuration with annotations; or name the contigs under [organisms.NAME.split].

columns: introns are those annotated in the training regions, shortest and longest the bases of
introns considered, coding the coding bases that the content is from, sites the true sites fitted
on; see the page Method."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "pair", run,
        "pair a model of donors with one of acceptors: sites that see their partners", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("donor", metavar="DONOR", help="model file of donors")
    parser.add_argument("acceptor", metavar="ACCEPTOR", help="model file of acceptors")
    parser.add_argument("donors", metavar="DONORS", help="dataset of donors")
    parser.add_argument("acceptors", metavar="ACCEPTORS", help="dataset of acceptors")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    parser.add_argument(
        "--split", choices=("valid", "test"), default="valid",
        help="split to fit on; never train, whose sites the models know (default: valid)",
    )  # fmt: skip
    parser.add_argument(
        "--longest-intron", type=_options.positive_int, metavar="BP",
        help="longest intron considered (default: for each organism 1.5 times the length that "
        "99 %% of its introns do not exceed, at most 50000)",
    )  # fmt: skip
    parser.add_argument(
        "--json", metavar="FILE", help="write a summary as JSON; - for standard output"
    )
    _options.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.models.paired import PairedModel
    from seqmtl.pairs import fit_layer

    check_outputs(args.output, args.json)
    donor, acceptor = MultiTaskModel.load(args.donor), MultiTaskModel.load(args.acceptor)
    layer = fit_layer(
        donor, acceptor, args.donors, args.acceptors, split=args.split,
        longest=args.longest_intron,
    )  # fmt: skip
    model = PairedModel(donor, acceptor, layer, {"split": args.split, "command": args.command_line})
    model.save(args.output)
    facts = model.layer_facts()
    write_metrics({"schema_version": 1, "tasks": facts}, _table(model), args.json)
    logger.info("%s: %d organisms", args.output, len(facts))
    return 0


def _table(model: PairedModel) -> str:
    """Format the layer of every organism."""
    lines = [
        "organism\tintrons\tshortest\tlongest\tcoding\tsites\tscale\tshift\tcoding_shift\tswitch"
        "\tcoding_scale"
    ]
    lines += [
        f"{name}\t{layer.n_introns}\t{layer.shortest}\t{layer.longest}\t{layer.n_coding}"
        f"\t{layer.n_sites}\t{layer.scale:.3f}\t{layer.shift:.3f}\t{layer.coding_shift:.3f}"
        f"\t{layer.switch:.3f}\t{layer.coding_scale:.3f}"
        for name, layer in model.layer.items()
    ]
    return "\n".join(lines) + "\n"
