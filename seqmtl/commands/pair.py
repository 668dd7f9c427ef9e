"""Combine donor and acceptor models, so that each site is scored with its partner.

examples:
  seqmtl dataset genomes.toml --signal donor -o donors
  seqmtl dataset genomes.toml --signal acceptor -o acceptors
  seqmtl train donors -o donor.seqmtl; seqmtl calibrate donor.seqmtl donors -o donor.seqmtl
  seqmtl train acceptors -o acc.seqmtl; seqmtl calibrate acc.seqmtl acceptors -o acc.seqmtl
  seqmtl pair donor.seqmtl acc.seqmtl donors acceptors -o splice.seqmtl
  seqmtl evaluate splice.seqmtl donors acceptors
  seqmtl pair donor.seqmtl acc.seqmtl donors acceptors --boundary-model start.seqmtl -o genes.seqmtl

An acceptor needs a donor at the distance of an intron, and most introns are between stretches of
coding sequence in the same frame. The new model has both models and a chain of coding exons and
introns, which weights every parse of a contig by the log-odds of its sites, the lengths of its
introns, and its codons. The probability of a site is the weighted fraction of parses that use it.
Intron lengths and coding content are learned from the training regions, and eight numbers per
organism are fitted on the validation regions, which neither model has seen. Models of start and
stop codons (--boundary-model; trained and calibrated like the others, on datasets of annotations
with CDS) find more sites. scan then reports these signals, too.

Only regions in the same split of both datasets are used. They have the same splits if they come
from one configuration with annotations; or name the contigs under [organisms.NAME.split].

columns: annotated introns in the training regions, the shortest one, the length that 99.5 % do not
exceed (longest, bases), coding bases, and true sites that the model was fitted on. seqmtl info
--json has the fitted numbers; see the page Method.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from seqmtl._messages import counted
from seqmtl.commands._request import Request, option, python_function, required
from seqmtl.exceptions import SeqmtlError, UsageError, errors_about
from seqmtl.files.write import check_outputs

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Pair(Request):
    """Combine donor and acceptor models, so that each site is scored with its partner."""

    donor: str = required("model file of donors", metavar="DONOR", is_positional=True)
    acceptor: str = required("model file of acceptors", metavar="ACCEPTOR", is_positional=True)
    donors: str = required("dataset of donors", metavar="DONORS", is_positional=True)
    acceptors: str = required("dataset of acceptors", metavar="ACCEPTORS", is_positional=True)
    output: str = required("-o", "model file", metavar="MODEL", affects_output=False)
    boundary_model: tuple[str, ...] = option(
        "calibrated model of start or stop; may be repeated",
        metavar="MODEL",
        is_repeated=True,
    )

    def run(self) -> PairedModel:
        """Fit the chain of exons and introns, and write the model.

        Returns
        -------
        PairedModel
            The model.
        """
        from seqmtl.io.dataset import files_of_data
        from seqmtl.loading import load_window_model
        from seqmtl.splicing import fit_layer
        from seqmtl.splicing.model import PairedModel

        data = (self.donors, self.acceptors)
        inputs = [
            self.donor,
            self.acceptor,
            *self.boundary_model,
            *chain(*map(files_of_data, data)),
        ]
        check_outputs(inputs, [self.output])
        donor, acceptor = load_window_model(self.donor), load_window_model(self.acceptor)
        edges = _edges(self.boundary_model, donor.tasks)
        layer = fit_layer(donor, acceptor, *data, edges=edges)
        training = {"split": "valid", "command": self.command}
        model = PairedModel(donor, acceptor, layer, training, edges)
        model.save(self.output)
        logger.info("%s: %s", self.output, counted(len(layer), "organism"))
        return model

    def show(self, model: PairedModel) -> str:
        """Format the layer of every organism."""
        lines = ["organism\tintrons\tshortest\tlongest\tcoding\tsites"]
        lines += [
            f"{name}\t{layer.n_introns}\t{layer.shortest}\t{layer.span}\t{layer.n_coding}"
            f"\t{layer.n_sites}"
            for name, layer in model.layer.items()
        ]
        return "\n".join(lines) + "\n"


def _edges(paths: tuple[str, ...], organisms: tuple[str, ...]) -> dict[str, MultiTaskModel]:
    """Read models of edges of genes, by signal in the order of the layer."""
    from seqmtl.linear_model.base import is_known
    from seqmtl.loading import load_window_model
    from seqmtl.splicing.layer import EDGES
    from seqmtl.splicing.model import check_edges

    models: dict[str, MultiTaskModel] = {}
    for path in paths:
        model = load_window_model(path)
        signal = model.site.kind
        if signal in models:
            raise UsageError(f"{path}: second model of {signal} sites; give one of each signal")
        models[signal] = model
        with errors_about(path):
            check_edges({signal: model})
        tasks = [model.match(name) for name in organisms if is_known(name, model.tasks)]
        if not tasks:
            raise SeqmtlError(
                f"{path} has none of the organisms of the donor model ({', '.join(organisms)}); "
                "leave it out, or train it on one of them"
            )
        if lacking := [name for name in organisms if not is_known(name, model.tasks)]:
            logger.warning("%s lacks %s and is not used there", path, ", ".join(lacking))
        if missing := [name for name in tasks if name not in model.curves]:
            logger.warning(
                "%s is not calibrated for %s; run seqmtl calibrate", path, ", ".join(missing)
            )
    return {signal: models[signal] for signal in EDGES if signal in models}


pair = python_function(Pair)
