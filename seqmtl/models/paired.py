"""A model of donors and a model of acceptors, with the layer that sees both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl._schema import mapping, number, record, refuse, text, whole, word
from seqmtl._version import __version__
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.models.base import FORMAT, Model, damaged, format_version
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.probability_curve import ProbabilityCurve
from seqmtl.models.schema import Forms, check_arrays, part

#: The two signals of a paired model.
ENDS = ("donor", "acceptor")
#: Why a paired model does not predict examples.
NOT_WINDOWS = (
    "a paired model scores the sites of a genome together with their partners, so it takes no "
    "windows; score windows with the models that it was made from"
)
_LONGEST = 10_000_000  # bases of an intron
_HEADER = record(
    {
        "seqmtl_version": text,
        "training": record({}, {"command": text, "split": word}),
        "layer": mapping(
            record(
                {
                    "scale": number(above=0),
                    "shift": number(),
                    "exon_scale": number(least=0),
                    "shortest": whole(1, _LONGEST),
                    "longest": whole(1, _LONGEST),
                    "least_exon": whole(1, _LONGEST),
                    "exon_reach": whole(0, _LONGEST),
                    "n_introns": whole(),
                    "n_sites": whole(),
                }
            ),
            1,
        ),
        **{end: mapping(lambda name, value: None, 1) for end in ENDS},
    }
)


class PairLayer(NamedTuple):
    """The layer above the sites of one organism; see :mod:`seqmtl.pairs.chain`.

    Attributes
    ----------
    scale, shift : float
        The two log-odds of an intron's sites are multiplied by `scale`; `shift` is added.
    exon_scale : float
        Exponent of the weights of exon lengths; 0 ignores these lengths.
    shortest : int
        Bases of the shortest intron.
    introns : ndarray of float64, shape (n,)
        Log densities of the intron lengths `shortest`, `shortest` + 1, ...; longer introns are not
        considered.
    least_exon : int
        Fewest bases between two introns.
    exons : ndarray of float64, shape (m,)
        Log weights of the lengths 0, 1, ... of exons between two introns. Longer ones weigh 0.
    n_introns : int
        Annotated introns behind the lengths.
    n_sites : int
        True sites behind scale and shift.
    """

    scale: float
    shift: float
    exon_scale: float
    shortest: int
    introns: NDArray[np.float64]
    least_exon: int
    exons: NDArray[np.float64]
    n_introns: int = 0
    n_sites: int = 0

    @property
    def longest(self) -> int:
        """Bases of the longest intron considered."""
        return self.shortest + self.introns.size - 1

    def gap_weights(self) -> NDArray[np.float64]:
        """Return the log weights of exon lengths 0, 1, ...; minus infinity below `least_exon`."""
        weights = np.zeros(max(self.exons.size, self.least_exon))
        if self.exon_scale > 0:
            weights[: self.exons.size] = self.exon_scale * self.exons
        weights[: self.least_exon] = -np.inf
        return weights


@dataclass(repr=False)
class PairedModel(Model):
    """A model of both ends of introns.

    Attributes
    ----------
    donor, acceptor : MultiTaskModel
        Models of the sites, of the same organisms.
    layer : dict of str to PairLayer
        Layer of every organism.
    training : dict
        How the layer was fitted, as JSON values.

    Raises
    ------
    SeqmtlError
        If the models are not of donors and of acceptors, or of different organisms.
    """

    donor: MultiTaskModel
    acceptor: MultiTaskModel
    layer: dict[str, PairLayer]
    training: dict[str, Any] = field(default_factory=dict)

    classes: tuple[Any, ...] = field(init=False, default=(-1, 1))
    feature_names: tuple[str, ...] = field(init=False, default=())
    kind: str = field(init=False, default="classification")
    length: int = field(init=False, default=0)
    shift: int = field(init=False, default=0)

    structure: ClassVar[str] = "pairs"

    def __post_init__(self) -> None:
        check_ends(self.donor, self.acceptor)
        self.tasks = self.donor.tasks
        self.curves: dict[str, ProbabilityCurve] = {}

    @property
    def inputs(self) -> str:
        """Type of the examples."""
        return "genomes"

    def decision_function(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> NDArray[np.float64]:
        """Raise an error: a window holds one site, without its partners."""
        raise SeqmtlError(NOT_WINDOWS)

    def predictions(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> dict[str, NDArray[Any]]:
        """Raise an error, see :meth:`decision_function`."""
        self.decision_function(data)
        return {}

    def layer_of(self, organism: str) -> PairLayer:
        """Return the layer of an organism.

        Raises
        ------
        UnknownTaskError
            If the model does not know it.
        """
        return self.layer[self.match(organism)]

    def describe(self) -> dict[str, Any]:
        """Return a summary of the model as JSON values."""
        return {
            "tasks": list(self.tasks),
            "layer": self.layer_facts(),
            "training": self.training,
            **{end: getattr(self, end).describe() for end in ENDS},
        }

    def text(self, file: str) -> list[str]:
        """Return a readable summary of the model, line by line; `file` is the name to show."""
        lines = [f"paired model   {file}", "donors and acceptors, seen together"]
        width = max(len(name) for name in self.tasks)
        for name, layer in self.layer.items():
            lines.append(
                f"  {name:<{width}}  introns of {layer.shortest} to {layer.longest:,} bases "
                f"({layer.n_introns:,} annotated), scale {layer.scale:.2f}, shift "
                f"{layer.shift:.2f}, exons {layer.exon_scale:.2f} ({layer.n_sites:,} held-out "
                "sites)"
            )
        for end in ENDS:
            lines += ["", *getattr(self, end).text(f"the {end}s of {file}")]
        return lines

    def layer_facts(self) -> dict[str, dict[str, Any]]:
        """Return the layers without their arrays."""
        return {
            name: {
                "scale": layer.scale,
                "shift": layer.shift,
                "exon_scale": layer.exon_scale,
                "shortest": layer.shortest,
                "longest": layer.longest,
                "least_exon": layer.least_exon,
                "exon_reach": layer.exons.size,
                "n_introns": layer.n_introns,
                "n_sites": layer.n_sites,
            }
            for name, layer in self.layer.items()
        }

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return header and arrays of the model file: those of both models, and the layer."""
        header: dict[str, Any] = {
            "format": FORMAT,
            "seqmtl_version": __version__,
            "model": self.structure,
            "training": self.training,
            "layer": self.layer_facts(),
        }
        every = [self.layer[name] for name in self.tasks]  # the keys of the header are sorted
        arrays: dict[str, NDArray[Any]] = {
            "introns": np.concatenate([layer.introns for layer in every]),
            "exons": np.concatenate([layer.exons for layer in every]),
        }
        for end in ENDS:
            header[end], own = getattr(self, end).contents()
            arrays |= {f"{end}.{name}": array for name, array in own.items()}
        header["format_version"] = format_version(arrays)
        self._check(header, arrays)
        return header, arrays

    @classmethod
    def _check(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        _HEADER("", description)
        layer = description["layer"]
        for name, facts in layer.items():
            if facts["longest"] < facts["shortest"]:
                refuse(f"layer.{name}.longest", "at least the shortest", facts["longest"])
        n_introns = sum(facts["longest"] - facts["shortest"] + 1 for facts in layer.values())
        n_exons = sum(facts["exon_reach"] for facts in layer.values())
        forms: Forms = {"introns": ("float64", (n_introns,)), "exons": ("float64", (n_exons,))}
        own = {name: array for name, array in arrays.items() if "." not in name}
        check_arrays(own, forms)
        for name in arrays.keys() - own.keys():
            if name.partition(".")[0] not in ENDS:
                raise ValueError(f"array {name} does not belong to this model")

    @classmethod
    def rebuild(
        cls, path: str, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> PairedModel:
        """Rebuild a model from the contents of its file.

        Raises
        ------
        ModelFileError
            If they are inconsistent.
        """
        try:
            cls._check(description, arrays)
            models = []
            for end in ENDS:
                with part(end):
                    header = dict(description[end])
                    if header.get("model") != MultiTaskModel.structure:
                        refuse("model", repr(MultiTaskModel.structure), header.get("model"))
                own = {
                    name.removeprefix(f"{end}."): array
                    for name, array in arrays.items()
                    if name.startswith(f"{end}.")
                }
                models.append(MultiTaskModel.rebuild(path, header, own))
            tasks, facts = models[0].tasks, description["layer"]
            if {*facts} != {*tasks}:
                refuse("layer", f"that of {', '.join(tasks)}", list(facts))
            layer = _unpack_layer({name: facts[name] for name in tasks}, arrays)
            found = cls(models[0], models[1], layer, dict(description["training"]))
        except ModelFileError:
            raise
        except (ValueError, SeqmtlError) as error:
            raise damaged(error, path) from error
        return found


def check_ends(donor: MultiTaskModel, acceptor: MultiTaskModel) -> None:
    """Check that two models can be paired.

    Raises
    ------
    SeqmtlError
        If they are not classifiers of donors and of acceptors, of the same organisms.
    """
    for model, end in ((donor, ENDS[0]), (acceptor, ENDS[1])):
        if not model.can_scan or model.kind != "classification":
            raise SeqmtlError(f"the model of {end}s must be a classifier of DNA windows")
        if model.site.kind != end:
            raise SeqmtlError(
                f"the model of {end}s must be trained on {end} sites, but its signal is "
                f"{model.site.kind!r}; give the model of donors first, that of acceptors second"
            )
    match_names(acceptor.tasks, donor.tasks, "the model of donors")
    match_names(donor.tasks, acceptor.tasks, "the model of acceptors")


def _unpack_layer(
    facts: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, PairLayer]:
    layer, at, exon_at = {}, 0, 0
    for name, own in facts.items():
        end, exon_end = at + own["longest"] - own["shortest"] + 1, exon_at + own["exon_reach"]
        layer[name] = PairLayer(
            float(own["scale"]), float(own["shift"]), float(own["exon_scale"]), own["shortest"],
            np.array(arrays["introns"][at:end]), own["least_exon"],
            np.array(arrays["exons"][exon_at:exon_end]), own["n_introns"], own["n_sites"],
        )  # fmt: skip
        at, exon_at = end, exon_end
    return layer
