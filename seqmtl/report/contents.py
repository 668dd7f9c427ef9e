"""What the report shows, as plain values: whoever ran the demo fills these in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from seqmtl.similarity import TaskKernel, Tree


@dataclass(frozen=True)
class OrganismData:
    """One organism's data.

    Attributes
    ----------
    name : str
        Name of the organism, as in the tree.
    genome_bases : int
        Length of its genome in bases.
    n_train, n_train_positive : int
        Training windows, and how many of them are true sites.
    n_test : int
        Test windows.
    """

    name: str
    genome_bases: int
    n_train: int
    n_train_positive: int
    n_test: int


@dataclass(frozen=True)
class Convergence:
    """How the relative duality gap of one training run fell.

    Attributes
    ----------
    label : str
        Name of the run.
    work : array-like of float, shape (k,)
        Coordinate steps so far, in passes over all training windows.
    relative_gap : array-like of float, shape (k,)
        Duality gap divided by the primal objective at these points.
    """

    label: str
    work: ArrayLike
    relative_gap: ArrayLike


@dataclass(frozen=True)
class ThresholdRow:
    """What a scan finds at one threshold.

    Attributes
    ----------
    threshold : float
        Scores from here on are called sites.
    n_called, n_correct : int
        Positions called, and how many of them are true sites.
    n_sites : int
        True sites on the chromosome.
    """

    threshold: float
    n_called: int
    n_correct: int
    n_sites: int

    @property
    def recall(self) -> float | None:
        """Share of the true sites that are called, None without true sites."""
        return self.n_correct / self.n_sites if self.n_sites else None

    @property
    def precision(self) -> float | None:
        """Share of the calls that are true sites, None without calls."""
        return self.n_correct / self.n_called if self.n_called else None


@dataclass(frozen=True)
class GenomeScan:
    """Scores along one held-out chromosome.

    Attributes
    ----------
    organism, contig : str
        What was scanned.
    length_bp : int
        Length of the contig in bases.
    positions : array-like of int, shape (n,)
        0-based positions of scored candidates (all, or those above a low score).
    strands : array-like of int, shape (n,)
        +1 or -1.
    scores : array-like of float, shape (n,)
        Score of each candidate.
    site_positions, site_strands : array-like of int, shape (n_sites,)
        True sites, in the same coordinates.
    threshold : float
        Threshold drawn in the figure; should be one of `rows`.
    rows : sequence of ThresholdRow
        Recall and precision by threshold.
    n_scored : int
        Positions scored on both strands, also those not listed in `positions`.
    seconds : float
        Wall time of the scan.

    Raises
    ------
    ValueError
        If the arrays of the candidates or of the sites differ in length.
    """

    organism: str
    contig: str
    length_bp: int
    positions: ArrayLike
    strands: ArrayLike
    scores: ArrayLike
    site_positions: ArrayLike
    site_strands: ArrayLike
    threshold: float
    rows: Sequence[ThresholdRow]
    n_scored: int
    seconds: float

    def __post_init__(self) -> None:
        """Check that parallel arrays are parallel."""
        for names in (("positions", "strands", "scores"), ("site_positions", "site_strands")):
            sizes = [np.size(getattr(self, name)) for name in names]
            if len(set(sizes)) > 1:
                raise ValueError(
                    f"{', '.join(names)} must have one length, got {sizes}; pass parallel arrays"
                )


@dataclass(frozen=True)
class DemoReport:
    """All that the page of `seqmtl demo` shows; a part that is empty or None is left out.

    Attributes
    ----------
    title : str
        Heading of the page.
    command : str
        Command line that made the run.
    seed : int
        Its seed.
    organisms : sequence of OrganismData
        Rows of the data table.
    methods : mapping of str to dict
        Results of `seqmtl.evaluation.evaluate` by method, in the order of the columns, for
        example "individual", "union", "multi-task".
    main_method : str
        The method that the page is about, a key of `methods`; its test scores are drawn.
    test_labels, test_scores, test_tasks : array-like, shape (n,), optional
        Labels, scores of `main_method` and organism names of the test windows.
    similarity : TaskKernel, optional
        Task kernel.
    tree : Tree, optional
        Tree that it comes from, with all organisms among its leaves.
    convergence : sequence of Convergence
        One curve per training run.
    tolerance : float, optional
        Relative duality gap at which training stops.
    scan : GenomeScan, optional
        Scan of a held-out chromosome.
    settings : mapping of str to value
        Settings worth knowing, such as window, degree and C.
    timings : mapping of str to float
        Seconds of wall time by step.
    versions : mapping of str to str
        Versions of the package and of what it rests on.
    summary : str, optional
        First paragraph; written from the results where it is None.

    Raises
    ------
    ValueError
        If `main_method` is not among `methods`, or only some of the test arrays are given.
    """

    title: str
    command: str
    seed: int
    organisms: Sequence[OrganismData]
    methods: Mapping[str, Mapping[str, Any]]
    main_method: str
    test_labels: ArrayLike | None = None
    test_scores: ArrayLike | None = None
    test_tasks: ArrayLike | None = None
    similarity: TaskKernel | None = None
    tree: Tree | None = None
    convergence: Sequence[Convergence] = ()
    tolerance: float | None = None
    scan: GenomeScan | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    summary: str | None = None

    def __post_init__(self) -> None:
        """Check that the method the page is about has results, and the test windows all parts."""
        parts = (self.test_labels, self.test_scores, self.test_tasks)
        if len({part is None for part in parts}) > 1:
            raise ValueError(
                "test_labels, test_scores and test_tasks must be given together, got only some; "
                "pass all three or none"
            )
        if self.main_method not in self.methods:
            raise ValueError(
                f"main_method must be one of {list(self.methods)}, got {self.main_method!r}; "
                "pass the results of that method too"
            )
