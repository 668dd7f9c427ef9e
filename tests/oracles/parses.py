"""All parses of a strand into exons and introns, one by one, and a plain quadratic reference."""

import math


def posteriors_by_enumeration(donors, acceptors, weigh, gap):
    """Return {donor}, {acceptor}, {(donor, acceptor)} to probabilities, by listing all parses.

    `weigh(i, j)` is the weight of an intron, 0 if impossible; `gap(j, i)` that of the exon between
    acceptor j and the next donor i.
    """
    introns = [(i, j) for i in range(len(donors)) for j in range(len(acceptors)) if weigh(i, j) > 0]
    shares, total = {}, 0.0

    def extend(parse, weight):
        nonlocal total
        total += weight
        for i, j in parse:
            for key in (("d", i), ("a", j), (i, j)):
                shares[key] = shares.get(key, 0.0) + weight
        for i, j in introns:
            if parse:
                last = parse[-1][1]
                if donors[i] < acceptors[last] or gap(last, i) == 0:
                    continue
                extend([*parse, (i, j)], weight * gap(last, i) * weigh(i, j))
            else:
                extend([(i, j)], weigh(i, j))

    extend([], 1.0)
    return {key: weight / total for key, weight in shares.items()}


def posteriors_by_pairs(donors, acceptors, log_weigh, log_gap):
    """Return log posteriors of donors and acceptors from all pairs of introns, in logarithms."""
    n, m = len(donors), len(acceptors)

    def log_sum(values):
        best = max(values)
        return (
            best
            if best == -math.inf
            else best + math.log(math.fsum(math.exp(v - best) for v in values))
        )

    opens, closes = {}, {}
    order = sorted(
        [(p, 1, i) for i, p in enumerate(donors)] + [(p, 0, j) for j, p in enumerate(acceptors)]
    )
    for place, is_donor, k in order:
        if is_donor:
            before = [j for j in closes if acceptors[j] <= place]
            opens[k] = log_sum([0.0, *(closes[j] + log_gap(j, k) for j in before)])
        else:
            before = [i for i in opens if donors[i] < place]
            closes[k] = log_sum([-math.inf, *(opens[i] + log_weigh(i, k) for i in before)])
    total = log_sum([0.0, *closes.values()])
    ends, begins = {}, {}
    for place, is_donor, k in reversed(order):
        if is_donor:
            after = [j for j in ends if acceptors[j] > place]
            begins[k] = log_sum([-math.inf, *(log_weigh(k, j) + ends[j] for j in after)])
        else:
            after = [i for i in begins if donors[i] >= place]
            ends[k] = log_sum([0.0, *(log_gap(k, i) + begins[i] for i in after)])
    return (
        [opens[i] + begins[i] - total for i in range(n)],
        [closes[j] + ends[j] - total for j in range(m)],
    )
