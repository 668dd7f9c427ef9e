"""Pair a model of donors with one of acceptors, so that sites see each other."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl.files.outputs import check_outputs, write_json
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

if TYPE_CHECKING:
    from seqmtl.models.paired import PairedModel

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Pair(_options.Threads):
    """Pair a model of donors with one of acceptors: sites that see their partners."""

    donor: str = required("model file of donors", metavar="DONOR", is_positional=True)
    acceptor: str = required("model file of acceptors", metavar="ACCEPTOR", is_positional=True)
    donors: str = required("dataset of donors", metavar="DONORS", is_positional=True)
    acceptors: str = required("dataset of acceptors", metavar="ACCEPTORS", is_positional=True)
    output: str = required("-o", "model file", metavar="MODEL", role="how")
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
        from seqmtl.models.model import MultiTaskModel
        from seqmtl.models.paired import PairedModel
        from seqmtl.pairs import fit_layer

        check_outputs(self.output, self.json)
        donor, acceptor = MultiTaskModel.load(self.donor), MultiTaskModel.load(self.acceptor)
        layer = fit_layer(donor, acceptor, self.donors, self.acceptors, split=self.split)
        training = {"split": self.split, "command": self.command}
        model = PairedModel(donor, acceptor, layer, training)
        model.save(self.output)
        facts = model.layer_facts()
        write_json(self.json, {"schema_version": 1, "tasks": facts})
        logger.info("%s: %d organisms", self.output, len(facts))
        return model


pair = verb(Pair)
