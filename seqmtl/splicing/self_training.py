"""Self-training of a paired model for an organism without labels.

How much a relative counts is settled by the tree and generalized least squares
(:mod:`seqmtl.adaptation.relatives`); without a tree, by the number of sites called with its group
in a part of the genome, less those called in the reversed genome. At first the weights of the site
models, the layer with its coding content, and the distributions of the lengths of introns are means
of the relatives', those of few introns less, with a share of any length. The chain takes
log-likelihood ratios of sites: log-odds less the logit of the share of true sites that the site
models assume. The lengths then become those of the introns by their posteriors.

Then (:meth:`SelfTraining.train`) come rounds. A candidate of posterior p, of 0.35 or more, is a
site of weight p. Decoys are drawn from the others by the odds that parses give them without their
own score, times 1 - p. So the site models learn what content and lengths do not tell. Both are
adapted to these sites and decoys, always from the models of the relatives, so that these remain the
prior. (Without those in between, sites and decoys are too easily separated, and probabilities
become overconfident.) Each fold of the genome is scored by the models that are adapted on the
others, and these scores calibrate them. How much the relatives are trusted, and what an example
costs, is fixed: labels that the relatives helped to make speak for the relatives, more or less by
chance. Coding content is learnt from the exons and introns between the sites called, and drawn to
that of the relatives. The numbers of the layer are those of genomes then, to which models of their
own sites were fitted (:func:`seqmtl.splicing.estimates.with_numbers_of_genomes`).

The reversed genome has the same composition, but no gene: calls there estimate how many of the
introns are false. There are three rounds, fewer if these are too many, or if too few of the introns
expected are called. Whether there are more calls than before does not matter: where relatives call
too many, the false ones become fewer. Introns with evidence of reads or proteins are sites in every
round.
(Self-training of gene finders: Lomsadze et al., 2005; decoys as a control: Elias and Gygi, 2007;
weights from posteriors: Dempster, Laird and Rubin, 1977.)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import messages_from
from seqmtl._threads import in_order
from seqmtl.adaptation.adapted_model import adapt, learn_parts, with_organism
from seqmtl.adaptation.relatives import (
    RelativeWeights,
    similarity,
    spread,
    weights_of_relatives,
)
from seqmtl.datasets.known_introns import KnownIntrons
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences.sites import Sites
from seqmtl.sequences.windows import Windows, concatenate
from seqmtl.splicing.candidates import end_finders
from seqmtl.splicing.chain import with_letters
from seqmtl.splicing.coding import Stretch, learn_contents, transcribed
from seqmtl.splicing.diagnostics import precision_warnings, warnings_for
from seqmtl.splicing.estimates import (
    U12_SHARE,
    Estimates,
    estimates_of_relatives,
    with_numbers_of_genomes,
)
from seqmtl.splicing.genetic_code import stops_of
from seqmtl.splicing.genome_sample import (
    FOLDS,
    GenomeSample,
    find_candidates,
)
from seqmtl.splicing.layer import ALL, ENDS, DonorLetters, U12Introns, logit
from seqmtl.splicing.lengths import LengthTable, mixed_table
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.regions import SITE_LENGTH
from seqmtl.splicing.rounds import (
    HIGH,
    LIKELY,
    SelfTrainingRound,
    SitePosteriors,
    expected_sites,
    high_sites,
    least_log_odds,
    likely_sites,
    listed_lengths,
)
from seqmtl.training.solver import ONE_THREAD

logger = logging.getLogger(__name__)

#: Highest probability claimed: calls of held-out organisms were right this often.
CEILING = 0.97
# the chain
_CHAIN_RUNS = 3  # between which the lengths of introns, and how rare some are, are learnt
_MIN_LENGTH_POSTERIOR = 0.1  # of an intron whose length counts, by this
_MIN_SHARE = 5e-4  # of true sites among the candidates, when kinds of donors are compared
_U12_INTRONS = 1_000  # other introns that the share of the relatives counts as much as
LOST_SHARE = 0.001  # of the true sites expected: so few have log-odds that parses do without
# Sites and decoys of a round. The least posterior of a site, C, and decoys drawn by their odds in
# context were chosen on eight pieces of genomes: posteriors of 0.25 to 0.5 change F1 by 0.003.
_MIN_POSTERIOR = 0.35
_DECOYS_PER_SITE = 16
_MIN_DECOYS = 5_000  # with 2,000, half as many introns are found if relatives lack coding content
_MAX_SITES = 4_000  # of each signal; more cost time and memory
_TRUST, _C = 0.7, 0.3  # chosen by the labels, the trust in the relatives would vary more
_REPEAT_FLANK = 8  # bases on either side of a site by which copies of a repeat are recognised
_MIN_LABELLED_SITES = 30  # of each signal to learn from them alone; of yeast, 10 are too few
_DECOYS_OF_LABELLED = 2_000  # with 40 to 400, the AUPRC is 0.02 to 0.05 lower
# Calls to train on, or in a million bases; the lower decides. Yeast has 14, a fly whose introns are
# ten times as long as usual 42, and gains from training on them.
_MIN_CALLS, _MIN_CALLS_PER_MB = 24.0, 5.0
_MIN_CALLS_OF_FOLD = 4  # outside each fold, never fewer
# Calls in the reversed genome per call, beyond which no round begins, and beyond which one is
# dropped. A piece of mouse with 0.45 gains from rounds; shuffled genomes have 0.6 to 1. After a
# round, mammals have 0.1 to 0.3.
_MAX_REVERSED_RATE, _MAX_REVERSED_RATE_AFTER = 0.5, 0.3
#: Share of the true sites expected that must be more likely than not, before a round and after it.
#: With 0.35, a kiwifruit gains most from rounds; with 0.22, yeast and a piece of a fly's genome
#: full of repeats lose.
MIN_CALLED_SHARE = 0.3
# Error of the relatives' weights: see seqmtl.adaptation.relatives.spread. It was chosen on pieces
# of genomes of a rust, a worm, two of a fly, a parasite, a human and a cat, with the organisms of
# the starter model nearest to each.
_ERROR = 1.0
_COMPARISON_BASES, _MIN_COMPARISON_BASES = 2e6, 2.5e5  # for all weights of relatives, and for each
_MAX_GROUPS = 16  # of similar relatives that are compared
_CONTROL_BASES = 2.5e6  # of the reversed genome, about


class SelfTraining:
    """Self-training of a paired model on an organism without labels.

    Parameters
    ----------
    model : PairedModel
        Paired model, without the organism.
    name : str
        The organism.
    sample : GenomeSample
        Stretches of its genome.
    known_introns : KnownIntrons, optional
        Introns with evidence of reads or proteins.
    like, tree : optional
        See :func:`seqmtl.adaptation.relatives.weights_of_relatives`.
    relatives : RelativeWeights, optional
        How much each organism of the model counts. Default: by `like` and `tree`; if both leave it
        open, by the sites that groups of them find.
    watch : callable, optional
        Called with the number of the round, what is done, and the share of it that is done.
    max_rounds : int
        Rounds of training.
    donors : sequence of str
        Letters that donors may have beside those of the model.

    Attributes
    ----------
    rounds : list of SelfTrainingRound
        Calls with the weights of the relatives, and each round after them.
    relatives : RelativeWeights
        How much each organism of the model counts, as it is settled on the genome.
    weights : ndarray of float64, shape (T,)
        The same, as an array, with sum 1.
    """

    def __init__(  # noqa: PLR0913
        self,
        model: PairedModel,
        name: str,
        sample: GenomeSample,
        *,
        known_introns: KnownIntrons | None = None,
        like: str | None = None,
        tree: Any = None,
        relatives: RelativeWeights | None = None,
        watch: Callable[[int, str, float], object] | None = None,
        max_rounds: int = 3,
        donors: Sequence[str] = ("GC",),
    ) -> None:
        self._max_rounds = max_rounds
        self._shortage = ""  # of the predictions that training began with
        self.model, self.name, self.sample, self.like, self.tree = model, name, sample, like, tree
        self.known_introns, self._watch = known_introns, watch
        self._is_labelled = _is_among(known_introns, sample)
        named, self.relatives = (relatives, relatives) if relatives else self._settled_relatives()
        self.weights = self.relatives.weights
        self._relatives_by_name = dict(zip(model.donor.tasks, named.weights.tolist(), strict=True))
        self.rounds: list[SelfTrainingRound] = []
        stops = stops_of(name, like)
        self.state = estimates_of_relatives(model, name, self.weights, named.weights, donors, stops)
        self.state = self.state.learning(**self._lengths([])._asdict())
        layer, control = self.state.ratios, sample.part(_CONTROL_BASES)
        ends = end_finders(self.state.whole, name, layer, model.u12)
        self._candidates = find_candidates(sample, ends, layer, self._at("scoring candidates"))
        watch_control = self._at("scoring the reversed genome")
        self._reversed = find_candidates(control.reversed(), ends, layer, watch_control)
        self.posteriors = self._settle()
        self.rounds.append(self._summarize_round())

    def _settled_relatives(self) -> tuple[RelativeWeights, RelativeWeights]:
        """Return the relatives by `like` and `tree`, and with weights settled on the genome.

        Those of a name are spread over similar organisms if more sites are found with these.
        Without a name, each group of similar organisms counts by the sites found with it.
        """
        kernel, tasks = self.model.donor.kernel, self.model.donor.tasks
        named = weights_of_relatives(kernel, tasks, self.name, like=self.like, tree=self.tree)
        R = similarity(kernel.matrix[: len(tasks), : len(tasks)])
        if is_named := named.r2 > 0:
            weights = np.array([named.weights, spread(R, named.weights, _ERROR)])
        else:
            groups = _groups_of(R, _MAX_GROUPS)
            weights = np.array([np.isin(range(len(R)), group) / group.size for group in groups])
        if np.allclose(weights, named.weights):
            return named, named
        n_sites = self._sites_found(weights)
        if not is_named:
            shares = (n_sites + 1.0) / (n_sites + 1.0).sum()  # equal if none has any
            named = named._replace(weights=shares @ weights)
            return named, named
        is_enough = n_sites.max() >= len(ENDS) * _MIN_CALLS
        return named, named._replace(weights=weights[n_sites.argmax() if is_enough else 0])

    def _sites_found(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of true sites found with each row of weights of the relatives.

        These are the sites expected among those called in a part of the genome, less those among
        the calls in the same part reversed.
        """
        part = self.sample.part(max(_COMPARISON_BASES / len(weights), _MIN_COMPARISON_BASES))
        n_sites: list[float] = []
        for row in weights:
            if self._watch is not None:
                self._watch(0, "comparing relatives", len(n_sites) / len(weights))
            trial = SelfTraining(
                self.model,
                self.name,
                part,
                like=self.like,
                relatives=RelativeWeights(row, "", 1.0),
                donors=(),
            )
            n_sites.append(likely_sites(trial.posteriors) * (1 - trial.rounds[0].reversed_rate))
        return np.array(n_sites)

    def _at(self, what: str) -> Callable[[float], object]:
        """Return what is called with the share of a part of this round that is done."""
        if self._watch is None:
            return lambda share: None
        watch = partial(self._watch, len(self.rounds), what)
        watch(0.0)
        return watch

    def _rescore(self) -> None:
        """Score the candidates by the models of the state."""
        pairs, layer = list(self.state.ends), self.state.ratios
        ends = list(in_order(lambda pair: end_finders(pair, self.name, layer), pairs))
        self._candidates = self._candidates.rescored(ends, self._at("scoring candidates"))
        self._reversed = self._reversed.rescored(ends, self._at("scoring the reversed genome"))

    def _settle(self) -> SitePosteriors:
        """Run the chain until lengths and rare kinds of introns settle; return the last result."""
        for k in range(_CHAIN_RUNS):
            posteriors = self._candidates.posteriors(
                self.state.layer()._replace(least=ALL),
                _MIN_LENGTH_POSTERIOR,
                self._at(f"weighing introns, pass {k + 1}"),
            )
            if k < _CHAIN_RUNS - 1:
                donors, u12 = self._rarities(posteriors)
                lengths = self._lengths(posteriors)
                self.state = self.state.learning(donors=donors, u12=u12, **lengths._asdict())
        least = least_log_odds(posteriors, self.state.layer(), LOST_SHARE)
        self.state = self.state.learning(least=least)
        if self.known_introns is None:
            return posteriors
        return [
            (sites, chain._replace(sites=np.where(self._is_labelled(sites), 0.0, chain.sites)))
            for sites, chain in posteriors
        ]

    def _rarities(
        self, posteriors: SitePosteriors
    ) -> tuple[tuple[DonorLetters, ...], U12Introns | None]:
        """Return how rare donors with other letters are, and introns of U12 type.

        These are ratios of mean posteriors, and the expected number of U12-type introns per other
        intron.
        """
        layer = self.state.ratios
        n_kinds = len(ENDS) + len(layer.donors)
        n, expected, of_u12 = np.zeros(n_kinds), np.zeros(n_kinds), 0.0
        for sites, chain in posteriors:
            p, is_u12 = np.exp(chain.sites), sites["is_u12"]
            kinds = np.where(sites["letters"], len(ENDS) - 1 + sites["letters"], sites["signals"])
            n += np.bincount(kinds[~is_u12], minlength=n_kinds)
            expected += np.bincount(kinds[~is_u12], p[~is_u12], minlength=n_kinds)
            of_u12 += float(p[is_u12].sum()) / len(ENDS)
        least = np.where(np.arange(n_kinds) < len(ENDS), _MIN_SHARE, 1e-6)
        shares = np.maximum(expected / np.maximum(n, 1), least).tolist()
        n_prior = _U12_INTRONS
        others = float(expected.sum() - expected[1]) + n_prior
        rarity = float(np.log((of_u12 + n_prior * U12_SHARE) / others))
        donors = tuple(
            one._replace(shift=logit(share) - logit(shares[0]))
            for one, share in zip(layer.donors, shares[len(ENDS) :], strict=True)
        )
        return donors, layer.u12 and layer.u12._replace(shift=rarity)

    def _lengths(self, posteriors: SitePosteriors) -> LengthTable:
        """Return the distribution of the lengths of the introns listed, and of those labelled."""
        lengths, p = listed_lengths(posteriors)
        if self.known_introns is not None:
            lengths = np.concatenate([lengths, self.known_introns.lengths])
            p = np.concatenate([p, np.ones(self.known_introns.lengths.size)])
        return mixed_table(lengths, p, self.state.lengths)

    def _called_lengths(self) -> NDArray[np.int64]:
        """Return the lengths of the introns called."""
        lengths, p = listed_lengths(self.posteriors)
        return lengths[p >= LIKELY]

    def _summarize_round(self) -> SelfTrainingRound:
        """Return the summary of the last round."""
        expected = expected_sites(self.posteriors)
        lengths, layer = self._called_lengths(), self.state.layer()
        likely = likely_sites(self.posteriors)
        reversed_rate = self._reversed_sites() / max(likely, 1e-9)
        return SelfTrainingRound(
            expected,
            likely,
            high_sites(self.posteriors),
            min(reversed_rate, 1.0),
            layer.shortest,
            int(np.median(lengths)) if lengths.size else 0,
            layer.span,
        )

    def _reversed_sites(self) -> float:
        """Return the sites expected in the reversed sample, if all of it were scored."""
        likely = likely_sites(self._reversed.posteriors(self.state.layer()))
        return likely * self.sample.size / self._reversed.sample.size

    @property
    def shortage(self) -> str:
        """Why the calls, beside labelled ones, are not to train on; "" if they are."""
        n_calls = min(_MIN_CALLS, _MIN_CALLS_PER_MB * self.sample.size / 1e6)
        least = max(n_calls / FOLDS, _MIN_CALLS_OF_FOLD)
        for fold in range(FOLDS):
            sure = Sites.join(
                sites.take(
                    (np.exp(chain.sites) >= LIKELY)
                    & (of_stretch != fold)
                    & ~self._is_labelled(sites)
                )
                for (sites, chain), of_stretch in zip(
                    self.posteriors, self.sample.fold, strict=True
                )
            )
            sure = sure.take(_first_copies(self.sample.codes, sure))
            donors, acceptors = np.bincount(sure["signals"], minlength=2).tolist()
            if min(donors, acceptors) < least:
                besides = "" if self.known_introns is None else " that are not known"
                return (
                    f"too few predictions for self-training: {donors:,} donors and {acceptors:,} "
                    f"acceptors with p >= 0.5{besides} in one half of the genome, and "
                    f"{np.ceil(least):.0f} of each are needed (copies of a repeat count once); the "
                    "genome has hardly any introns, or is unlike the relatives"
                )
        if (rate := self.rounds[-1].reversed_rate) > _MAX_REVERSED_RATE:
            return (
                "too uncertain predictions for self-training: the reversed genome, where all "
                f"introns are false, has {rate:.0%} as many"
            )
        if (share := self._called_share) < MIN_CALLED_SHARE:
            return (
                f"too uncertain predictions for self-training: only {share:.0%} of the introns "
                "expected have p >= 0.5, as in yeast or a genome full of repeats"
            )
        return ""

    @property
    def _called_share(self) -> float:
        """Share of the true sites expected that are among those more likely than not."""
        return likely_sites(self.posteriors) / max(sum(expected_sites(self.posteriors)), 1e-9)

    @property
    def is_enough_known(self) -> bool:
        """Whether there are labelled introns enough to learn from them alone."""
        if self.known_introns is None:
            return False
        n = min(len(self.known_introns.donors), len(self.known_introns.acceptors))
        return n >= _MIN_LABELLED_SITES

    @ONE_THREAD
    def train(self, on_round: Callable[[SelfTrainingRound], None]) -> None:
        """Train the site models on the calls, in rounds.

        With too few calls there are none, or one if enough introns are labelled, on these alone.
        """
        if len(self.rounds) == 1:
            self._shortage = self.shortage
            is_alone = self.is_enough_known and bool(self._shortage)
            self.state = replace(self.state, is_alone=is_alone)
        max_rounds = 1 if self.state.is_alone else self._max_rounds
        while len(self.rounds) <= max_rounds and (self.state.is_alone or not self.shortage):
            old = self.state, self._candidates, self.posteriors
            with messages_from(logging.WARNING):
                self.state = self._adapt()
            self._rescore()
            self.posteriors = self._settle()
            last = self._summarize_round()
            if (reason := self._reason_to_stop(last)) and not self.state.is_alone:
                self.state, self._candidates, self.posteriors = old
                logger.info(
                    "%s: stopped after round %d: %s", self.name, len(self.rounds) - 1, reason
                )
                return
            self.rounds.append(last)
            on_round(last)

    def _reason_to_stop(self, new: SelfTrainingRound) -> str:
        """Return why a round is dropped and is the last, as a phrase; "" if it is not."""
        if new.reversed_rate > _MAX_REVERSED_RATE_AFTER:
            return (
                f"a further round would predict {new.reversed_rate:.0%} as many introns in the "
                "reversed genome, where all are false"
            )
        if (share := self._called_share) < MIN_CALLED_SHARE:
            return (
                f"of the introns that a further round would predict, only {share:.0%} would have "
                "p >= 0.5"
            )
        return ""

    def _exons(self, posteriors: SitePosteriors) -> list[Stretch]:
        """Return the stretches with the sites called on either strand."""
        stretches = []
        for k, (sites, chain) in enumerate(posteriors):
            called = sites.take(np.exp(chain.sites) >= LIKELY)
            codes, strands = self.sample.stretch(k), []
            for is_reverse in (False, True):
                of_strand = called.take(called.is_reverse == is_reverse)
                positions = codes.size - of_strand["places"] if is_reverse else of_strand["places"]
                is_donor = of_strand["signals"] == 0
                order = np.lexsort([is_donor, positions])
                strands.append((positions[order], is_donor[order]))
            stretches.append(Stretch(codes, strands))
        return stretches

    def _adapt(self) -> Estimates:
        """Adapt the relatives' site models to the calls; return the state with them."""
        self._at("learning sites")
        folds, whole, assumed = zip(*in_order(self._learn, range(len(ENDS))), strict=True)
        n_known = 0 if self.known_introns is None else self.known_introns.lengths.size
        pieces = transcribed(self._exons(self.posteriors))
        layer = with_numbers_of_genomes(self.model, self.state.ratios)
        (content,) = learn_contents([pieces], np.zeros((1, 1)), self.state.coding, [layer.stops])
        return replace(
            self.state,
            ends=list(zip(*folds, strict=True)),
            whole=whole,
            assumed=assumed,
            ratios=layer._replace(
                **self._lengths(self.posteriors)._asdict(),
                n_introns=self._called_lengths().size + n_known,
                coding=content.table,
                n_coding=content.n_bases,
            ),
        )

    def _learn(self, number: int) -> tuple[list[MultiTaskModel], MultiTaskModel, float]:
        """Adapt the site models of an end.

        Returns for each fold one that has not seen it, their mean, and the logit of the share of
        true sites that they assume.
        """
        model, end = (self.model.donor, self.model.acceptor)[number], ENDS[number]
        windows, folds, weights, share = self._examples(model, end)
        if self.state.is_alone:
            where: dict[str, Any] = {"like": self.like, "tree": self.tree}
            adapted = adapt(model, self.name, windows, **where, prevalence=share)
            return [adapted] * FOLDS, adapted, logit(share)
        parts = [np.flatnonzero(folds != fold) for fold in range(FOLDS)]
        held = np.zeros(len(windows))
        given = model, self.relatives, self.name, windows, weights, parts
        models = learn_parts(*given, trust=_TRUST, C=_C)
        for fold in range(FOLDS):
            rows = np.flatnonzero(folds == fold)
            held[rows] = models[fold].decision_function(windows[rows], [self.name] * rows.size)
        drawn = np.flatnonzero(folds >= 0)
        consensus = (
            model.site.consensus_of(windows[drawn]) if len(model.site.consensus) > 1 else None
        )
        y, weights = windows.labels[drawn], weights[drawn]
        for adapted in models:
            adapted.calibrate(self.name, held[drawn], y, weights, "auto", share, consensus)
        return models[:FOLDS], models[FOLDS], logit(share)

    def _examples(
        self, model: MultiTaskModel, end: str
    ) -> tuple[Windows, NDArray[np.int64], NDArray[np.float64], float]:
        """Return sites and decoys of U2-type introns, with the letters of the model.

        These are windows, the fold and the weight of each, and the share of true sites.
        """
        rng, layer = np.random.default_rng(0), self.state.layer()
        parts, n_known = [], 0
        for k, (sites, chain) in enumerate(self.posteriors):
            fold = np.full(len(sites), self.sample.fold[k])
            is_of_end = (sites["signals"] == ENDS.index(end)) & (sites["letters"] == 0)
            of_end = sites.adding(fold=fold, log_p=chain.sites).take(is_of_end & ~sites["is_u12"])
            is_known = self._is_labelled(of_end)
            n_known += int(is_known.sum())
            parts.append(of_end.take(~is_known))
        candidates = Sites.join(parts)
        candidates = candidates.adding(p=np.exp(candidates["log_p"]))
        is_site = (candidates["p"] >= _MIN_POSTERIOR) & (not self.state.is_alone)
        true, decoys = candidates.take(is_site), candidates.take(~is_site)
        share = max(n_known + true["p"].sum(), 1.0) / (n_known + len(candidates))
        true = true.take(_first_copies(self.sample.codes, true))
        true = true.take(_some(len(true), _MAX_SITES, rng))
        known_introns = self._known_windows(model, end, rng)
        n_given = sum(map(len, known_introns))
        if self.state.is_alone:
            decoys = decoys.take(_some(len(decoys), _DECOYS_OF_LABELLED, rng))
        else:
            # the odds without the own score s, times the probability 1 - p of a decoy: p exp(-s)
            log_weights = decoys["log_p"] - layer.scale * with_letters(decoys, layer)
            n_decoys = int(_DECOYS_PER_SITE * (true["p"].sum() + n_given))
            n_decoys = max(n_decoys, _MIN_DECOYS)
            decoys = decoys.take(_drawn(log_weights, n_decoys, rng))
        labels = np.repeat(np.array([1, -1], dtype=np.int8), [len(true), len(decoys)])
        both = Sites.join([true, decoys])
        drawn = self._windows(self.sample.codes, both, labels, model)
        folds = np.concatenate([both["fold"], np.full(n_given, -1)])
        weights = np.concatenate([true["p"], np.ones(len(decoys) + n_given)])
        return concatenate([drawn, *known_introns]), folds, weights, share

    def _known_windows(
        self, model: MultiTaskModel, end: str, rng: np.random.Generator
    ) -> list[Windows]:
        """Return the windows of labelled sites, if any."""
        if self.known_introns is None:
            return []
        sites = self.known_introns.donors if end == ENDS[0] else self.known_introns.acceptors
        sites = sites.take(_some(len(sites), _MAX_SITES, rng))
        labels = np.ones(len(sites), dtype=np.int8)
        return [self._windows(self.known_introns.genome.codes, sites, labels, model)]

    def _windows(
        self,
        codes: NDArray[np.uint8],
        sites: Sites,
        labels: NDArray[np.int8],
        model: MultiTaskModel,
    ) -> Windows:
        """Return the windows of sites, as a site model takes them."""
        return Windows(
            codes,
            sites.starts - model.site.offsets(sites.is_reverse, model.length),
            model.length,
            is_reverse=sites.is_reverse,
            labels=labels,
            task_names=(self.name,),
        )

    def _warnings(self) -> list[str]:
        """Return why there were no rounds, or else what is unlike the genomes tested."""
        if self.state.is_alone:
            return [
                "too few predictions for self-training, so the model was adapted to the known "
                "introns only"
            ]
        precision = precision_warnings(
            self.model.training.get("precision", {}), self._relatives_by_name
        )
        if self._shortage:
            return [
                f"{self._shortage}; the weights are those of the relatives; if 30 or more introns "
                "are known, give them with --introns",
                *precision,
            ]
        last = self.rounds[-1]
        has_calls, stops = sum(last.n_p90) > 0, self.state.ratios.stops
        warnings = warnings_for(self.sample, last, self.state.lengths, has_calls, stops)
        return [*precision, *warnings]

    def _calls(self) -> dict[str, Any]:
        """Return the number of introns expected, and called, with the share expected to be false.

        An intron has two sites, so half as many are expected as sites, unlikely ones among them.
        """
        expected = sum(expected_sites(self.posteriors)) / len(ENDS)
        p = listed_lengths(self.posteriors)[1] * CEILING
        calls = {name: p[p >= least] for name, least in (("p50", LIKELY), ("p90", HIGH))}
        return {
            "expected": CEILING * expected,
            **{
                name: [called.size, float((1 - called).sum() / max(called.size, 1))]
                for name, called in calls.items()
            },
        }

    @ONE_THREAD
    def paired(self) -> PairedModel:
        """Return the paired model with the organism."""
        layer = self.state.layer(CEILING)
        facts = {
            "rounds": [one.to_dict() for one in self.rounds],
            "bases": self.sample.size,
            "warnings": self._warnings(),
            "calls": self._calls(),
            "relatives": {
                "source": self.relatives.source,
                "weights": {
                    task: float(weight)
                    for task, weight in zip(self.model.donor.tasks, self.weights, strict=True)
                    if weight > 0
                },
            },
            "n_known": [len(self.known_introns.donors), len(self.known_introns.acceptors)]
            if self.known_introns
            else [0, 0],
        }
        unlabelled = {**self.model.training.get("unlabelled", {}), self.name: facts}
        donor, acceptor = (
            with_organism(end, learnt, self.weights) if learnt.tasks == (self.name,) else learnt
            for end, learnt in zip(
                (self.model.donor, self.model.acceptor), self.state.whole, strict=True
            )
        )
        return PairedModel(
            donor,
            acceptor,
            {**self.model.layer, self.name: layer},
            {**self.model.training, "unlabelled": unlabelled},
            self.model.edges,
            self.model.u12,
        )


def _groups_of(K: NDArray[np.float64], n: int) -> list[NDArray[np.int64]]:
    """Return at most n groups of similar organisms, by a task kernel K.

    Each is around one that is least similar to those before. (Gonzalez, 1985.)
    """
    R = similarity(K)
    centres = [int(R.sum(axis=1).argmax())]
    while len(centres) < min(n, len(R)):
        centres.append(int(R[:, centres].max(axis=1).argmin()))
    nearest = R[:, centres].argmax(axis=1)
    return [np.flatnonzero(nearest == k) for k in range(len(centres))]


def _is_among(
    introns: KnownIntrons | None, sample: GenomeSample
) -> Callable[[Sites], NDArray[np.bool_]]:
    """Return a function that finds which sites of the sample are labelled as true."""
    if introns is None:
        return lambda sites: np.zeros(len(sites), dtype=np.bool_)
    keys, genome = [], introns.genome
    for signal, sites in enumerate((introns.donors, introns.acceptors)):
        for (name, begin), (first, last) in zip(
            sample.origins, sample.bounds.tolist(), strict=True
        ):
            starts = sites.starts - int(genome.starts[genome.index(name)]) - begin + first
            inside = (starts >= first) & (starts < last)
            keys.append(_keys(starts[inside], sites.is_reverse[inside], signal))
    every = np.concatenate(keys)
    return lambda sites: np.isin(_keys(sites.starts, sites.is_reverse, sites["signals"]), every)


def _keys(starts: NDArray[np.int64], is_reverse: Any, signals: Any) -> NDArray[np.int64]:
    return starts * 4 + np.asarray(is_reverse) * 2 + np.asarray(signals)


def _first_copies(codes: NDArray[np.uint8], sites: Sites) -> NDArray[np.int64]:
    """Return the rows of sites whose surroundings no site before has: a repeat counts once."""
    around = np.arange(-_REPEAT_FLANK, SITE_LENGTH + _REPEAT_FLANK)
    near = codes[sites.starts[:, np.newaxis] + around]
    return np.sort(np.unique(near, axis=0, return_index=True)[1])


def _drawn(log_weights: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return n rows, or all, drawn by their weights without replacement.

    (They are those with the highest sums of log weights and Gumbel noise: Efraimidis and Spirakis,
    2006.)
    """
    keys = log_weights + rng.gumbel(size=log_weights.size)
    return np.argsort(-keys, kind="stable")[:n]


def _some(n: int, largest: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return rows, at most so many."""
    return np.arange(n) if n <= largest else np.sort(rng.choice(n, largest, replace=False))
