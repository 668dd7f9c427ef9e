"""A model of donors and a model of acceptors, with the layer that sees both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import refuse
from seqmtl._names import match_names
from seqmtl._schema import choice, items, load, mapping, number, record, rule_of, text, whole, word
from seqmtl._threads import in_order
from seqmtl._version import __version__
from seqmtl.calibration.curve import CalibrationCurve
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.catalogue import STARTER
from seqmtl.files.model_file import Forms, check_arrays
from seqmtl.linear_model.base import FORMAT, FORMAT_VERSION, Model, damaged, is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.schema import part
from seqmtl.splicing.coding import CODING_SHAPE
from seqmtl.splicing.genetic_code import STOPS
from seqmtl.splicing.layer import (
    ALL,
    EDGES,
    ENDS,
    MAX_WEIGHT,
    SCALE,
    WEIGHT,
    DonorLetters,
    Edge,
    PairLayer,
    U12Introns,
)
from seqmtl.splicing.rounds import SelfTrainingRound

if TYPE_CHECKING:
    from seqmtl.scanning.candidate_scores import CandidateScores
    from seqmtl.scanning.predictor import Predictor
    from seqmtl.training.example_source import ExampleSource

#: Why a paired model does not predict examples.
NOT_WINDOWS = (
    "a paired model scores the sites of a genome together with their partners, so it takes no "
    "windows; score windows with the models that it was made from"
)
_LONGEST = 10_000_000  # bases of an intron
_ROUNDING = 1e-6
#: What a file says of a layer besides its arrays.
_FACTS = {
    "scale": number(above=0),
    "shift": WEIGHT,
    "coding_shift": WEIGHT,
    "switch": WEIGHT,
    "coding_scale": SCALE,
    "shortest": whole(1, _LONGEST),
    "longest": whole(1, _LONGEST),
    "n_introns": whole(),
    "n_coding": whole(),
    "n_sites": whole(),
    "ceiling": number(above=0, max_val=1),
    "least": items(number(), 2, max_items=2),
    "exon_shift": WEIGHT,
    "edges": items(rule_of(Edge)),
    "donors": items(rule_of(DonorLetters)),
    "u12": rule_of(U12Introns | None),
    "tails": items(items(number(), 2, max_items=2)),
}
#: Lengths of exons that a table has, from 0.
EXON_LENGTHS = 600
#: Parts of a file with models of the sites of U12-type introns.
_U12_ENDS = tuple(f"u12_{end}" for end in ENDS)
_SHARES = items(number(min_val=0, max_val=1), 2, max_items=2)
_CALLS = items(number(min_val=0), 2, max_items=2)
_UNLABELLED = record(
    {"rounds": items(rule_of(SelfTrainingRound), 1), "bases": whole()},
    {
        "n_known": items(whole(), 2, max_items=2),
        "warnings": items(text),
        "calls": record({"expected": number(min_val=0), "p50": _CALLS, "p90": _CALLS}),
        "relatives": record({"source": text, "weights": mapping(number(min_val=0))}),
    },
)
#: Cases in which the precision of a clade was measured.
_CASES = (
    ("rounds", "after rounds"),
    ("relatives", "by the relatives"),
    ("few", "by the relatives, with too few predictions for rounds"),
)
_PRECISION = record({"organisms": items(text)}, {case: _SHARES for case, _ in _CASES})
#: The heading of the lines of :func:`round_line`.
ROUNDS = "round    donors  acceptors     p >= 0.9  reversed  introns (bases)"
_ANY = mapping(lambda name, value: None, 1)
_HEADER = record(
    {
        "seqmtl_version": text,
        "training": record(
            {},
            {
                "command": text,
                "split": word,
                "unlabelled": mapping(_UNLABELLED),
                "precision": mapping(_PRECISION),
            },
        ),
        "layer": mapping(record(_FACTS, {"stops": items(choice(*STOPS), 1)}), 1),
        **{end: _ANY for end in ENDS},
    },
    {name: _ANY for name in (*EDGES, *_U12_ENDS)},
)


@dataclass(repr=False)
class PairedModel(Model):
    """A model of both ends of introns, and of edges of genes.

    Attributes
    ----------
    donor, acceptor : MultiTaskModel
        Models of the sites, of the same organisms; others may be in their task kernels alone, and
        are scored from their relatives.
    layer : dict of str to PairLayer
        Layer of every organism.
    training : dict
        How the layer was fitted, as JSON values.
    edges : dict of str to MultiTaskModel
        Models of edges of genes, by signal; of some of the organisms at least.
    u12 : tuple of MultiTaskModel, two or none
        Models of donors and of acceptors of U12-type introns, of one task: all organisms.

    Raises
    ------
    SeqmtlError
        If the models are not of donors and of acceptors, or of different organisms.
    ValueError
        If a layer takes an edge of genes of which there is no model with its organism, or U12-type
        introns without models of these.
    """

    donor: MultiTaskModel
    acceptor: MultiTaskModel
    layer: dict[str, PairLayer]
    training: dict[str, Any] = field(default_factory=dict)
    edges: dict[str, MultiTaskModel] = field(default_factory=dict)
    u12: tuple[MultiTaskModel, ...] = ()

    kind: str = field(init=False, default="classification")
    shift: int = field(init=False, default=0)

    structure: ClassVar[str] = "pairs"
    signals: ClassVar[tuple[str, ...]] = ENDS
    learns_from_genome: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ends(self.donor, self.acceptor)
        check_edges(self.edges)
        if self.u12:
            check_ends(*self.u12)
        self.tasks = _organisms(self.donor, self.acceptor, self.layer)
        for name, layer in self.layer.items():
            _check_layer(f"layer.{name}", layer)
            _check_edges_of(name, layer, self.edges)
            if layer.u12 and not self.u12:
                refuse(f"layer.{name}.u12", "none without models of u12", layer.u12)
        self.curves: dict[str, CalibrationCurve] = {}

    @property
    def inputs(self) -> str:
        """Type of the examples."""
        return "genomes"

    def decision_function(self, data: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Raise an error: a window holds one site, without its partners."""
        raise SeqmtlError(NOT_WINDOWS)

    def predictions(self, data: Any, tasks: Any = None) -> dict[str, NDArray[Any]]:
        """Raise an error, see :meth:`decision_function`."""
        self.decision_function(data)
        return {}

    def _predictor(self) -> Callable[..., Predictor]:
        from seqmtl.splicing.predictor import IntronPredictor

        return IntronPredictor

    def score_labelled(self, sources: Sequence[ExampleSource], what: str) -> list[CandidateScores]:
        """Score the candidates of two datasets, alone and with their partners; see `Model`."""
        from seqmtl.splicing.paired_scores import score_labelled

        return score_labelled(self, sources, what)

    def without_weights(self) -> PairedModel:
        """Return a copy whose site models lack their weights, and their files."""
        return replace(
            self,
            donor=self.donor.without_weights(),
            acceptor=self.acceptor.without_weights(),
            edges={name: edge.without_weights() for name, edge in self.edges.items()},
            u12=tuple(model.without_weights() for model in self.u12),
        )

    def layer_of(self, organism: str) -> PairLayer:
        """Return the layer of an organism.

        Raises
        ------
        UnknownTaskError
            If the model does not know it.
        """
        return self.layer[self.match(organism)]

    def has_genome(self, organism: str) -> bool:
        """Return whether a genome of an organism was seen, besides windows of its sites."""
        return self.layer_of(organism).least != ALL  # known from its candidates

    def signals_of(self, organism: str) -> list[str]:
        """Return the signals of an organism that have models: donor, acceptor, and edges."""
        edges = self.layer_of(organism).edges
        return [*ENDS, *(edge.signal for edge in edges if edge.has_model)]

    @property
    def site_models(self) -> dict[str, MultiTaskModel]:
        """Models by signal: donor, acceptor, and those of the edges."""
        return {"donor": self.donor, "acceptor": self.acceptor, **self.edges}

    @property
    def _parts(self) -> dict[str, MultiTaskModel]:
        """Models by their names in a file."""
        return self.site_models | dict(zip(_U12_ENDS, self.u12, strict=False))

    def describe(self) -> dict[str, Any]:
        """Return a summary of the model as JSON values."""
        return {
            "tasks": list(self.tasks),
            "layer": self.layer_facts(),
            "training": self.training,
            **{signal: model.describe() for signal, model in self._parts.items()},
        }

    def text(self, file: str) -> list[str]:
        """Return a readable summary of the model, line by line; `file` is the name to show."""
        edges = f", with models of {', '.join(self.edges)} sites" if self.edges else ""
        lines = [f"paired model   {file}", f"donors and acceptors in pairs{edges}"]
        precision = self.training.get("precision", {})
        lines += ["introns of p >= 0.9 that were correct in held-out organisms"] * bool(precision)
        for clade, facts in precision.items():
            cases = (f"{text} {_range(facts[case])}" for case, text in _CASES if case in facts)
            lines.append(f"  {clade}: {', '.join(cases)}")
        width = max(len(name) for name in self.tasks)
        called = self.training.get("unlabelled", {})
        for name, layer in self.layer.items():
            lines.append(
                f"  {name:<{width}}  introns of {layer.shortest} to {layer.span:,} bases "
                f"({layer.n_introns:,} {self.source_of_introns(name)}), "
                f"{layer.n_coding:,} coding bases, {layer.n_sites:,} held-out sites"
            )
        for name, facts in called.items():
            n_known = facts.get("n_known", [0, 0])
            labels = "{:,} donors, {:,} acceptors known".format(*n_known)
            labels = labels if any(n_known) else "no labels"
            lines += ["", f"{name}: {labels}, {facts['bases']:,} bases of its genome", ROUNDS]
            lines += [round_line(k, entry) for k, entry in enumerate(facts["rounds"])]
            lines += [
                *expectation(facts),
                *(f"warning: {entry}" for entry in facts.get("warnings", [])),
            ]
        for signal, model in self._parts.items():
            lines += [
                "",
                *model.text(f"the {signal} sites of {file}" if file else f"{signal} sites"),
            ]
        return lines

    def source_of_introns(self, organism: str) -> str:
        """Return what the introns of an organism are: annotated, called, or some of both."""
        facts = self.training.get("unlabelled", {}).get(organism)
        if facts is None:
            return "annotated"
        return "called or known" if any(facts.get("n_known", [])) else "called"

    def layer_facts(self) -> dict[str, dict[str, Any]]:
        """Return the layers without their arrays."""
        return {
            name: {fact: getattr(layer, fact) for fact in _FACTS}
            | ({} if layer.stops == STOPS else {"stops": [*layer.stops]})
            | {
                "least": list(layer.least),
                "edges": [edge._asdict() for edge in layer.edges],
                "tails": layer.tails.tolist(),
                "donors": [donors._asdict() for donors in layer.donors],
                "u12": layer.u12 and layer.u12._asdict() | {"least": [*layer.u12.least]},
            }
            for name, layer in self.layer.items()
        }

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return header and arrays of the model file: those of both models, and the layer."""
        header: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "seqmtl_version": __version__,
            "model": self.structure,
            "training": self.training,
            "layer": self.layer_facts(),
        }
        every = [self.layer[name] for name in self.tasks]  # the keys of the header are sorted
        arrays: dict[str, NDArray[Any]] = {
            "introns": np.concatenate([layer.introns for layer in every]),
            "coding": np.stack([layer.coding for layer in every]),
        }
        if any(layer.exons.size for layer in every):
            arrays["exons"] = np.stack([_padded(layer.exons) for layer in every])
        contents = in_order(MultiTaskModel.contents, [*self._parts.values()])
        for signal, (header[signal], of_end) in zip(self._parts, contents, strict=True):
            arrays |= {f"{signal}.{name}": array for name, array in of_end.items()}
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
        forms: Forms = {
            "introns": ("float64", (n_introns,)),
            "coding": ("float32", (len(layer), *CODING_SHAPE)),
        }
        layer_arrays = {name: array for name, array in arrays.items() if "." not in name}
        if "exons" in layer_arrays:
            forms["exons"] = ("float64", (len(layer), EXON_LENGTHS))
        check_arrays(layer_arrays, forms)
        for name in arrays.keys() - layer_arrays.keys():
            if name.partition(".")[0] not in (*ENDS, *({*EDGES, *_U12_ENDS} & description.keys())):
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
            names = [name for name in (*ENDS, *EDGES, *_U12_ENDS) if name in description]
            read = partial(cls._end, path=path, description=description, arrays=arrays)
            parts = dict(zip(names, in_order(read, names), strict=True))
            donor, acceptor = (parts[end] for end in ENDS)
            edges = {edge: parts[edge] for edge in EDGES if edge in parts}
            u12 = tuple(parts[end] for end in _U12_ENDS if end in parts)
            facts = description["layer"]
            order = _organisms(donor, acceptor, facts)
            layer = _unpack_layer({name: facts[name] for name in order}, arrays)
            training = dict(description["training"])
            return cls(donor, acceptor, layer, training, edges, u12)
        except ModelFileError:
            raise
        except (ValueError, SeqmtlError) as error:
            raise damaged(error, path) from error

    @staticmethod
    def _end(
        end: str, path: str, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> MultiTaskModel:
        """Rebuild the model of one end; the shipped file names those that ship beside it."""
        with part(end):
            header = dict(description[end])
            if isinstance(shipped := header.get("starter"), str):
                return MultiTaskModel.load(f"{STARTER}{shipped}")
            if header.get("model") != MultiTaskModel.structure:
                refuse("model", repr(MultiTaskModel.structure), header.get("model"))
        names = [name for name in arrays if name.startswith(f"{end}.")]
        of_end = {name.removeprefix(f"{end}."): arrays[name] for name in names}
        return MultiTaskModel.rebuild(path, header, of_end)


def round_line(number: int, facts: Mapping[str, Any]) -> str:
    """Return a line about a round of self-training; 0 is that before the first."""
    high = "{:,.0f}, {:,.0f}".format(*facts["n_p90"])
    return (
        f"{number:>5} {facts['expected'][0]:>9,.0f} {facts['expected'][1]:>10,.0f} {high:>12} "
        f"{facts['reversed_rate']:>9.1%}  "
        f"{facts['shortest']:,}-{facts['median']:,}-{facts['longest']:,}"
    )


def estimated_accuracy(facts: Mapping[str, Any]) -> dict[float, tuple[float, float]]:
    """Return the precision and recall of the introns called in a genome without labels.

    They are estimated from the probabilities: of introns of at least 0.5 and 0.9, if there are any.
    """
    calls = facts.get("calls", {})
    return {
        p: (1 - false, n * (1 - false) / calls["expected"])
        for p, key in ((0.5, "p50"), (0.9, "p90"))
        for n, false in [calls.get(key, (0, 0.0))]
        if n
    }


def expectation(facts: Mapping[str, Any]) -> list[str]:
    """Return lines on the introns expected in a genome without labels, and on those called."""
    if "calls" not in facts:
        return []
    expected, bases = facts["calls"]["expected"], max(1, facts["bases"])
    called = ", ".join(
        f"{recall:.0%} of them are called at p >= {p} with a precision of {precision:.0%}"
        for p, (precision, recall) in estimated_accuracy(facts).items()
    )
    return [
        f"about {expected:,.0f} introns are expected in {bases:,} bases of the genome "
        f"({1e6 * expected / bases:,.0f} per Mb)",
        f"estimated from the probabilities, {called or 'none of them is called at p >= 0.5'}",
    ]


def _range(shares: Sequence[float]) -> str:
    """Return the lowest and the highest of shares as a text."""
    return " to ".join(dict.fromkeys(f"{share:.0%}" for share in shares))


def _organisms(
    donor: MultiTaskModel, acceptor: MultiTaskModel, layer: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the organisms of a layer: those of the site models, then those without labels.

    Raises
    ------
    ValueError
        If it lacks one of the site models, or has one that their task kernels lack.
    """
    others = sorted(set(layer) - set(donor.tasks))
    in_both = set(donor.kernel.names) & set(acceptor.kernel.names)
    if not {*donor.tasks} <= {*layer} or not {*others} <= in_both:
        refuse("layer", f"that of {', '.join(donor.tasks)}", list(layer))
    return (*donor.tasks, *others)


def check_ends(donor: MultiTaskModel, acceptor: MultiTaskModel) -> None:
    """Check that two models can be paired.

    Raises
    ------
    SeqmtlError
        If they are not classifiers of donors and of acceptors, of the same organisms.
    """
    for model, end in ((donor, ENDS[0]), (acceptor, ENDS[1])):
        if model.inputs != "windows" or model.kind != "classification":
            raise SeqmtlError(f"the model of {end}s must be a classifier of DNA windows")
        if model.site.kind != end:
            raise SeqmtlError(
                f"the model of {end}s must be trained on {end} sites, but its signal is "
                f"{model.site.kind!r}; give the model of donors first, that of acceptors second"
            )
    match_names(acceptor.tasks, donor.tasks, "the model of donors")
    match_names(donor.tasks, acceptor.tasks, "the model of acceptors")


def check_edges(models: Mapping[str, MultiTaskModel]) -> None:
    """Check that models are of edges of genes, by their signals.

    Raises
    ------
    SeqmtlError
        If one is no classifier of such sites.
    """
    for signal, model in models.items():
        is_scanning = model.inputs == "windows" and model.kind == "classification"
        if signal not in EDGES or not is_scanning or model.site.kind != signal:
            raise SeqmtlError(
                f"an edge of genes must be a classifier of {' or '.join(EDGES)} "
                f"sites in DNA windows, but its signal is {signal!r}"
            )


def _check_layer(name: str, layer: PairLayer) -> None:
    """Check the scale of a layer, and that its lengths are densities of introns that end.

    Raises
    ------
    ValueError
        If not.
    """
    if layer.scale > MAX_WEIGHT:
        refuse(f"{name}.scale", f"at most {MAX_WEIGHT:g}", layer.scale)
    if not layer.introns.max() <= _ROUNDING:
        refuse(f"{name}: introns", "logarithms of densities, 0 at most", layer.introns.max())
    if not ((layer.exons >= 0) & (layer.exons <= 1 + _ROUNDING)).all():
        refuse(f"{name}: exons", "densities from 0 to 1", layer.exons.tolist())
    first, decay = layer.tails.T
    if not (first <= _ROUNDING).all() or not (decay * _LONGEST >= 1).all():
        refuse(
            f"{name}.tails",
            f"logarithms of densities that fall by 1 or more in {_LONGEST:,} bases",
            layer.tails.tolist(),
        )


def _check_edges_of(name: str, layer: PairLayer, models: Mapping[str, MultiTaskModel]) -> None:
    """Check that edges are of different signals, with a model of each that needs one.

    Raises
    ------
    ValueError
        If not.
    """
    key, signals = f"layer.{name}.edges", [edge.signal for edge in layer.edges]
    if len({*signals}) < len(signals):
        refuse(key, "of different signals", signals)
    for edge in layer.edges:
        is_there = edge.signal in models and is_known(name, models[edge.signal].tasks)
        if edge.has_model and not is_there:
            refuse(
                key,
                "those that edges has a model of",
                edge.signal,
                "give the models that the layer was fitted with",
            )


def _padded(exons: NDArray[np.float64]) -> NDArray[np.float64]:
    return exons if exons.size else np.zeros(EXON_LENGTHS)


def _unpack_layer(
    facts: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, PairLayer]:
    layer, at = {}, 0
    every = arrays.get("exons", np.zeros((len(facts), 0)))
    for (name, entry), coding, exons in zip(facts.items(), arrays["coding"], every, strict=True):
        end = at + entry["longest"] - entry["shortest"] + 1
        introns, at = np.array(arrays["introns"][at:end]), end
        values = {fact: entry[fact] for fact in _FACTS if fact != "longest"}
        values["least"] = tuple(entry["least"])
        values["tails"] = np.array(entry["tails"], dtype=np.float64).reshape(-1, 2)
        values["edges"] = tuple(load(Edge, "edges", edge) for edge in entry["edges"])
        values["stops"] = tuple(entry.get("stops", STOPS))
        values["donors"] = tuple(load(DonorLetters, "donors", one) for one in entry["donors"])
        values["u12"] = load(U12Introns, "u12", entry["u12"]) if entry["u12"] else None
        layer[name] = PairLayer(
            **values, introns=introns, coding=np.array(coding), exons=np.array(exons)
        )
    return layer
