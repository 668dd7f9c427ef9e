"""Pair a model of donors with one of acceptors, so that sites see each other."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.outputs import check_outputs, write_json
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Pair(_options.Threads):
    """Combine donor and acceptor models, so that each site is scored with its partner."""

    donor: str = required("model file of donors", metavar="DONOR", is_positional=True)
    acceptor: str = required("model file of acceptors", metavar="ACCEPTOR", is_positional=True)
    donors: str = required("dataset of donors", metavar="DONORS", is_positional=True)
    acceptors: str = required("dataset of acceptors", metavar="ACCEPTORS", is_positional=True)
    output: str = required("-o", "model file", metavar="MODEL", role="how")
    edge: tuple[str, ...] = option(
        "calibrated model of edges of genes: start, stop, tss or polya; may be repeated",
        metavar="MODEL",
        is_repeated=True,
    )
    split: str = option(
        "split to fit on; never train, whose sites the models know",
        choices=("valid", "test"),
        default="valid",
    )
    json: str | None = _options.summary_file("write a summary as JSON; - for standard output")

    def run(self) -> PairedModel:
        """Fit the layer above both models, and write them with it.

        Returns
        -------
        PairedModel
            The model.
        """
        from seqmtl.io.dataset import files_of_data
        from seqmtl.linear_model.model import MultiTaskModel
        from seqmtl.splicing import fit_layer
        from seqmtl.splicing.model import PairedModel

        data = (self.donors, self.acceptors)
        inputs = [self.donor, self.acceptor, *self.edge, *chain(*map(files_of_data, data))]
        check_outputs(inputs, [self.output, self.json])
        donor, acceptor = MultiTaskModel.load(self.donor), MultiTaskModel.load(self.acceptor)
        edges = _edges(self.edge, donor.tasks)
        layer = fit_layer(donor, acceptor, *data, split=self.split, edges=edges)
        training = {"split": self.split, "command": self.command}
        model = PairedModel(donor, acceptor, layer, training, edges)
        model.save(self.output)
        facts = model.layer_facts()
        write_json(self.json, {"schema_version": 1, "tasks": facts})
        logger.info("%s: %d organisms", self.output, len(facts))
        return model


def _edges(paths: tuple[str, ...], organisms: tuple[str, ...]) -> dict[str, MultiTaskModel]:
    """Read models of edges of genes, by signal in the order of the layer."""
    from seqmtl.linear_model.base import is_known
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.layer import EDGES
    from seqmtl.splicing.model import check_edges

    models: dict[str, MultiTaskModel] = {}
    for path in paths:
        model = MultiTaskModel.load(path)
        signal = model.site.kind if model.can_scan else "site"
        if signal in models:
            raise UsageError(f"{path} is a second model of {signal} sites; give one of each signal")
        models[signal] = model
        try:
            check_edges({signal: model})
        except SeqmtlError as error:
            raise SeqmtlError(f"{path}: {error}") from error
        tasks = [model.match(name) for name in organisms if is_known(name, model.tasks)]
        if not tasks:
            raise SeqmtlError(
                f"{path} has none of the organisms of the model of donors, {', '.join(organisms)}; "
                "leave it out, or train one of them"
            )
        if lacking := [name for name in organisms if not is_known(name, model.tasks)]:
            logger.warning(
                "%s has no %s, so its edges are not used there", path, ", ".join(lacking)
            )
        if missing := [name for name in tasks if name not in model.curves]:
            logger.warning(
                "%s is not calibrated for %s; run seqmtl calibrate", path, ", ".join(missing)
            )
    return {signal: models[signal] for signal in EDGES if signal in models}


pair = verb(Pair)
