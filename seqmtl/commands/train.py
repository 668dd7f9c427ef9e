"""``seqmtl train``: train one multi-task model on labelled windows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl.commands import _kinds, _options, _relations
from seqmtl.commands._command import Command
from seqmtl.commands._request import option, python_function
from seqmtl.exceptions import TrainingInterrupted, UsageError
from seqmtl.files.write import check_outputs
from seqmtl.relations.kinds import MANUAL, PLAIN, learnable

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.linear_model.site import Site
    from seqmtl.relations import TaskKernel
    from seqmtl.relations.build import KernelRequest
    from seqmtl.training.selection import SearchSpace
    from seqmtl.training.settings import Settings

logger = logging.getLogger("seqmtl")

_of_data, _of_model = partial(option, group="windows"), partial(option, group="model")
_SAVE_AFTER = 1.0  # passes of work between checkpoints, which take far less time


@dataclass(frozen=True, kw_only=True)
class Train(_options.TrainingRun, _options.WindowInput, _relations.Relations):
    """Train one model for all organisms on windows."""

    data: str = _options.window_data("training windows")
    organism: str | None = _of_data("organism of all rows; overrides DATA", metavar="NAME")
    split: str = _of_data(
        "split to use, if DATA has a split column (default: train)", default="train"
    )
    window: int | None = _of_data("use the central BP bases (default: all)", metavar="BP")
    shift: int = _of_data(
        "shift the window from the centre in the 3' direction",
        metavar="BP",
        kind=_kinds.integer,
        default=0,
    )
    site: int | None = _of_data(
        "first base of the site in the sequences of a table or FASTA, 0-based (default: the column "
        "site, or where all true sites have the same letters)",
        metavar="BASE",
        kind=_kinds.count,
    )
    mkl: str | None = _relations.source(
        "learn the weights of several kernels of the tree: hierarchical (one per clade), smooth or "
        "multigraph",
        metavar="KIND",
        kind=learnable,
        manual=MANUAL,
    )
    norm: float | None = _relations.source(
        "p of the p-norm on --mkl weights: 1 sparse, inf uniform (default: 2)",
        metavar="P",
        kind=_kinds.norm,
    )
    selection: str | None = _of_model(
        "auto: tune cost, trust and bin weights (default); none: train as given",
        choices=("auto", "none"),
    )
    features: str | None = _options.features_option("model")
    C: float | None = _of_model("-C", "cost (default: tuned per organism; 1 without tuning)")
    loss: str = _of_model(
        "hinge, squared_hinge or logistic",
        metavar="LOSS",
        choices=("hinge", "squared_hinge", "logistic"),
        default="hinge",
    )
    balanced: bool = _of_model("give both classes equal weight", default=False)
    tol: float = _of_model("stop at this relative duality gap (default: 1e-3)", default=1e-3)
    max_epochs: int = _of_model("maximum number of epochs", default=1000)
    seed: int = _options.seed("seed of the example order")
    memory: int | None = option(
        "keep windows on disk, in MODEL.windows, and use at most this much memory, such as 4G",
        metavar="SIZE",
        kind=_kinds.memory,
        role="how",
    )
    dask: str | None = option(
        "score windows on dask workers: tcp://HOST:PORT, FILE.json or local:N",
        kind=_kinds.dask_address,
        metavar="ADDRESS",
        role="how",
    )
    resume: bool = option("resume an interrupted training", default=False, role="how")

    @property
    def is_on_disk(self) -> bool:
        """Whether the windows stay on disk."""
        return bool(self.memory or self.dask)

    def check(self) -> None:
        """Refuse options that conflict with tuning, or with windows on disk."""
        from seqmtl.core.losses import LOSSES

        if self.shift and self.window is None:
            raise UsageError("--shift needs a window length; give --window")
        if self.is_on_disk and (self.mkl or not LOSSES[self.loss].is_sparse):
            odd = "--mkl" if self.mkl else f"--loss {self.loss}"
            raise UsageError(f"{odd} needs all windows in memory; leave out --memory and --dask")
        if self.site is not None and self.is_dataset:
            raise UsageError("--site is for tables and FASTA: a dataset has its own; leave it out")
        if self.mkl is not None and self.similarity is not None:
            raise UsageError("--mkl and --similarity both set the kind; give only one")
        if self.norm is not None and not self.mkl:
            raise UsageError("--norm applies to the --mkl weights; give --mkl too")
        if self.mkl and self.selection == "auto":
            raise UsageError(
                "--mkl learns the weights of several similarities at a fixed -C, but --selection "
                "auto tunes the trust in one; give only one of these options"
            )

    def run(self) -> MultiTaskModel:
        """Train, and write the model.

        Returns
        -------
        MultiTaskModel
            The model; ``training["converged"]`` tells whether it reached the tolerance.
        """
        from seqmtl.commands._examples import organisms_named

        inputs = [*self.files, self.tree, self.similarity]
        check_outputs(inputs, [self.output, f"{self.output}.checkpoint", self.json])
        relation = self.relation(self.mkl)
        _relations.check_tree(relation, organisms_named(self))
        started = time.perf_counter()
        model, remove = _trained(self, relation)
        self._describe(model, time.perf_counter() - started)
        n = sum(task["n"] for task in model.training["tasks"].values())
        summary = (
            f"{len(model.tasks)} organisms, {n} windows, relative duality gap "
            f"{model.training['duality_gap']:.1e} after {model.training['n_epochs']} epochs"
        )
        self.finish(model, summary, self.tol, "--max-epochs or --tol")
        remove()
        return model

    def _describe(self, model: MultiTaskModel, seconds: float) -> None:
        """Note in the model what it was trained on."""
        model.shift = self.shift
        if self.is_dataset:
            model.training["dataset"] = {"path": self.data, "signal": model.site.signal}
        model.training["command"] = self.command
        model.training["sources"] = [self.data]
        if self.split != "train":
            model.training["split"] = self.split
        model.training["seconds"] = round(seconds, 3)


def _trained(
    request: Train, relation: KernelRequest | None
) -> tuple[MultiTaskModel, Callable[[], None]]:
    """Train, and write checkpoints, which the caller removes.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the message says how to resume.
    """
    from seqmtl._progress import SelectionProgress, TrainingProgress
    from seqmtl.adaptation.few_labels import train_with_few
    from seqmtl.training.checkpoint import Checkpoint
    from seqmtl.training.cross_validation import LikelihoodCache
    from seqmtl.training.fit import train as train_jointly

    show, show_choice = TrainingProgress(request.tol), SelectionProgress()
    with _examples(request) as (examples, disk, checkpoint):
        names, data = examples.names, examples.data
        kernel, features = (
            _task_kernel(request, relation, names),
            _options.feature_map(request.features),
        )
        settings, space = _settings(request), _space(request, relation, kernel, names)
        site = _site(request, examples)
        if checkpoint is None:
            choices = None if space is None else space.to_dict()
            path = f"{request.output}.checkpoint"
            checkpoint = Checkpoint(path, data, features, kernel, settings, choices)

        saved_at = 0.0

        def on_epoch(start: Any, progress: Any) -> None:
            nonlocal saved_at
            if progress.work >= saved_at + _SAVE_AFTER:
                checkpoint.save(start)
                saved_at = progress.work
            show(progress)

        def on_score(*progress: Any) -> None:
            checkpoint.save_scores()
            show_choice(*progress)

        try:
            options: dict[str, Any] = {
                # by default the kernel of --tree is R, not K: selection trains with
                # K_st = sqrt(d_s d_t) min(x_s, x_t) R_st, see seqmtl.training.selection
                "task_kernel": kernel if space is None else space,
                "features": features,
                "settings": settings,
                "site": site,
                "likelihoods": LikelihoodCache(checkpoint.scores, on_score),
                "start": checkpoint.load() if request.resume else None,
                "on_epoch": on_epoch,
            }
            if disk is None:
                model, _ = train_with_few(examples, **options)
            else:
                model, _ = train_jointly(examples, disk=disk, **options)
        except KeyboardInterrupt as error:
            if not checkpoint.is_written:
                raise
            raise TrainingInterrupted(
                f"interrupted; the progress is in {checkpoint.path}: repeat the command with "
                "--resume to continue",
                checkpoint.path,
            ) from error
        finally:
            show.close()
    return model, checkpoint.remove


def _site(request: Train, examples: Any) -> Site:
    """Return the site of the windows, and log it.

    Raises
    ------
    SeqmtlError
        If it is unknown, or cut off.
    """
    from seqmtl.linear_model.dataset_site import site_in_dataset
    from seqmtl.training.site_detection import locate

    length = examples.data.shape[1]
    site, how = site_in_dataset(request.data, length, request.shift), "as in the dataset"
    if site is None:
        if request.site is not None and examples.data.site is None:
            raise UsageError(
                f"--window {length} --shift {request.shift} cuts off the site, --site "
                f"{request.site}; take a longer window or another shift"
            )
        site, how = locate(examples.data, examples.y)
    logger.info("the site begins at base %d of %d (0-based): %s", site.offset, length, how)
    return site


def _examples(request: Train) -> Any:
    """Return a context of the examples and, if they stay on disk, how to train and the cache."""
    from seqmtl.commands._examples import read_training_windows
    from seqmtl.sequences.examples import Examples

    if request.is_on_disk:
        from seqmtl.commands._train_stored import on_disk

        return on_disk(request)
    windows = read_training_windows(request, request.window, request.shift)
    return nullcontext((Examples.of(windows.with_tasks(windows.tasks)), None, None))


def _task_kernel(
    request: Train, relation: KernelRequest | None, organisms: tuple[str, ...]
) -> TaskKernel | None:
    """Return the task kernel, or the kernels whose weights --mkl learns.

    A single kernel keeps organisms without data, so that they can be scored from their relatives.
    """
    if relation is None:
        return None
    _relations.check_tree(relation, organisms)
    keeps_all = request.mkl is None and relation.kind not in PLAIN
    return relation.build(None if keeps_all else organisms)


def _settings(request: Train) -> Settings:
    from seqmtl.training.settings import Settings

    return Settings(
        C=request.C or 1.0,
        loss=request.loss,
        class_weight="balanced" if request.balanced else None,
        tol=request.tol,
        max_epochs=request.max_epochs,
        seed=request.seed,
        norm=(request.norm or 2.0) if request.mkl else None,
    )


def _space(
    request: Train, asked: KernelRequest | None, kernel: Any, names: tuple[str, ...]
) -> SearchSpace | None:
    """Return the hyperparameters to tune, if any; those set by the user stay fixed."""
    from seqmtl.training.selection import COSTS, SearchSpace
    from seqmtl.training.task_kernels import resolve_kernel

    if request.selection == "none" or request.mkl:
        return None
    costs = COSTS if request.C is None else (request.C,)
    relation = None if kernel is None else resolve_kernel(kernel, names)
    if asked is not None and asked.kind in PLAIN and relation is not None:
        return SearchSpace.of_cost(relation, costs)
    return SearchSpace.of_sharing(names, relation, costs)


COMMAND = Command(
    Train,
    "train one model for all organisms on windows",
    "  seqmtl train windows.tsv.gz --tree metazoa --window 141 -o splice.seqmtl",
    has_converged=lambda model: bool(model.training["converged"]),
    usage="seqmtl train DATA -o MODEL [options]",
)

train = python_function(Train)
