"""The learners that ``train-table --method`` offers, and which options each takes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from seqmtl.cli import _similarity


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
    needs_labels : bool
        Whether it tells classes apart; else it learns one, as it is.
    """

    estimator: str
    options: frozenset[str]
    kernels: str | None = "kernels"
    C: float = 1.0
    max_epochs: int = 1000
    needs_labels: bool = True


_SOURCES = frozenset(
    {"similarity", "tree", "taxonomy", "alignment", "distances", "graph", "groups", "scales"}
)

_KERNELS = frozenset({"kernel", "sequence", "tune", "balanced"})
_MKL = _KERNELS | {"max_epochs"}

METHODS = {
    "kernel-svc": Method("MultiTaskKernelSVC", _KERNELS | _SOURCES, "kernel"),
    "kernel-mkl": Method("KernelMKLClassifier", _MKL | _SOURCES | {"mkl", "norm"}),
    "pareto": Method("ParetoMKLClassifier", _MKL | {"p", "norm", "plot"}),
    "independent-mkl": Method("IndependentMKLClassifier", _MKL | {"norm"}),
    "partial-mkl": Method("PartiallySharedMKLClassifier", _MKL | {"share"}),
    "sparse-mkl": Method("SparseMKLClassifier", _MKL | {"p", "q"}),
    "minimax": Method(
        "MinimaxClassifier",
        frozenset({"norm", "share", "max_epochs", "tune", "balanced"}),
        None,
        100.0,
        10_000,
    ),
    "one-class": Method(
        "MultiTaskOneClassSVM",
        _SOURCES | {"max_epochs", "contamination", "features"},
        None,
        needs_labels=False,
    ),
}

#: Options that some methods take and others do not.
_OF_SOME = sorted(frozenset().union(*(method.options for method in METHODS.values())))
#: Flags that training on windows does not have.
OPTIONS = (
    "--method", "--kernel", "--p", "--share", "--q", "--standardize", "--no-standardize", "--tune",
    "--plot", "--label-column", "--task-column", "--sequence",
)  # fmt: skip
_TABLES = (".csv", ".parquet", ".npz")


def check_usage(args: argparse.Namespace) -> None:
    """Refuse options that do not go with the method, before anything is read.

    Raises
    ------
    SystemExit
        As for any wrong usage.
    """
    method = METHODS[args.method]
    for name in _OF_SOME:
        if getattr(args, name) != args.default_of(name) and name not in method.options:
            takers = ", ".join(key for key, other in METHODS.items() if name in other.options)
            flag = f"--{name.replace('_', '-')}"
            _similarity.refuse(args, f"{flag} is of {takers}; {args.method} has no use of it")
    if method.kernels == "kernel" and len(args.kernel or ()) > 1:
        _similarity.refuse(args, f"{args.method} takes one --kernel; kernel-mkl weighs several")
    if args.standardize and not method.needs_labels:
        _similarity.refuse(args, "one-class takes numbers as they are, on one side of zero")
    if args.plot and len(args.p or ()) < 2:
        _similarity.refuse(args, "--plot draws the path through several --p; name them")
    if args.sequence and args.standardize:
        _similarity.refuse(args, "--standardize is of numbers; sequences have none")
    if args.sequence and not args.kernel:
        _similarity.refuse(args, "--sequence needs a --kernel of sequences, such as spectrum:4")


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
            f"{args.data} is a table of examples by its name; say how to learn from it: "
            f"seqmtl train-table {args.data} --method {{{','.join(METHODS)}}}",
        )
