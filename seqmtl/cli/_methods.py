"""The learners in kernel space that ``train --method`` offers, and which options each takes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from seqmtl.cli import _options, _similarity

RULE = """\
FASTA, and tables between tabs with the columns organism and sequence, hold windows of DNA. With
--method all other files, and any file with --label-column, --task-column or --sequence, are tables
of examples: .csv, .tsv, .parquet, or .npz with the arrays X, y and task. Columns other than label,
task, name (or id) and split are features, numbers all. With --sequence COLUMN the examples are the
sequences of that column, DNA or, with a kernel such as spectrum:3:protein, proteins. More than two
classes are learnt one against one where the table has no tasks."""


@dataclass(frozen=True)
class Method:
    """One learner.

    Attributes
    ----------
    estimator : str
        Its class in :mod:`seqmtl.estimators`.
    options : frozenset of str
        Arguments that it takes and some other method does not.
    kernels : str, optional
        Its parameter for base kernels; without, it is linear.
    C : float
        Cost where none is given.
    max_epochs : int
        Iterations at most where no limit is given.
    """

    estimator: str
    options: frozenset[str]
    kernels: str | None = "kernels"
    C: float = 1.0
    max_epochs: int = 1000


_SOURCES = frozenset(
    {"similarity", "tree", "taxonomy", "alignment", "distances", "graph", "groups", "scales"}
)

_KERNELS = frozenset({"kernel", "sequence"})
_MKL = _KERNELS | {"max_epochs"}

METHODS = {
    "kernel-svc": Method("MultiTaskKernelSVC", _KERNELS | _SOURCES, "kernel"),
    "kernel-mkl": Method("KernelMKLClassifier", _MKL | _SOURCES | {"mkl", "norm"}),
    "pareto": Method("ParetoMKLClassifier", _MKL | {"p", "norm", "plot"}),
    "independent-mkl": Method("IndependentMKLClassifier", _MKL | {"norm"}),
    "partial-mkl": Method("PartiallySharedMKLClassifier", _MKL | {"share"}),
    "sparse-mkl": Method("SparseMKLClassifier", _MKL | {"p", "q"}),
    "minimax": Method(
        "MinimaxClassifier", frozenset({"norm", "share", "max_epochs"}), None, 100.0, 10_000
    ),
}

_OF_SOME = sorted(frozenset().union(*(method.options for method in METHODS.values())))
_OF_ALL = ("standardize", "label_column", "task_column", "tune")
_TABLES = (".csv", ".parquet", ".npz")
_WITHOUT = ("features", "selection", "loss", "dtype", "resume")
_ALSO_WITHOUT = _SOURCES | {"mkl", "norm", "max_epochs"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --method and the options that go with it."""
    group = parser.add_argument_group(
        "kernels (with --method)",
        "Learn with kernels of the examples, which may be numbers, windows or sequences.",
    )
    group.add_argument(
        "--method", choices=METHODS,
        help="kernel-svc: one kernel times the similarity of the tasks; kernel-mkl: weigh several "
        "kernels times similarities; pareto, sparse-mkl, partial-mkl, independent-mkl: a machine "
        "per task, and kernel weights in common along the Pareto front, few and alike, partly in "
        "common, or per task; minimax: linear, for the worst task",
    )  # fmt: skip
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
        "--share", type=float, metavar="S",
        help="of partial-mkl: part of the kernel weights in common, 0 to 1 (default: 0.5); of "
        "minimax: part that the weights of the tasks have in common (default: they lie in a common "
        "space of few dimensions instead)",
    )  # fmt: skip
    group.add_argument(
        "--q", type=float, metavar="Q", help="of sparse-mkl: norm over tasks, 1 to 2 (default: 2)"
    )
    group.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction,
        help="scale every column of numbers to mean 0 and variance 1 over the training rows; the "
        "model keeps the scales (default: yes)",
    )  # fmt: skip
    group.add_argument(
        "--plot", metavar="FILE",
        help="of pareto with several --p: draw the path through them; .png, .svg or .pdf",
    )  # fmt: skip
    for name, what in (
        ("label", "labels, of two the last in order is positive"),
        ("task", "tasks"),
    ):
        group.add_argument(
            f"--{name}-column", metavar="NAME", help=f"column of {what} (default: {name})"
        )
    group.add_argument("--sequence", metavar="NAME", help="column of sequences to learn from")
    parser.set_defaults(default_of=parser.get_default)


def fill_in(args: argparse.Namespace) -> None:
    """Set the defaults that depend on the method; without one, C may be chosen."""
    method = METHODS.get(args.method, METHODS["kernel-mkl"])
    args.C = args.C or (method.C if args.method else None)
    args.max_epochs = args.max_epochs or method.max_epochs


def check_usage(args: argparse.Namespace) -> None:
    """Refuse options that do not go with the method, before anything is read.

    Raises
    ------
    SystemExit
        As for any wrong usage.
    """
    given = {name for name in vars(args) if getattr(args, name) != args.default_of(name)}
    if args.method is None:
        for name in (*_OF_ALL, *_OF_SOME):
            if name in given and name not in _ALSO_WITHOUT:
                _similarity.refuse(args, f"{_flag(name)} needs --method {' or '.join(_of(name))}")
        return
    method = METHODS[args.method]
    for name in _WITHOUT:
        if name in given:
            _similarity.refuse(args, f"{_flag(name)} must be left out with --method")
    for name in _OF_SOME:
        if name in given and name not in method.options:
            takers = ", ".join(_of(name))
            _similarity.refuse(
                args, f"{_flag(name)} is of {takers}; {args.method} has no use of it"
            )
    _check_values(args)


def refuse_tables(args: argparse.Namespace) -> None:
    """Refuse tables that no learner of windows reads.

    Raises
    ------
    SystemExit
        As for any wrong usage.
    """
    from seqmtl.io import is_dataset, is_table_of_windows

    if not str(args.data).lower().removesuffix(".gz").endswith(_TABLES) or args.organism:
        return
    if not is_table_of_windows(args.data) and not is_dataset(args.data):
        _similarity.refuse(
            args,
            f"{args.data} is a table of examples by its name; say how to learn from it with "
            f"--method {{{','.join(METHODS)}}}",
        )


def _check_values(args: argparse.Namespace) -> None:
    """Refuse options of the method that do not go together."""
    if METHODS[args.method].kernels == "kernel" and len(args.kernel or ()) > 1:
        _similarity.refuse(args, f"{args.method} takes one --kernel; kernel-mkl weighs several")
    if args.plot and len(args.p or ()) < 2:
        _similarity.refuse(args, "--plot draws the path through several --p; name them")
    if args.sequence and args.standardize:
        _similarity.refuse(args, "--standardize is of numbers; sequences have none")
    if args.sequence and not args.kernel:
        _similarity.refuse(args, "--sequence needs a --kernel of sequences, such as spectrum:4")


def _of(name: str) -> list[str]:
    """Return the methods that take an argument."""
    return [key for key, method in METHODS.items() if name in method.options or name in _OF_ALL]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
