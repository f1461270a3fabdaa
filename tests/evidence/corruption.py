"""Corrupted proofs of fewest mistakes, and whether the checker accepts them."""

from dataclasses import replace
from fractions import Fraction

import rosenblatt as rb
from rosenblatt.evidence.certificate import Conflict, claim_mistakes, claim_weight, parse_claim
from rosenblatt.evidence.proof import Proof


def holds(found, proof):
    """Return whether a proof is accepted, directly and after it is saved and read."""
    answers = set()
    for read in (lambda: proof, lambda: Proof.from_json(proof.to_json())):
        try:
            answers.add(found.check(read(), again=True))
        except rb.ProofError:
            answers.add(False)
    assert len(answers) == 1
    return answers.pop()


def corrupted(rng, proof, many):
    """Draw proofs with one or two changes."""
    ways = [_claim, _part, _part, _prices, _alike, _walk]
    ways += [node] * 6 + [weighting] * 6 + [_no_tree] if proof.tree is not None else []
    while many:
        changed = proof
        for _ in range(int(rng.integers(1, 3))):
            changed = ways[int(rng.integers(len(ways)))](rng, changed)
        if changed != proof:
            many -= 1
            yield changed


def altered(rng, numbers, low, high):
    """Change, drop or add one number, or swap two."""
    numbers = list(numbers)
    at, new = int(rng.integers(len(numbers) + 1)), int(rng.integers(low, high))
    way = int(rng.integers(4))
    if way == 0 or at == len(numbers):
        numbers.insert(at, new)
    elif way == 1:
        numbers[at] = new
    elif way == 2:
        del numbers[at]
    else:
        numbers[at], numbers[0] = numbers[0], numbers[at]
    return tuple(numbers)


def _claim(rng, proof):
    weighs = "weigh" in proof.claim
    cost = parse_claim(proof.claim, weighs) + Fraction(1, 4 if weighs else 1)
    return replace(proof, claim=claim_weight(cost) if weighs else claim_mistakes(int(cost)))


def _part(rng, proof):
    if not proof.conflicts:
        return replace(proof, conflicts=(Conflict((0, 1), (1, 1)),))
    parts, at = list(proof.conflicts), int(rng.integers(len(proof.conflicts)))
    way = int(rng.integers(4))
    if way == 0:
        parts[at] = replace(parts[at], rows=altered(rng, parts[at].rows, -1, 9))
    elif way == 1:
        parts[at] = replace(parts[at], multipliers=altered(rng, parts[at].multipliers, -1, 4))
    elif way == 2:
        del parts[at]
    else:
        parts.insert(at, parts[int(rng.integers(len(parts)))])
    return replace(proof, conflicts=tuple(parts))


def node(rng, proof):
    if proof.tree is None:
        return proof
    low = -2 - len(proof.tree.weightings)
    return replace(proof, tree=replace(proof.tree, nodes=altered(rng, proof.tree.nodes, low, 9)))


def weighting(rng, proof):
    if proof.tree is None:
        return proof
    weightings = list(proof.tree.weightings)
    at = int(rng.integers(len(weightings)))
    one, way = weightings[at], int(rng.integers(4))
    if way == 0:
        one = replace(one, over=one.over + int(rng.integers(-2, 2)))
    elif way == 1:
        one = replace(one, sets=altered(rng, one.sets, -1, len(proof.conflicts) + 1))
    elif way == 2:
        one = replace(one, shares=altered(rng, one.shares, -1, 9))
    else:
        one = replace(one, sets=(*one.sets, 0), shares=(*one.shares, 1))
    weightings[at] = one
    return replace(proof, tree=replace(proof.tree, weightings=tuple(weightings)))


def _alike(rng, proof):
    groups = list(proof.duplicates)
    if groups and rng.random() < 0.3:
        return replace(proof, duplicates=tuple(groups[1:]))
    pair = tuple(sorted(rng.integers(-1, 9, size=2).tolist()))
    return replace(proof, duplicates=(*groups, pair))


def _prices(rng, proof):
    return replace(
        proof,
        sample_weight_digest="" if proof.sample_weight_digest and rng.random() < 0.5 else "ab" * 32,
    )


def _walk(rng, proof):
    return replace(proof, enumeration=("cells", "", "way")[int(rng.integers(3))])


def _no_tree(rng, proof):
    return replace(proof, tree=None)
