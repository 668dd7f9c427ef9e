"""``seqmtl train-table``: from a table of numbers or sequences to one model for all tasks."""

from __future__ import annotations

import argparse
from typing import Any

from seqmtl.cli import _methods, _options, _similarity
from seqmtl.cli._output import check_outputs

_EXAMPLES = """\
  seqmtl train-table expression.csv --method pareto --kernel linear --kernel rbf:0.1 -C 10 -o m
  seqmtl train-table expression.csv --method pareto --p 0.1,0.5,1,2,10 --plot front.png -o m
  seqmtl train-table land.npz --method kernel-svc --graph neighbours.tsv --tune 0.1,1,10 -o m
  seqmtl train-table peptides.csv --method kernel-mkl --sequence peptide --task-column allele \\
         --kernel spectrum:2:protein --kernel gapped:5:3:protein -o m
  seqmtl train-table windows.tsv.gz --method kernel-svc --kernel wd:8 --tree tree.nwk -o m

FASTA, and tables between tabs with the columns organism and sequence, hold windows of DNA. All
other files, and any file with --label-column, --task-column or --sequence, are tables of examples:
.csv, .tsv, .parquet, or .npz with the arrays X, y and task. Columns other than label, task, name
(or id) and split are features, numbers all. With --sequence COLUMN the examples are the sequences
of that column, DNA or, with a kernel such as spectrum:3:protein, proteins. More than two classes
are learnt one against one where the table has no tasks."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "train-table", run,
        "train on a table of numbers or sequences, or with kernels of windows", _EXAMPLES,
    )  # fmt: skip
    windows = _options.add_window_input(parser, "training windows", tables="or a table (below)")
    _options.add_training_rows(windows)
    parser.add_argument(
        "--method", required=True, choices=_methods.METHODS,
        help="kernel-svc: one kernel times the similarity of the tasks; kernel-mkl: weigh several "
        "kernels times similarities; pareto, sparse-mkl, partial-mkl, independent-mkl: a machine "
        "per task, and kernel weights in common along the Pareto front, few and alike, partly in "
        "common, or per task; minimax: linear, for the worst task; one-class: what is unlike the "
        "examples, of two classes those of the second, by numbers or, of windows, k-mers",
    )  # fmt: skip
    _add_table_options(parser.add_argument_group("tables"))
    relations = _similarity.add_source_options(parser)
    relations.add_argument(
        "--similarity", metavar="KIND|TSV",
        help="independent, union, easy, or with a source another kind (see seqmtl similarity "
        "--help), or a table of similarities (default: tree where there is one)",
    )  # fmt: skip
    _similarity.add_mkl(relations)
    _add_model_options(parser.add_argument_group("model"))
    _options.add_run_options(parser)
    parser.add_argument(
        "--plot", metavar="FILE",
        help="of pareto with several --p: draw the path through them; .png, .svg or .pdf",
    )  # fmt: skip
    parser.set_defaults(default_of=parser.get_default)


def _add_table_options(group: Any) -> None:
    group.add_argument(
        "--label-column", metavar="NAME",
        help="column of labels, of two the last in order is positive (default: label)",
    )  # fmt: skip
    group.add_argument("--task-column", metavar="NAME", help="column of tasks (default: task)")
    group.add_argument("--sequence", metavar="NAME", help="column of sequences to learn from")
    group.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction,
        help="scale every column of numbers to mean 0 and variance 1 over the training rows; the "
        "model keeps the scales (default: yes)",
    )  # fmt: skip


def _add_model_options(group: Any) -> None:
    group.add_argument(
        "--kernel", action="append", type=_kernel, metavar="SPEC",
        help="linear, poly:2, rbf, rbf:0.5; of sequences wd:8, wd:8:2, spectrum:4, mismatch:5:1, "
        "gapped:8:5; may be repeated, but for kernel-svc (default for numbers: rbf with "
        "kernel-svc, else linear, poly and rbf)",
    )  # fmt: skip
    group.add_argument(
        "--p", type=_trade_offs, metavar="P,...",
        help="pareto: trade-off, below 1 for the easy tasks, above for the hard ones, or inf "
        "(default: 0.5); sparse-mkl: norm over kernels, at most 1 (default: 1). Of several the "
        "best in cross-validation is taken, as with --tune",
    )  # fmt: skip
    group.add_argument(
        "--norm", type=_options.norm, metavar="P",
        help="of the kernel weights: 1 (few) to inf (all alike) (default: 2; with pareto and "
        "independent-mkl 1.1); with minimax of the losses (default: inf)",
    )  # fmt: skip
    group.add_argument(
        "--share", type=float, metavar="S",
        help="of partial-mkl: part of the kernel weights in common, 0 to 1 (default: 0.5); of "
        "minimax: part that the weights of the tasks have in common (default: they lie in a common "
        "space of few dimensions instead)",
    )  # fmt: skip
    group.add_argument(
        "--q", type=float, metavar="Q", help="of sparse-mkl: norm over tasks, 1 to 2 (default: 2)"
    )
    group.add_argument(
        "--contamination", type=float, default=0.1, metavar="SHARE",
        help="of one-class: share of the examples of each task to call novelties (default: 0.1)",
    )  # fmt: skip
    _options.add_features(group)
    group.add_argument(
        "-C", type=_options.positive_float, help="cost (default: 1; 100 with minimax)"
    )
    group.add_argument(
        "--tune", type=_options.positive_floats, metavar="C,...",
        help="costs to choose from, one for all, in three folds by the mean AUROC of the tasks, or "
        "the accuracy of several classes (replaces -C)",
    )  # fmt: skip
    group.add_argument("--balanced", action="store_true", help="weigh both classes equally")
    group.add_argument(
        "--tol", type=_options.positive_float, default=1e-3,
        help="relative duality gap to stop at (default: 1e-3)",
    )  # fmt: skip
    group.add_argument(
        "--max-epochs", type=_options.positive_int, metavar="N",
        help="iterations at most (default: 1000; with minimax 10000)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._kernel_train import train_kernels

    _methods.check_usage(args)
    method = _methods.METHODS[args.method]
    args.C, args.max_epochs = args.C or method.C, args.max_epochs or method.max_epochs
    check_outputs(args.output, args.json, args.plot)
    if args.plot:
        _options.check_figure(args.plot)
    _similarity.check_usage(_similarity.asked(args))
    return train_kernels(args)


def _kernel(text: str) -> Any:
    from seqmtl.kernels import make_kernel

    try:
        return make_kernel(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _trade_offs(text: str) -> tuple[float, ...]:
    """Read numbers above 0, or inf, between commas, and return them rising."""
    return tuple(
        sorted(
            {float("inf") if p == "inf" else _options.positive_float(p) for p in text.split(",")}
        )
    )
