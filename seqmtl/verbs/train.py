"""Train one multi-task model on labelled windows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl.exceptions import TrainingInterrupted, UsageError
from seqmtl.files.outputs import check_outputs, write_json
from seqmtl.request import option, verb
from seqmtl.verbs import _options, _relations
from seqmtl.verbs._train_stored import OnDisk, on_disk

if TYPE_CHECKING:
    from seqmtl.models.examples import Examples
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.models.selection import Space
    from seqmtl.models.site import Site
    from seqmtl.models.training import Settings
    from seqmtl.similarity.build import KernelRequest

logger = logging.getLogger("seqmtl")


def _of_model(what: str, *flags: str, **more: Any) -> Any:
    return option(*flags, group="model", help=what, **more)


@dataclass(frozen=True, kw_only=True)
class Train(OnDisk, _relations.TrainingRelations):
    """Train one model for all organisms on windows."""

    data: str | None = _options.window_data("training windows")
    norm: float | None = option(
        kind=_kinds.norm,
        metavar="P",
        group=_relations.GROUP,
        help="p of the p-norm on --mkl weights: 1 sparse, inf uniform (default: 2)",
    )
    selection: str | None = _of_model(
        "auto: tune cost, trust and bin weights (default); none: train as given",
        choices=("auto", "none"),
    )
    features: str | None = _options.features_option("model")
    C: float | None = _of_model(
        "cost (default: tuned per organism; 1 without tuning)", "-C", kind=_kinds.positive_float
    )
    loss: str = _of_model(
        "hinge, squared_hinge or logistic (default: hinge)",
        choices=("hinge", "squared_hinge", "logistic"),
        default="hinge",
        metavar="LOSS",
    )
    balanced: bool = _of_model("give both classes equal weight", default=False)
    tol: float = _of_model(
        "stop at this relative duality gap (default: 1e-3)",
        kind=_kinds.positive_float,
        default=1e-3,
    )
    max_epochs: int = _of_model(
        "maximum number of epochs (default: 1000)",
        kind=_kinds.positive_int,
        default=1000,
        metavar="N",
    )
    dtype: str = _of_model(
        "weight type (default: float32; use float64 for gaps below 1e-6)",
        choices=("float32", "float64"),
        default="float32",
        metavar="TYPE",
    )

    @property
    def is_tuned(self) -> bool:
        """Whether hyperparameters are chosen by cross-validation."""
        return self.selection != "none" and not self.mkl

    @property
    def is_on_disk(self) -> bool:
        """Whether the windows stay on disk."""
        return bool(self.memory or self.dask)

    def check(self) -> None:
        """Refuse options that conflict with tuning, or with windows on disk."""
        if self.is_on_disk and (self.mkl or self.genome or self.loss == "logistic"):
            odd = "--mkl" if self.mkl else "--genome" if self.genome else "--loss logistic"
            raise UsageError(f"{odd} needs all windows in memory; leave out --memory and --dask")
        if self.norm is not None and not self.mkl:
            raise UsageError("--norm applies to the --mkl weights; give --mkl too")
        if self.mkl and self.selection == "auto":
            raise UsageError(
                "--mkl learns the weights of several similarities at a fixed -C, but --selection "
                "auto tunes the trust in one; give only one of these options"
            )
        super().check()

    def run(self) -> MultiTaskModel:
        """Train, and write the model.

        Returns
        -------
        MultiTaskModel
            The model; ``training["converged"]`` tells whether it reached the tolerance.
        """
        from seqmtl.verbs._windows import organisms_named

        check_outputs(self.output, self.json)
        relation = self.training_relation()
        self._refuse_tables()
        _relations.check_tree(relation, organisms_named(self))
        started = time.perf_counter()
        model, site, remove = _trained(self, relation)
        self._describe(model, site, time.perf_counter() - started)
        model.save(self.output)
        remove()
        write_json(self.json, {"schema_version": 1, **model.training})
        self._tell(model)
        return model

    def _refuse_tables(self) -> None:
        """Refuse tables of examples, which are for train-table."""
        from seqmtl.io import is_dataset, is_table_of_windows
        from seqmtl.verbs.train_table import METHODS

        data = self.data or ""
        if not data.lower().removesuffix(".gz").endswith(".csv") or self.organism:
            return
        if not is_table_of_windows(data) and not is_dataset(data):
            raise UsageError(
                f"{data} looks like a table of examples; train on it with seqmtl train-table "
                f"{data} --method {{{','.join(METHODS)}}}"
            )

    def _describe(self, model: MultiTaskModel, site: Site | None, seconds: float) -> None:
        """Note in the model what it was trained on."""
        model.shift = self.shift
        if site is not None:
            model.site = site
            model.training["dataset"] = {"path": self.data, "signal": site.signal}
        model.training["command"] = self.command
        model.training["sources"] = self.sources
        if self.split != "train":
            model.training["split"] = self.split
        model.training["seconds"] = round(seconds, 3)

    def _tell(self, model: MultiTaskModel) -> None:
        summary = model.training
        logger.info(
            "%s: %d organisms, %d windows, relative duality gap %.1e after %d epochs, %.1f s",
            self.output, len(model.tasks), sum(task["n"] for task in summary["tasks"].values()),
            summary["duality_gap"], summary["n_epochs"], summary["seconds"],
        )  # fmt: skip
        if not summary["converged"]:
            logger.warning(
                "not converged to the tolerance %g; raise --max-epochs or --tol", self.tol
            )


@contextmanager
def _in_memory(request: Train) -> Iterator[tuple[Examples, None, None]]:
    """Read the windows."""
    from seqmtl.models.examples import Examples
    from seqmtl.verbs._windows import read_for_training

    windows = read_for_training(request, split=request.split)
    yield Examples.of(windows.with_tasks(windows.tasks)), None, None


def _trained(
    request: Train, relation: KernelRequest | None
) -> tuple[MultiTaskModel, Site | None, Callable[[], None]]:
    """Train, keeping from time to time what it takes to go on; the caller removes that.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the message says how to resume.
    """
    from seqmtl._progress import SelectionProgress, TrainingProgress
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.fit import train
    from seqmtl.models.site import site_in_dataset

    place: Callable[..., Any] = on_disk if request.is_on_disk else _in_memory
    show, show_choice = TrainingProgress(request.tol), SelectionProgress()
    with place(request) as (examples, disk, kept):
        names, windows = examples.names, examples.data
        kernel, features = request.task_kernel(relation, names), _features(request)
        settings, space = _settings(request), _space(request, kernel, names)
        site = site_in_dataset(request.data, windows.shape[1], request.shift)
        if kept is None:
            choices = None if space is None else space.to_dict()
            path = f"{request.output}.checkpoint"
            kept = Checkpoint(path, windows, features, kernel, settings, choices)

        def on_epoch(state: Any, progress: Any) -> None:
            if disk or state.is_resumable:
                kept.save(state)
            show(progress)

        def on_score(*progress: Any) -> None:
            kept.save_scores()
            show_choice(*progress)

        try:
            model, _ = train(
                examples, space, features=features, task_kernel=kernel, settings=settings,
                site=site, disk=disk, state=kept.load() if request.resume else None,
                known=kept.scores, on_score=on_score, on_epoch=on_epoch,
            )  # fmt: skip
        except KeyboardInterrupt as error:
            if not kept.is_written:
                raise
            raise TrainingInterrupted(
                f"interrupted; the progress is in {kept.path}: repeat the command with --resume to "
                "continue",
                kept.path,
            ) from error
        finally:
            show.close()
    return model, site, kept.remove


def _features(request: Train) -> Any:
    from seqmtl.features.positional_kmers import PositionalKmers

    return PositionalKmers() if request.features is None else PositionalKmers(request.features)


def _settings(request: Train) -> Settings:
    from seqmtl.models.training import Settings

    return Settings(
        C=request.C or 1.0,
        loss=request.loss,
        class_weight="balanced" if request.balanced else None,
        tol=request.tol,
        max_epochs=request.max_epochs,
        dtype=request.dtype,
        seed=request.seed,
        norm=(request.norm or 2.0) if request.mkl else None,
    )


def _space(request: Train, kernel: Any, names: tuple[str, ...]) -> Space | None:
    """Return the hyperparameters to tune, if any; those set by the user stay fixed."""
    from seqmtl.models.kernels import resolve_kernel
    from seqmtl.models.selection import COSTS, Space

    if not request.is_tuned:
        return None
    costs = COSTS if request.C is None else (request.C,)
    relation = None if kernel is None else resolve_kernel(kernel, names)
    if request.similarity in _relations.PLAIN and relation is not None:
        return Space.of_cost(relation, costs)
    return Space.of_sharing(names, relation, costs)


train = verb(Train)
