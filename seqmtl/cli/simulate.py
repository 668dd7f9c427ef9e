"""``seqmtl simulate``: related genomes with known sites."""

from __future__ import annotations

import argparse
import logging

from seqmtl.cli import _options

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl simulate -o simulated --seed 1
  seqmtl simulate --tree tree.nwk -o simulated --signal donor --windows 500"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "simulate", run,
        "simulate genomes related by a tree, with sites whose motifs drift",
        _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--tree", metavar="NEWICK", help="tree (default: six made-up organisms)")
    parser.add_argument(
        "--seed",
        type=_options.seed,
        default=0,
        help="random seed; same seed, same bytes (default: 0)",
    )
    parser.add_argument(
        "--signal", choices=("acceptor", "donor", "tss"), default="acceptor",
        help="signal whose sites the windows are centred on (default: acceptor)",
    )  # fmt: skip
    parser.add_argument(
        "--windows", type=_options.positive_int, default=1000, metavar="N",
        help="training windows per organism (default: 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--window", type=_options.positive_int, default=200, metavar="BP",
        help="bases per window (default: 200)",
    )  # fmt: skip
    parser.add_argument(
        "--chromosomes", type=_options.positive_int, default=3, metavar="N",
        help="chromosomes per organism; the last is the test set (default: 3)",
    )  # fmt: skip
    parser.add_argument(
        "--chromosome-length", type=_options.positive_int, default=200_000, metavar="BP",
        help="bases per chromosome (default: 200000)",
    )  # fmt: skip
    parser.add_argument(
        "--no-windows", action="store_true", help="write only genomes, sites and annotation"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.simulate import simulate, write_simulation

    simulation = simulate(
        args.tree,
        seed=args.seed,
        n_chromosomes=args.chromosomes,
        chromosome_length=args.chromosome_length,
        n_windows=args.windows,
        window=args.window,
        signal=args.signal,
    )
    write_simulation(simulation, args.output, windows=not args.no_windows)
    logger.info("%s: %d organisms", args.output, len(simulation.genomes))
    return 0
