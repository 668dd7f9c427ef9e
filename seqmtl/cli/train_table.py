"""``seqmtl train-table``: train one model for all tasks on a table of numbers or sequences."""

from __future__ import annotations

import argparse
from typing import Any

from seqmtl.cli import _methods, _options, _similarity
from seqmtl.cli._output import check_outputs

_EXAMPLES = """\
  seqmtl train-table expression.csv --method pareto --kernel linear --kernel rbf:0.1 -C 10 -o m
  seqmtl train-table expression.csv --method pareto --p 0.1,0.5,1,2,10 --plot front.png -o m
  seqmtl train-table land.csv --method kernel-svc --graph neighbours.tsv --tune 0.1,1,10 -o m
  seqmtl train-table peptides.csv --method kernel-mkl --sequence peptide --task-column allele \\
         --kernel spectrum:2:protein --kernel gapped:5:3:protein -o m
  seqmtl train-table windows.tsv.gz --method kernel-svc --kernel wd:8 --tree tree.nwk -o m

FASTA files, and TSV files with columns organism and sequence, hold DNA windows. All other files,
and any file given with --label-column, --task-column or --sequence, are tables of examples: .csv or
.tsv. Columns other than label, task, name (or id) and split are features and must be numeric. With
--sequence COLUMN, the examples are the sequences in that column: DNA, or proteins with a kernel
such as spectrum:3:protein. Tables without tasks may have more than two classes, which are trained
one-vs-one by pareto and the other methods with one SVM per task."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "train-table", run,
        "train on a table of numbers or sequences, or on windows with kernels", _EXAMPLES,
        usage="seqmtl train-table DATA --method METHOD -o MODEL [options]",
    )  # fmt: skip
    windows = _options.add_window_input(parser, "training windows", tables="or a table (below)")
    _options.add_training_rows(windows)
    parser.add_argument(
        "--method", required=True, choices=_methods.METHODS,
        help="kernel-svc: one base kernel times the task kernel; kernel-mkl: weighted products of "
        "several base and task kernels; pareto, sparse-mkl, partial-mkl, individual-mkl: one SVM "
        "per task, with kernel weights shared along the Pareto front, sparse and similar, partly "
        "shared, or separate; minimax: linear, for the worst task; one-class: linear novelty "
        "detection on numbers or on k-mers of windows (of two classes, it learns the second)",
    )  # fmt: skip
    _add_table_options(parser.add_argument_group("tables"))
    relations = _similarity.add_source_options(parser)
    relations.add_argument(
        "--similarity", metavar="KIND|TSV",
        help="individual, union or easy; with a source, another kind (see seqmtl similarity "
        "--help); or a table of similarities (default: tree if there is one)",
    )  # fmt: skip
    _similarity.add_mkl(relations)
    _add_model_options(parser.add_argument_group("model"))
    _options.add_run_options(parser)
    parser.add_argument(
        "--plot", metavar="FILE",
        help="pareto with several --p: draw the path over them; .png, .svg or .pdf",
    )  # fmt: skip
    parser.set_defaults(default_of=parser.get_default)


def _add_table_options(group: Any) -> None:
    group.add_argument(
        "--label-column", metavar="NAME",
        help="label column; of two classes, the last in sort order is positive (default: label)",
    )  # fmt: skip
    group.add_argument("--task-column", metavar="NAME", help="task column (default: task)")
    group.add_argument("--sequence", metavar="NAME", help="sequence column to learn from")
    group.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction,
        help="scale numeric columns to mean 0 and variance 1 over the training rows; the model "
        "stores the scaling (default: yes)",
    )  # fmt: skip


def _add_model_options(group: Any) -> None:
    group.add_argument(
        "--kernel", action="append", type=_kernel, metavar="SPEC",
        help="base kernel: linear, poly:2, rbf, rbf:0.5; for sequences wd:8, wd:8:2, spectrum:4, "
        "mismatch:5:1, gapped:8:5; may be repeated, except with kernel-svc (default for numbers: "
        "rbf with kernel-svc, else linear, poly and rbf)",
    )  # fmt: skip
    group.add_argument(
        "--p", type=_trade_offs, metavar="P,...",
        help="pareto: trade-off; below 1 favours easy tasks, above 1 (up to inf) hard ones "
        "(default: 0.5); sparse-mkl: norm over kernels, at most 1 (default: 1). Of several "
        "values, cross-validation picks the best, as with --tune",
    )  # fmt: skip
    group.add_argument(
        "--norm", type=_options.norm, metavar="P",
        help="p of the p-norm on the kernel weights: 1 sparse, inf uniform (default: 2; pareto and "
        "individual-mkl: 1.1); with minimax, on the losses (default: inf)",
    )  # fmt: skip
    group.add_argument(
        "--share", type=float, metavar="S",
        help="partial-mkl: shared fraction of the kernel weights, 0 to 1 (default: 0.5); minimax: "
        "shared fraction of the task weights (default: shared low-dimensional subspace instead)",
    )  # fmt: skip
    group.add_argument(
        "--q", type=float, metavar="Q", help="sparse-mkl: norm over tasks, 1 to 2 (default: 2)"
    )
    group.add_argument(
        "--contamination", type=float, default=0.1, metavar="SHARE",
        help="one-class: fraction of each task's examples to call novelties (default: 0.1)",
    )  # fmt: skip
    _options.add_features(group)
    group.add_argument("-C", type=_options.positive_float, help="cost (default: 1; minimax: 100)")
    group.add_argument(
        "--tune", type=_options.positive_floats, metavar="C,...",
        help="choose one cost for all tasks by 3-fold cross-validation, by the mean AUROC over "
        "tasks, or accuracy with more than two classes (replaces -C)",
    )  # fmt: skip
    group.add_argument("--balanced", action="store_true", help="give both classes equal weight")
    group.add_argument(
        "--tol", type=_options.positive_float, default=1e-3,
        help="stop at this relative duality gap (default: 1e-3)",
    )  # fmt: skip
    group.add_argument(
        "--max-epochs", type=_options.positive_int, metavar="N",
        help="maximum number of iterations (default: 1000; minimax: 10000)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._kernel_train import train_kernels
    from seqmtl.verbs._windows import organisms_named

    _methods.check_usage(args)
    method = _methods.METHODS[args.method]
    args.C, args.max_epochs = args.C or method.C, args.max_epochs or method.max_epochs
    check_outputs(args.output, args.json, args.plot)
    if args.plot:
        _options.check_figure(args.plot)
    request = _similarity.training_request(args)
    _similarity.check_tree(request, organisms_named(args))
    return train_kernels(args, request)


def _kernel(text: str) -> Any:
    from seqmtl.kernels import make_kernel

    try:
        return make_kernel(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _trade_offs(text: str) -> tuple[float, ...]:
    """Parse comma-separated numbers above 0, or inf; return them sorted, without duplicates."""
    return tuple(
        sorted(
            {float("inf") if p == "inf" else _options.positive_float(p) for p in text.split(",")}
        )
    )
