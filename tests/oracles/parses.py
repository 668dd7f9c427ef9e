"""All parses of a contig into coding sequence and introns, one by one, and a plain recursion.

States between sites: 0 is outside coding sequence, (strand, frame) codes. `case` has places,
strands, kinds (names below), weights, content (a row per site: the factors of coding since the site
before, in frames 0 to 2 of both strands), intron and exon (functions of the length, 0 where there
can be none), enter, leave (per base) and shifts (outside, inside).
"""

KINDS = ["intron", "exon", "code", "stop coding"]  # what begins
CODING = [(strand, frame) for strand in (0, 1) for frame in range(3)]
STATES = [0, *CODING]


def _moves(case, k, state):
    """(state after site k, weight, edges taken there) of what can happen since the site before."""
    moves = []
    for here, factor in _since(case, k, state):
        moves.append((here, factor, []))
        if (beyond := _beyond(case, k, here)) is not None:
            moves.append((beyond, factor * case["weights"][k], [(k,)]))
    return moves


def _since(case, k, state):
    """(state at site k, weight) of what can happen since the site before."""
    length = case["places"][k] - case["places"][k - 1] if k else 0
    if not length:
        return [(state, 1.0)]
    content = case["content"][k]
    if state:
        factor = content[3 * state[0] + state[1]]
        return [(state, factor), (0, case["leave"] * length * (1 + factor) / 2)]
    begun = [
        (own, case["enter"] * length * (1 + content[3 * own[0] + own[1]]) / 2) for own in CODING
    ]
    return [(state, 1.0), *begun]


def _beyond(case, k, state):
    """State after the edge of a gene at site k, or None if there is none in this state."""
    strand, place = case["strands"][k], case["places"][k]
    coding = strand, place % 3
    edges = {"code": (0, coding), "stop coding": (coding, 0)}
    before, after = edges.get(case["kinds"][k], (None, None))
    return after if state == before else None


def _after(case, i, j, state):
    """State after an intron from site i to j, or None if there is no such intron."""
    strand = case["strands"][i]
    if case["kinds"][i] != "intron" or case["kinds"][j] != "exon" or case["strands"][j] != strand:
        return None
    if not state:
        return state
    if state[0] != strand:
        return None
    # the reading frame goes on after the intron as if it were cut out
    return state[0], (state[1] + case["places"][j] - case["places"][i]) % 3


def _weight(case, i, j, state):
    length = case["places"][j] - case["places"][i]
    both = case["weights"][i] * case["weights"][j] * case["shifts"][bool(state)]
    return both * case["intron"](length)


def _exon(case, j, i, state):
    """Additional weight of what lies between an intron that ends at j and one that starts at i."""
    if case["kinds"][i] != "intron" or case["strands"][i] != case["strands"][j]:
        return 0.0
    length = case["places"][i] - case["places"][j]
    weight = case["exon"](length)
    if state:
        for k in range(j + 1, i + 1):
            if case["places"][k] > case["places"][k - 1]:
                weight *= case["content"][k][3 * state[0] + state[1]]
    return weight


def all_parses(case):
    """Yield the weight of every parse, and the sites of its introns and edges, in order."""
    n = len(case["places"])

    def go_on(k, state, weight, introns):
        if k == n:
            yield weight, introns
            return
        for here, factor, edges in _moves(case, k, state):
            yield from go_on(k + 1, here, weight * factor, [*introns, *edges])
            yield from open_at(k, here, weight * factor, introns)

    def open_at(k, here, weight, introns):
        for j in range(k + 1, n):
            after = _after(case, k, j, here)
            if after is not None and _weight(case, k, j, here) > 0:
                own, known = weight * _weight(case, k, j, here), [*introns, (k, j)]
                yield from go_on(j + 1, after, own, known)
                for i in range(j + 1, n):  # the exon up to i weighs more
                    if (more := _exon(case, j, i, after)) > 0:
                        yield from open_at(i, after, own * more, known)

    for state in STATES:
        yield from go_on(0, state, 1.0, [])


def total_weight(case):
    """Sum of the weights of all parses, by a recursion over sites from the left."""
    n = len(case["places"])
    arriving, closed = ([dict.fromkeys(STATES, 0.0) for _ in range(n + 1)] for _ in range(2))
    arriving[0] = dict.fromkeys(STATES, 1.0)
    for k in range(n):
        here = dict.fromkeys(STATES, 0.0)
        for state, value in arriving[k].items():
            for other, factor, _ in _moves(case, k, state):
                here[other] += value * factor
        for state, value in here.items():
            arriving[k + 1][state] += value
            # `closed`: parses whose last intron ends at a site
            value += sum(closed[j][state] * _exon(case, j, k, state) for j in range(k))
            for j in range(k + 1, n):
                after = _after(case, k, j, state)
                if after is not None:
                    weight = value * _weight(case, k, j, state)
                    arriving[j + 1][after] += weight
                    closed[j][after] += weight
    return sum(arriving[n].values())
