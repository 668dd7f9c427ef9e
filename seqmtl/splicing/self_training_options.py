"""Options of self-training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SelfTrainingOptions:
    """Options of :class:`~seqmtl.splicing.self_training.SelfTraining`.

    Attributes
    ----------
    donor_share : float
        Odds of donors with other letters to start from, divided by those of the others.
    u12_share : float
        U12-type introns per other intron to start from, where the relatives have any.
    u12_introns : int
        Introns that this counts as much as.
    chain_runs : int
        Runs of the chain, between which the lengths of introns, and how rare some are, are learnt.
    min_share : float
        Least share of true sites among the candidates, when kinds of donors are compared.
    lost_share : float
        Share of the true sites expected that have so low log-odds that parses do without, which
        saves time.
    min_length_posterior : float
        Least posterior of an intron whose length counts, by this.
    min_posterior : float
        Least posterior of a candidate that is taken for a site. This, `C`, and decoys drawn by
        their odds in context were chosen on eight pieces of genomes; others from 0.25 to 0.5 give
        a mean F1 of introns within 0.003.
    decoys_per_site, min_decoys : int
        Decoys for every site, and at least. Where the relatives lack coding content, a genome with
        few calls finds half as many introns with 2,000.
    max_sites : int
        Sites of each signal to learn from; more cost time and memory.
    trust : float
        Trust in the relatives. Chosen by the labels, it would vary more.
    C : float
        Cost of an example.
    repeat_flank : int
        Bases on either side of a site by which copies of a repeat are recognised.
    min_calls, min_calls_per_mb : float
        Calls to train on, or in a million bases; the lower of both decides. Yeast has 14, a fly
        whose introns are ten times as long as usual 42, and gains from training on them.
    min_calls_of_fold : int
        Calls outside each fold, never fewer.
    false_per_reversed : float
        False calls per call in the reversed genome, at worst. A piece of mouse with 0.45 such calls
        per call gains from training; shuffled genomes have 0.6 to 1.
    max_reversed_rate : float
        Calls in the reversed genome per call, beyond which a round is dropped; mammals have 0.1 to
        0.3.
    min_called_share : float
        Share of the true sites expected that must be more likely than not, before a round and after
        it. Held-out organisms had 0.56 to 0.95; a piece of a fly's genome full of repeats 0.22.
    max_rounds : int
        Rounds of training.
    min_gain : float
        Least growth of the expected number of sites, less those in the reversed genome, for
        another round; one that has fewer by as much is dropped.
    min_labelled_sites : int
        Labelled sites of each signal to learn from them alone; of yeast, 10 are too few.
    decoys_of_labelled : int
        Decoys beside labelled sites alone; 40 to 400 give an AUPRC that is 0.02 to 0.05 lower.
    error : float
        Error of the relatives' weights, see :func:`seqmtl.adaptation.relatives.spread`. It was
        chosen on pieces of genomes of a rust, a worm, two of a fly, a parasite, a human and a cat,
        with the organisms of the starter model nearest to each.
    comparison_bases, min_comparison_bases : float
        Bases in which all weights of relatives are compared, and at least each of them.
    control_bases : float
        Bases of the reversed genome, about.
    max_groups : int
        Groups of similar relatives that are compared.
    ceiling : float
        Highest probability claimed: calls of held-out organisms were right this often.
    """

    donor_share: float = 0.01
    u12_share: float = 0.003
    u12_introns: int = 1_000
    chain_runs: int = 3
    min_share: float = 5e-4
    lost_share: float = 0.001
    min_length_posterior: float = 0.1
    min_posterior: float = 0.35
    decoys_per_site: int = 16
    min_decoys: int = 5_000
    max_sites: int = 4_000
    trust: float = 0.7
    C: float = 0.3
    repeat_flank: int = 8
    min_calls: float = 24
    min_calls_per_mb: float = 5.0
    min_calls_of_fold: int = 4
    false_per_reversed: float = 2.0
    max_reversed_rate: float = 0.3
    min_called_share: float = 0.5
    max_rounds: int = 10
    min_gain: float = 0.01
    min_labelled_sites: int = 30
    decoys_of_labelled: int = 2_000
    error: float = 1.0
    comparison_bases: float = 2e6
    min_comparison_bases: float = 2.5e5
    control_bases: float = 2.5e6
    max_groups: int = 16
    ceiling: float = 0.97
