"""Train one model for all organisms on windows.

examples:
  seqmtl train windows.tsv.gz --tree metazoa --window 141 -o splice.seqmtl

Tables have label, sequence, and maybe organism, split; FASTA organism=, label=, or --negatives.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from seqmtl._messages import counted
from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import UsageError, errors_about
from seqmtl.files.write import check_outputs
from seqmtl.relations.kinds import MANUAL, PLAIN, learnable

if TYPE_CHECKING:
    from seqmtl.features._base import FeatureDefinition
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.relations import TaskKernel
    from seqmtl.relations.build import KernelRequest
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.out_of_core import OutOfCoreTrainer
    from seqmtl.training.selection import SearchSpace
    from seqmtl.training.settings import Settings
    from seqmtl.training.stored_windows import WindowCache

logger = logging.getLogger("seqmtl")

_of_data, _of_model = partial(option, group="windows"), partial(option, group="model")


@dataclass(frozen=True, kw_only=True)
class Train(_options.WindowInput, _options.Relations):
    """Train one model for all organisms on windows."""

    data: tuple[str, ...] = _options.window_data("training windows")
    negatives: tuple[str, ...] = _options.negatives("windows")
    reference: tuple[str, ...] = _options.reference("windows")
    exclude: tuple[str, ...] = _options.exclude("windows")
    split: str = _of_data("split to use, or all", default="train")
    window: int | None = _of_data(
        "use the central BP bases, of narrowPeak around summits (default: all)",
        metavar="BP",
    )
    shift: int = _of_data(
        "shift the window towards the 3' end",
        metavar="BP",
        kind=_kinds.integer,
        default=0,
    )
    site: int | None = _of_data(
        "first base of the site, 0-based (default: column site, or common letters)",
        metavar="BASE",
        kind=_kinds.count,
    )
    mkl: str | None = _options.relation_option(
        "learn the weights of several kernels of the tree (see --mkl help)",
        metavar="KIND",
        kind=learnable,
        long_help=MANUAL,
    )
    selection: str | None = _of_model(
        "auto: tune cost, trust and features; none: as given (default: auto)",
        metavar="HOW",
        choices=("auto", "none"),
    )
    features: str | None = _options.features_option("model")
    C: float | None = _of_model("-C", "cost (default: tuned; 1 without tuning)")
    loss: str = _of_model(
        "hinge, squared_hinge or logistic",
        metavar="LOSS",
        choices=("hinge", "squared_hinge", "logistic"),
        default="hinge",
    )
    seed: int = _options.seed("seed of the example order")
    memory: int | None = option(
        "keep windows on disk, and use at most this much memory, such as 4G",
        metavar="SIZE",
        kind=_kinds.memory,
        affects_output=False,
    )
    dask: str | None = option(
        "score windows on Dask workers: [tls://]HOST:PORT, FILE.json or local:N",
        kind=_kinds.dask_address,
        metavar="ADDRESS",
        affects_output=False,
    )
    resume: bool = option("resume an interrupted training", default=False, affects_output=False)
    output: str = required("-o", "model file", metavar="MODEL", affects_output=False)

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
            option_name = "--mkl" if self.mkl else f"--loss {self.loss}"
            raise UsageError(
                f"{option_name} needs all windows in memory; leave out --memory and --dask"
            )
        if self.site is not None and self.source.dataset is not None:
            raise UsageError("--site is for tables and FASTA: a dataset has its own; leave it out")
        if self.mkl is not None and self.similarity is not None:
            raise UsageError("--mkl and --similarity both set the kind; give only one")
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
            The model; ``training["converged"]`` says whether it reached the tolerance.
        """
        from seqmtl.relations.build import check_tree

        inputs = [*self.files, self.tree, self.similarity]
        check_outputs(inputs, [self.output, f"{self.output}.checkpoint"])
        relation = self.relation(self.mkl)
        started = time.perf_counter()
        with errors_about(self.source.name):
            check_tree(relation, self.source.organisms())
            model, remove = _trained(self, relation)
        self._describe(model, time.perf_counter() - started)
        model.save(self.output)
        self._tell_result(model)
        self._note_site(model)
        self._tell_choices(model)
        remove()
        return model

    def has_converged(self, model: MultiTaskModel) -> bool:
        """Return whether it reached the tolerance."""
        return bool(model.training["converged"])

    def _describe(self, model: MultiTaskModel, seconds: float) -> None:
        """Note in the model what it was trained on."""
        model.shift = self.shift
        if self.source.dataset is not None:
            path = self.source.dataset
            model.training["dataset"] = {"path": path, "signal": model.site.signal}
        model.training["command"] = self.command
        model.training["sources"] = self.source.paths
        peaks = [part for part in self.source.parts if part.reference and part.sign != -1]
        if peaks:
            model.training["peaks"] = [
                {"organism": part.organism or "", "path": part.path, "reference": part.reference}
                for part in peaks
            ]
        if self.window is not None and model.features.is_position_free:  # others have a length
            model.training["window"] = self.window
        if self.split != "train":
            model.training["split"] = self.split
        model.training["seconds"] = round(seconds, 3)

    def _tell_result(self, model: MultiTaskModel) -> None:
        """Log the size of the training, and whether it reached the tolerance."""
        training = model.training
        logger.info(
            "%s: %s, %s windows, relative duality gap %.1e after %.1f passes, %.1f s",
            self.output,
            counted(len(model.tasks), "organism"),
            f"{sum(task['n'] for task in training['tasks'].values()):,}",
            training["duality_gap"],
            training["work"],
            training["seconds"],
        )
        if not training["converged"]:
            tol = training["settings"]["tol"]
            logger.warning("not converged to the tolerance %g; lower the cost -C", tol)

    def _tell_choices(self, model: MultiTaskModel) -> None:
        """Log what was chosen, the accuracy to expect, and the next command."""
        selection = model.training.get("selection", {})
        of_tasks = [*selection.get("tasks", {}).values()]

        def spread(key: str, form: str) -> str:
            values = [of_task[key] for of_task in of_tasks if key in of_task]
            low, high = (format(value, form) for value in (min(values), max(values)))
            mean = format(sum(values) / len(values), form)
            return mean if low == high else f"{mean} ({low} to {high})"

        if any("C" in of_task for of_task in of_tasks):
            where = "wherever they are" if model.is_sliding else "at their positions"
            parts = [f"k-mers {where}"] * (model.inputs == "windows") + [
                f"cost {spread('C', '.3g')}"
            ]
            if len(of_tasks) > 1 and "trust" in of_tasks[0]:
                is_given = self.tree or self.similarity
                relation = "as the tree or table says" if is_given else "all alike"
                trust = spread("trust", ".0%")
                parts.append(f"trust in the other organisms {trust}; 0%: alone, 100%: {relation}")
            logger.info("%s: %s", self.output, ", ".join(parts))
        if any("auroc" in of_task for of_task in of_tasks):
            logger.info(
                "%s: cross-validated on %s windows: AUROC %s, AUPRC %s",
                self.output,
                f"{selection['n']:,}",
                spread("auroc", ".3f"),
                spread("auprc", ".3f"),
            )
        following = f"evaluate {self.output} FILE, on windows that it was not trained on"
        if self.source.dataset is not None:
            following = f"calibrate {self.output} {self.source.dataset} -o {self.output}"
        logger.info("next: seqmtl %s", following)

    def _note_site(self, model: MultiTaskModel) -> None:
        """Note what windows without a common site are for, if the features were chosen."""
        if self.features or model.site.length:
            return
        remedy = "if they are cut around sites, give their first base (0-based) with --site"
        if not model.is_sliding:
            logger.warning(
                "the windows have no common site, so the model classifies windows, and cannot scan "
                "genomes; %s",
                remedy,
            )
        elif not self.reference:
            logger.info(
                "the windows have no common site, as those of peaks: seqmtl scan scores windows of "
                "%d bases; %s",
                model.length,
                remedy,
            )


def _trained(
    request: Train, relation: KernelRequest | None
) -> tuple[MultiTaskModel, Callable[[], None]]:
    """Train; return the model, and what removes the stored progress.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the message says how to resume.
    """
    from seqmtl.adaptation.few_labels import train_with_few
    from seqmtl.training.checkpoint import Checkpoint
    from seqmtl.training.interruptible import stored_progress
    from seqmtl.training.site_detection import site_of_examples

    features = _options.feature_map(request.features)
    chosen, settings = features if request.features else None, _settings(request)
    with _examples(request, features) as (examples, trainer, cache):
        kernel = _task_kernel(request, relation, examples.names)
        space = _space(request, relation, kernel, examples.names)
        choices = None if space is None else space.to_dict()
        path = f"{request.output}.checkpoint"
        store = cache or Checkpoint(path, examples.data, features, kernel, settings, choices)
        with stored_progress(store) as (on_epoch, likelihoods):
            dataset = request.source.dataset
            site = site_of_examples(examples, chosen, dataset, request.site, request.shift)
            model, _ = train_with_few(
                examples,
                # by default the kernel of --tree is R, not K: selection trains with
                # K_st = sqrt(d_s d_t) min(x_s, x_t) R_st, see seqmtl.training.selection
                kernel if space is None else space,
                trainer=trainer,
                features=chosen,
                settings=settings,
                site=site,
                likelihoods=likelihoods,
                start=store.load() if request.resume else None,
                on_epoch=on_epoch,
            )
    return model, store.remove


@contextmanager
def _examples(
    request: Train, features: FeatureDefinition
) -> Iterator[tuple[Examples, OutOfCoreTrainer | None, WindowCache | None]]:
    """Yield the examples and, if they stay on disk, how to train on them and their folder."""
    from seqmtl.sequences.examples import Examples

    source = request.source
    if not request.is_on_disk:
        chosen = features if request.features else None
        windows = source.read_labelled(request.window, request.shift, chosen)
        yield Examples.of(windows.with_tasks(windows.tasks)), None, None
        return
    from seqmtl.training.stored_windows import WindowCache, stored_examples

    if source.is_stream:
        raise UsageError("--memory and --dask read DATA from disk; name a dataset or a table")
    if not source.has_rows:
        raise UsageError("--memory and --dask need DATA that is a dataset or a table; name one")
    cache = WindowCache(f"{request.output}.windows", _problem(request))
    with stored_examples(
        cache,
        source,
        request.window,
        request.shift,
        memory=request.memory,
        dask=request.dask,
        resume=request.resume,
        features=features,
    ) as (examples, trainer):
        yield examples, trainer, cache


def _problem(request: Train) -> Document:
    """Return what determines windows on disk and the training problem, files as digests."""
    from seqmtl.files.streams import sha256_of
    from seqmtl.io.dataset import SUMMARY, WINDOWS, folder_of

    problem = request.fingerprint()
    for name in ("tree", "similarity"):
        if problem[name] is not None and os.path.isfile(problem[name]):
            problem[name] = sha256_of(problem[name])
    source = request.source
    paths = source.paths
    if source.dataset is not None:
        paths = [os.path.join(folder_of(source.dataset), name) for name in (WINDOWS, SUMMARY)]
    problem |= {"data": [sha256_of(path) for path in paths], "negatives": len(request.negatives)}
    problem["names"] = [part.organism for part in source.parts]
    return problem


def _task_kernel(
    request: Train, relation: KernelRequest | None, organisms: tuple[str, ...]
) -> TaskKernel | None:
    """Return the task kernel, or the kernels whose weights --mkl learns.

    A single kernel keeps organisms without data, so that they can be scored from their relatives.
    """
    from seqmtl.relations.build import check_tree

    if relation is None:
        return None
    check_tree(relation, organisms)
    keeps_all = request.mkl is None and relation.kind not in PLAIN
    return relation.build(None if keeps_all else organisms)


def _settings(request: Train) -> Settings:
    from seqmtl.training.settings import Settings

    return Settings(
        C=request.C or 1.0,
        loss=request.loss,
        seed=request.seed,
        norm=2.0 if request.mkl else None,
    )


def _space(
    request: Train,
    similarity: KernelRequest | None,
    kernel: TaskKernel | None,
    names: tuple[str, ...],
) -> SearchSpace | None:
    """Return the hyperparameters to tune, if any; those set by the user stay fixed."""
    from seqmtl.training.selection import SearchSpace
    from seqmtl.training.settings import COSTS
    from seqmtl.training.task_kernels import resolve_kernel

    if request.selection == "none" or request.mkl:
        return None
    costs = COSTS if request.C is None else (request.C,)
    relation = None if kernel is None else resolve_kernel(kernel, names)
    if similarity is not None and similarity.kind in PLAIN and relation is not None:
        return SearchSpace.of_cost(relation, costs)
    return SearchSpace.of_sharing(names, relation, costs)


train = python_function(Train)
