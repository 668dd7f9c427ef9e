"""Pair a model of donors with one of acceptors, so that sites see each other."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl import _kinds
from seqmtl.files.outputs import check_outputs, write_json
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

if TYPE_CHECKING:
    from seqmtl.models.paired import PairedModel

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Pair(_options.Threads):
    """Pair a model of donors with one of acceptors: sites that see their partners."""

    donor: str = required(is_positional=True, metavar="DONOR", help="model file of donors")
    acceptor: str = required(is_positional=True, metavar="ACCEPTOR", help="model file of acceptors")
    donors: str = required(is_positional=True, metavar="DONORS", help="dataset of donors")
    acceptors: str = required(is_positional=True, metavar="ACCEPTORS", help="dataset of acceptors")
    output: str = required("-o", metavar="MODEL", role="how", help="model file")
    split: str = option(
        choices=("valid", "test"),
        default="valid",
        help="split to fit on; never train, whose sites the models know (default: valid)",
    )
    longest_intron: int | None = option(
        kind=_kinds.positive_int,
        metavar="BP",
        help="longest intron considered (default: for each organism 1.5 times the length that "
        "99 %% of its introns do not exceed, at most 50000)",
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
        data, longest = (self.donors, self.acceptors), self.longest_intron
        layer = fit_layer(donor, acceptor, *data, split=self.split, longest=longest)
        training = {"split": self.split, "command": self.command}
        model = PairedModel(donor, acceptor, layer, training)
        model.save(self.output)
        facts = model.layer_facts()
        write_json(self.json, {"schema_version": 1, "tasks": facts})
        logger.info("%s: %d organisms", self.output, len(facts))
        return model


pair = verb(Pair)
