"""The methods of ``train-table --method``, and the options each accepts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from seqmtl.cli import _similarity


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    estimator : str
        Class in :mod:`seqmtl.estimators`.
    options : frozenset of str
        Arguments it accepts that some other method does not.
    kernels : str, optional
        Estimator parameter that takes the base kernels; None for linear methods.
    C : float
        Default cost.
    max_epochs : int
        Default iteration limit.
    needs_labels : bool
        Whether it is a classifier; False for one-class learning.
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
    "individual-mkl": Method("IndividualMKLClassifier", _MKL | {"norm"}),
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

#: Options that only some methods accept.
_OF_SOME = sorted(frozenset().union(*(method.options for method in METHODS.values())))
#: Flags that ``seqmtl train`` does not have.
OPTIONS = (
    "--method", "--kernel", "--p", "--share", "--q", "--standardize", "--no-standardize", "--tune",
    "--plot", "--label-column", "--task-column", "--sequence",
)  # fmt: skip
_TABLES = (".csv",)


def check_usage(args: argparse.Namespace) -> None:
    """Refuse options that the method does not accept, before reading any file.

    Raises
    ------
    SystemExit
        With the exit code of a usage error.
    """
    method = METHODS[args.method]
    for name in _OF_SOME:
        if getattr(args, name) != args.default_of(name) and name not in method.options:
            takers = ", ".join(key for key, other in METHODS.items() if name in other.options)
            flag = f"--{name.replace('_', '-')}"
            _similarity.refuse(
                args, f"{flag} is an option of {takers}; {args.method} does not take it"
            )
    if method.kernels == "kernel" and len(args.kernel or ()) > 1:
        _similarity.refuse(args, f"{args.method} takes one --kernel; use kernel-mkl for several")
    if args.standardize and not method.needs_labels:
        _similarity.refuse(args, "one-class separates raw numbers from zero; drop --standardize")
    if args.plot and len(args.p or ()) < 2:
        _similarity.refuse(args, "--plot draws the path over several values of --p; give them")
    if args.sequence and args.standardize:
        _similarity.refuse(args, "--standardize applies to numbers, not to sequences")
    if args.sequence and not args.kernel:
        _similarity.refuse(args, "--sequence needs a string --kernel, such as spectrum:4")


def refuse_tables(args: argparse.Namespace) -> None:
    """Refuse tables of examples, which ``seqmtl train`` cannot read.

    Raises
    ------
    SystemExit
        With the exit code of a usage error.
    """
    from seqmtl.io import is_dataset, is_table_of_windows

    if not str(args.data).lower().removesuffix(".gz").endswith(_TABLES) or args.organism:
        return
    if not is_table_of_windows(args.data) and not is_dataset(args.data):
        _similarity.refuse(
            args,
            f"{args.data} looks like a table of examples; train on it with "
            f"seqmtl train-table {args.data} --method {{{','.join(METHODS)}}}",
        )
