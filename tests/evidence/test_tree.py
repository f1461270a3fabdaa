"""A tree over conflicts proves a lower bound on mistakes, and nothing false is accepted."""

import json
import random
from dataclasses import replace
from fractions import Fraction

import corruption
import numpy as np
import pytest
import trees
from case_counts import count_cases, n_cases
from facts import refuses

import rosenblatt as rb
from rosenblatt.blocks import InOrder
from rosenblatt.evidence.certificate import ABOUT, Conflict, parse_claim
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.tree import Tree, Weighting
from rosenblatt.examples import Costs, Examples
from rosenblatt.files import compute_checksum

# no, yes, no, yes, no along a line: two mistakes, and no two of the blocking sets are disjoint
X, Y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1, 0]
PARTS = (
    Conflict((0, 1, 2), (1, 2, 1)),
    Conflict((0, 1, 4), (3, 4, 1)),
    Conflict((0, 3, 4), (1, 4, 3)),
    Conflict((2, 3, 4), (1, 2, 1)),
    Conflict((1, 2, 3), (1, 2, 1)),
)
THIRDS = Tree((-1,), (Weighting(3, (0, 1, 2, 3, 4), (1, 1, 1, 1, 1)),))
# Row 2 is a mistake, and so is one of 0, 1 and 4; or it is right, and one of 0, 1 and one of 3, 4.
ASKED = Tree((2, -1, -2), (Weighting(1, (1,), (1,)), Weighting(1, (0, 3), (1, 1))))
EXAMPLES = Examples.from_arrays(X, Y)


def proof_of(tree, cost=2, parts=PARTS, **more):
    return Proof.of_mistakes(EXAMPLES, cost, parts, tree=tree, **more)


def refused(proof, *about):
    """Return the message that a proof does not hold, checking its length."""
    with pytest.raises(rb.ProofError) as error:
        proof.check(*(about or (X, Y)))
    assert str(error.value).endswith(".")
    assert len(str(error.value)) < 1600
    return error.value


@pytest.mark.parametrize("tree", [THIRDS, ASKED])
def test_a_true_tree_is_accepted_and_survives_json(tree):
    proof = proof_of(tree)
    assert proof.check(X, Y)
    assert proof.claim == "at least 2 mistakes"
    again = Proof.from_json(proof.to_json())
    assert again == proof
    assert again.check(X, Y)
    assert proof_of(tree, 1).check(X, Y)  # less than it shows


def test_the_size_of_a_proof_is_in_words():
    assert proof_of(THIRDS).size == "5 conflicts"
    assert proof_of(ASKED).size == "5 conflicts, 1 branch"
    assert "5 conflicts, 1 branch" in proof_of(ASKED)._repr_html_()
    assert Proof.of_mistakes(EXAMPLES, 2, enumeration="cells").size == "enumeration of all cells"


ONE = Weighting(1, (1,), (1,))
WRONG_TREES = {
    "less than 3": proof_of(THIRDS, 3),
    "together less": proof_of(ASKED, 3),
    "too much on an open row": proof_of(Tree((-1,), (Weighting(2, (0, 1, 2, 3), (1, 1, 1, 1)),))),
    "whole shares on sets that meet": proof_of(Tree((-1,), (Weighting(1, (0, 3), (1, 1)),))),
    "a set that is hit": proof_of(Tree((2, -1, -1), (Weighting(1, (0, 3), (1, 1)),))),
    "asked twice where it is a mistake": proof_of(Tree((2, 2, -1, -1, -2), ASKED.weightings)),
    "asked twice where it is right": proof_of(Tree((2, -1, 2, -1, -2), ASKED.weightings)),
    "a missing subtree": proof_of(Tree((2, -1), ASKED.weightings)),
    "no nodes": proof_of(Tree((), ())),
    "nodes after the end": proof_of(Tree((2, -1, -2, -2), ASKED.weightings)),
    "a row that is not there": proof_of(Tree((5, -1, -2), ASKED.weightings)),
    "no such weighting": proof_of(Tree((2, -1, -3), ASKED.weightings)),
    "no such set": proof_of(Tree((-1,), (Weighting(1, (5,), (2,)),))),
    "a set from the end": proof_of(Tree((-1,), (Weighting(1, (-1,), (2,)),))),
    "a share of nothing": proof_of(Tree((-1,), (Weighting(1, (0, 1), (1, 0)),))),
    "a negative share": proof_of(Tree((-1,), (Weighting(1, (0, 1), (3, -1)),))),
    "a share without a set": proof_of(Tree((-1,), (Weighting(1, (0,), (1, 1)),))),
    "over nothing": proof_of(Tree((-1,), (Weighting(0, (0,), (1,)),))),
    "over less": proof_of(Tree((-1,), (Weighting(-1, (0,), (1,)),))),
    "no sets": proof_of(THIRDS, parts=()),
    "a set that does not block": proof_of(
        THIRDS, parts=(Conflict((0, 1, 2), (1, 2, 2)), *PARTS[1:])
    ),
    "a row twice in a set": proof_of(
        THIRDS, parts=(Conflict((0, 1, 2, 0), (1, 4, 2, 1)), *PARTS[1:])
    ),
    "a rest": proof_of(Tree((-1,), (ONE,)), 1, (Conflict((0,), (1,), 1), PARTS[1])),
    "weights of a line": replace(proof_of(THIRDS), weights=(1, 1)),
    "a verdict": replace(proof_of(THIRDS, parts=PARTS[:1]), claim="inseparable"),
    "no mistakes": replace(proof_of(THIRDS), claim="at least 0 mistakes"),
    "a weight": replace(proof_of(THIRDS), claim="mistakes that weigh at least 2"),
    "a walk as well": replace(proof_of(THIRDS), enumeration="cells"),
    "a tree on the walk": Proof.of_mistakes(EXAMPLES, 2, enumeration="cells", tree=THIRDS),
    "another walk": Proof.of_mistakes(EXAMPLES, 2, enumeration="moon"),
    "no tree where sets meet": proof_of(None, 5),
}


@pytest.mark.parametrize("name", WRONG_TREES)
def test_a_wrong_tree_is_refused_in_one_sentence(name):
    proof = WRONG_TREES[name]
    assert str(refused(proof)) == str(refused(Proof.from_json(proof.to_json())))


STRANGE = (1.0, True, "1", None, np.int64(1))


@pytest.mark.parametrize("v", STRANGE, ids=map(repr, STRANGE))
def test_only_python_integers_are_accepted(v):
    for tree in (
        Tree((v,), THIRDS.weightings),
        Tree((-1,), (Weighting(v, (0,), (1,)),)),
        Tree((-1,), (Weighting(1, (v,), (1,)),)),
        Tree((-1,), (Weighting(1, (0,), (v,)),)),
    ):
        refused(proof_of(tree))
    refused(proof_of(THIRDS, duplicates=((0, v),)))


def test_endless_numbers_are_counted_and_get_a_short_sentence():
    huge = 10**6000
    thirds = Weighting(3 * huge, (0, 1, 2, 3, 4), (huge,) * 5)
    assert proof_of(Tree((-1,), (thirds,))).check(X, Y)
    heavy = replace(thirds, shares=(huge + 1, *(huge,) * 4))
    for tree in (
        Tree((-1,), (heavy,)),
        Tree((-huge,), (thirds,)),
        Tree((huge,), (thirds,)),
        Tree((-1,), (replace(thirds, sets=(huge, 1, 2, 3, 4)),)),
    ):
        refused(proof_of(tree))


@pytest.mark.parametrize("big", [2**52, 2**60, 2**64])
def test_no_sum_is_rounded(big):
    """Shares are checked exactly below and above the limits of floats and 64 bits."""
    exact = Weighting(3 * big, (0, 1, 2, 3, 4), (big,) * 5)
    assert proof_of(Tree((-1,), (exact,))).check(X, Y)
    shares = (big + 1, *(big,) * 4)
    assert refused(proof_of(Tree((-1,), (replace(exact, shares=shares),)))).rows == (0,)


# Row 1 is there twice, row 2 three times.
MANY = ([*X, [2.0], [2.0], [1.0]], [*Y, 0, 0, 1])
ALIKE = ((2, 5, 6), (1, 7))
DEAR = Tree((-1,), (Weighting(1, (0, 4), (1, 1)),))


def test_equal_rows_cost_together():
    proof = Proof.of_mistakes(Examples.from_arrays(*MANY), 2, PARTS, tree=DEAR, duplicates=ALIKE)
    assert proof.check(*MANY)
    assert Proof.from_json(proof.to_json()).check(*MANY)
    assert refused(replace(proof, duplicates=()), *MANY).rows == (1,)
    assert refused(replace(proof, duplicates=ALIKE[:1]), *MANY).rows == (1,)
    for n in (5, 7):
        branched = Tree((n, -1, -1), DEAR.weightings)
        refused(replace(proof, tree=branched), *MANY)
    refused(replace(proof, claim="at least 3 mistakes"), *MANY)


def test_a_conflict_of_merged_rows_costs_its_cheapest_rows_together():
    about = ([[0.0]] * 5, [0, 0, 1, 1, 1])
    part, alike = Conflict((0, 2), (1, 1)), ((0, 1), (2, 3, 4))
    proof = Proof.of_mistakes(Examples.from_arrays(*about), 2, (part,), duplicates=alike)
    assert proof.check(*about)
    for cost in (1, 3):
        changed = replace(proof, claim=f"at least {cost} mistake{'s' * (cost > 1)}")
        refused(changed, *about)
    refused(replace(proof, duplicates=alike[1:]), *about)
    assert refused(replace(proof, conflicts=(Conflict((1, 2), (1, 1)),)), *about).rows == (1,)


WRONG_ALIKE = {
    "not alike": ((4, 5),),
    "alike but for the answer": ((2, 8),),
    "in two groups": ((2, 5), (5, 6)),
    "alone": ((2,),),
    "nobody": ((),),
    "twice": ((2, 2),),
    "out of order": ((5, 2),),
    "not there": ((2, 9),),
    "before the first": ((-1, 2),),
    "another than the first is named": ((0, 2),),
}


@pytest.mark.parametrize("name", WRONG_ALIKE)
def test_rows_that_differ_are_not_merged(name):
    about = ([*MANY[0], [2.0]], [*MANY[1], 1])
    fine = Proof.of_mistakes(Examples.from_arrays(*about), 2, PARTS, tree=ASKED)
    assert fine.check(*about)
    assert replace(fine, duplicates=ALIKE).check(*about)
    refused(replace(fine, duplicates=WRONG_ALIKE[name]), *about)


# As version 0.1 wrote it.
OLDER = {"format": "rosenblatt proof 1", "claim": "inseparable", "parts": [], "seal": "0"}


def test_refusals_match_the_golden_file(golden):
    lines = [f"{name}: {refused(proof)}" for name, proof in WRONG_TREES.items()]
    about = ([*MANY[0], [2.0]], [*MANY[1], 1])
    fine = Proof.of_mistakes(Examples.from_arrays(*about), 2, PARTS, tree=ASKED)
    for name, alike in WRONG_ALIKE.items():
        lines.append(f"{name}: {refused(replace(fine, duplicates=alike), *about)}")
    weighted = Proof.of_mistakes(EXAMPLES.weighted(WEIGHTS), 4, PARTS, tree=QUARTERS)
    walked = Proof.of_mistakes(EXAMPLES, 2, enumeration="cells")
    too_much = replace(walked, claim="at least 3 mistakes")
    for name, proof, given, again in (
        ("without its weights", weighted, (), False),
        ("with other weights", weighted, (1.0,), False),
        ("with weights it is not about", proof_of(THIRDS), (WEIGHTS,), False),
        ("without another walk", walked, (), False),
        ("a walk that finds fewer", too_much, (), True),
    ):
        with pytest.raises(rb.ProofError) as error:
            proof.check(X, Y, *given, again=again)
        lines.append(f"{name}: {error.value}")
    wide = np.eye(9), [0, 1, 0] * 3
    walked = Proof.of_mistakes(Examples.from_arrays(*wide), 1, enumeration="cells")
    with pytest.raises(rb.ProofError) as error:
        walked.check(*wide, again=True)
    lines.append(f"too many cells: {error.value}")
    with pytest.raises(rb.ProofError) as error:
        Proof.from_json(json.dumps(OLDER))
    lines.append(f"an older format: {error.value}")
    golden("refused-proofs.txt", "\n".join([*lines, ""]))


WEIGHTS = [1.0, 0.5, 2.0, 0.75, 1.0]  # in quarters 4, 2, 8, 3, 4: at least 5, rows 1 and 3
QUARTERS = Tree((-1,), (Weighting(1, (0, 4, 2), (1, 1, 2)),))


def test_weights_are_integer_multiples_of_one_unit():
    examples = EXAMPLES.weighted(WEIGHTS)
    proof = Proof.of_mistakes(examples, 4, PARTS, tree=QUARTERS)
    assert proof.claim == "mistakes that weigh at least 1"
    assert proof.check(X, Y, WEIGHTS)
    branched = Tree((1, -1, -2), (Weighting(1, (2,), (3,)), Weighting(1, (1, 4), (4, 3))))
    sharp = Proof.of_mistakes(examples, 5, PARTS, tree=branched)
    assert sharp.claim == "mistakes that weigh at least 5/4"
    assert sharp.check(X, Y, sample_weight=WEIGHTS)
    assert Proof.from_json(sharp.to_json()).check(X, Y, WEIGHTS)
    refused(replace(sharp, claim="mistakes that weigh at least 3/2"), X, Y, WEIGHTS)
    for claim in ("at least 1 mistake", "mistakes that weigh at least 10/8", "at least 5/4"):
        refused(replace(sharp, claim=claim), X, Y, WEIGHTS)


def test_between_two_units_a_claim_is_rounded_up():
    proof = Proof.of_mistakes(EXAMPLES.weighted(WEIGHTS), 4, PARTS, tree=QUARTERS)
    assert replace(proof, claim="mistakes that weigh at least 7/8").check(X, Y, WEIGHTS)
    refused(replace(proof, claim="mistakes that weigh at least 9/8"), X, Y, WEIGHTS)


def test_a_proof_about_weights_is_checked_only_with_those_weights():
    proof = Proof.of_mistakes(EXAMPLES.weighted(WEIGHTS), 4, PARTS, tree=QUARTERS)
    refused(proof)
    for n in range(5):
        other = list(WEIGHTS)
        other[n] = np.nextafter(other[n], 9.0)
        refused(proof, X, Y, other)
    refused(proof, X, Y, 1.0)
    refused(replace(proof, sample_weight_digest="0" * 64), X, Y, WEIGHTS)
    refused(proof_of(THIRDS), X, Y, WEIGHTS)
    refused(rb.separability(X, Y).proof, X, Y, WEIGHTS)


def test_disjoint_conflicts_claim_the_cheapest_row_of_each():
    weights = [1.0, 0.5, 2.0, 0.75, 0.1]
    proof = Proof.of_mistakes(EXAMPLES.weighted(weights), 2**54, PARTS[:1])
    assert Costs.of(EXAMPLES.weighted(weights)).each[1] == 2**54
    assert proof.claim == "mistakes that weigh at least 1/2"
    assert proof.check(X, Y, weights)
    for claim in ("mistakes that weigh at least 1", "mistakes that weigh at least 1/4"):
        refused(replace(proof, claim=claim), X, Y, weights)


def test_rows_of_weight_zero_count_nothing():
    weights = [1.0, 1.0, 0.0, 1.0, 1.0]
    examples = EXAMPLES.weighted(weights)
    for tree in (THIRDS, ASKED):
        proof = Proof.of_mistakes(examples, 2, PARTS, tree=tree)
        refused(proof, X, Y, weights)
    proof = Proof.of_mistakes(examples, 1, PARTS, tree=Tree((-1,), (ONE,)))
    assert proof.check(X, Y, weights)


def test_the_proof_of_fewest_mistakes_with_weights_claims_a_weight():
    rng = np.random.default_rng(0)
    for _ in range(5):
        table, answers = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
        answers[:2] = 0, 1
        weights = rng.integers(1, 5, 12) / 4
        found = rb.fewest_mistakes(table, answers, sample_weight=weights, random_state=0)
        if found.proof is not None:
            assert found.proof.check(table, answers, weights)
            assert 0 < parse_claim(found.proof.claim, weighs=True) <= found.lower_bound


def test_an_enumeration_is_confirmed_only_by_repeating_it():
    proof = Proof.of_mistakes(EXAMPLES, 2, enumeration="cells")
    refused(proof)
    assert proof.check(X, Y, again=True)
    assert Proof.from_json(proof.to_json()).check(X, Y, again=True)
    with pytest.raises(rb.ProofError):
        replace(proof, claim="at least 3 mistakes").check(X, Y, again=True)
    with refuses(rb.ProofError, ABOUT):
        proof.check(X, [1, 0, 1, 0, 1, 1][:5], again=True)
    weighted = Proof.of_mistakes(EXAMPLES.weighted(WEIGHTS), 5, enumeration="cells")
    assert weighted.check(X, Y, WEIGHTS, again=True)
    with pytest.raises(rb.ProofError):
        weighted.check(X, Y, again=True)
    assert proof_of(ASKED).check(X, Y, again=True)  # nothing to enumerate


def test_an_enumeration_without_weighted_rows_finds_no_mistakes():
    weightless = replace(EXAMPLES, weights=np.zeros(5))
    proof = Proof.of_mistakes(weightless, 1, enumeration="cells")
    with pytest.raises(rb.ProofError):
        proof.check(X, Y, np.zeros(5), again=True)


@pytest.mark.parametrize("weights", [[5e-324, 1e308, 1.0, 1.0, 1.0], [2.0**900] * 5, [3e-320] * 5])
def test_weights_of_any_size_are_exact(weights):
    examples = EXAMPLES.weighted(weights)
    least = min(Fraction(w) for w in weights[:3])
    cost = int(Costs.of(examples).each[:3].min())
    proof = Proof.of_mistakes(examples, cost, PARTS[:1])
    assert parse_claim(proof.claim, weighs=True) == least
    assert Proof.from_json(proof.to_json()).check(X, Y, weights)
    share = Weighting(1, (0,), (cost,))
    assert replace(proof, tree=Tree((-1,), (share,))).check(X, Y, weights)
    heavy = Weighting(1, (0,), (cost + 1,))
    refused(replace(proof, tree=Tree((-1,), (heavy,))), X, Y, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_can_be_given_in_blocks(weighted):
    for seed in range(n_cases(12)):
        found = trees.grown(seed, "tree", weighted)
        if found is None:
            continue
        examples = replace(
            Examples.from_arrays(found.X, found.y, x0=found.proof.x0), weights=found.weights
        )
        halves = [part(examples, slice(0, 2)), part(examples, slice(2, None))]
        assert found.proof.check_examples(InOrder(lambda halves=halves: halves))


def part(examples, rows):
    weights = None if examples.weights is None else examples.weights[rows]
    return replace(examples, X=examples.X[rows], y=examples.y[rows], weights=weights)


def test_a_tree_may_be_deeper_than_the_recursion_limit():
    """The tree branches on ten thousand pairs of rows, and both branches cost 1."""
    many = 10_000
    about = (np.repeat(np.arange(many), 2)[:, None].astype(float), [0, 1] * many)
    parts = tuple(Conflict((2 * i, 2 * i + 1), (1, 1)) for i in range(3))
    depth = 3000
    nodes = [*range(6, 6 + depth), *[-1] * (depth + 1)]
    tree = Tree(tuple(nodes), (Weighting(1, (0, 1, 2), (1, 1, 1)),))
    proof = Proof.of_mistakes(Examples.from_arrays(*about), 3, parts, tree=tree)
    assert proof.check(*about)
    assert Proof.from_json(proof.to_json()).check(*about)
    assert proof.size == "3 conflicts, 3,000 branches"
    refused(replace(proof, tree=Tree(tuple(nodes[:-1]), tree.weightings)), *about)


def test_older_formats_are_refused():
    content = json.loads(Proof.of_mistakes(EXAMPLES, 1, PARTS[:1]).to_json())
    assert list(content) == ["format", "claim", "data", "x0", "weights", "conflicts", "checksum"]
    assert OLDER["format"] != content["format"]
    with pytest.raises(rb.ProofError):
        Proof.from_json(json.dumps(OLDER))


MALFORMED = (
    {"tree": 7},
    {"tree": {}},
    {"tree": []},
    {"tree": {"nodes": [0.5], "weightings": []}},
    {"tree": {"nodes": "abc", "weightings": []}},
    {"tree": {"nodes": [-1], "weightings": [{"over": 1, "sets": [0]}]}},
    {"tree": {"nodes": [-1], "weightings": [{"over": "1", "sets": [0], "shares": [1]}]}},
    {"tree": {"nodes": [-1], "weightings": {"over": 1}}},
    {"tree": {"nodes": [-1], "weightings": [], "more": 1}},
    {"duplicates": 3},
    {"duplicates": [3]},
    {"duplicates": [[0, "1"]]},
    {"duplicates": {"0": 1}},
    {"duplicates": []},
    {"sample_weight_digest": 7},
    {"sample_weight_digest": ""},
    {"enumeration": True},
    {"enumeration": ["cells"]},
    {"tree": None},
    {"format": "rosenblatt proof 1"},
    {"format": ["rosenblatt proof 2"]},
    {"more": 1},
)


@pytest.mark.parametrize("change", MALFORMED, ids=map(str, MALFORMED))
def test_a_malformed_file_with_a_valid_checksum_gets_one_sentence(change):
    content = {**json.loads(proof_of(ASKED).to_json()), **change}
    content["checksum"] = compute_checksum(content)
    with pytest.raises(rb.ProofError) as error:
        Proof.from_json(json.dumps(content))
    assert str(error.value).endswith(".")


def test_a_changed_text_of_any_kind_is_not_accepted():
    """Change, drop or add one character in the JSON of each proof."""
    rng = random.Random(0)
    weighted = EXAMPLES.weighted(WEIGHTS)
    kinds = [
        (proof_of(ASKED), None),
        (Proof.of_mistakes(weighted, 4, PARTS, tree=QUARTERS), WEIGHTS),
        (Proof.of_mistakes(weighted, 2, PARTS[:1]), WEIGHTS),
        (Proof.of_mistakes(EXAMPLES, 2, enumeration="cells"), None),
    ]
    for proof, weights in kinds:
        text = proof.to_json()
        assert Proof.from_json(text).check(X, Y, weights, again=True)
        for _ in range(n_cases(210)):
            at = rng.randrange(len(text))
            new = rng.choice(["", rng.choice("0123456789abcdef-"), text[at] + "1"])
            changed = text[:at] + new + text[at + 1 :]
            if changed.split() == text.split() or text[at].isspace():
                continue
            with pytest.raises(rb.ProofError):
                Proof.from_json(changed).check(X, Y, weights, again=True)
            count_cases("changed texts of proofs")


@pytest.mark.parametrize("times_over", [1, 2**40, 2**70])
def test_the_checker_matches_a_simple_one_on_any_tree(times_over):
    """Compare verdicts on random true trees, most of them changed, in any numbers."""
    rng = np.random.default_rng(times_over % 1000)
    right = wrong = 0
    for _ in range(n_cases(150)):
        costs = {n: int(c) for n, c in enumerate(rng.integers(0, 4, size=6))}
        sets = [tuple(np.flatnonzero(rng.random(6) < 0.5).tolist()) or (0,) for _ in range(5)]
        need = trees.fewest([Conflict(rows, rows) for rows in sets], costs)
        gardener = trees.Gardener(rng, sets, costs, need)
        gardener.grow()
        tree = Tree(tuple(gardener.nodes), tuple(gardener.weightings))
        for other in (tree, *(changed_tree(rng, tree, len(sets)) for _ in range(6))):
            more = int(rng.random() < 0.2)
            expected = trees.holds(other, sets, costs, need + more)
            big = Tree(other.nodes, tuple(scaled(w, times_over) for w in other.weightings))
            assert (big.fault(sets, costs, need + more) is None) == expected
            right, wrong = right + expected, wrong + (not expected)
    assert min(right, wrong) > 100
    count_cases("trees, beside an obvious checker in fractions", right + wrong)


def scaled(weighting, by):
    return Weighting(
        weighting.over * by, weighting.sets, tuple(share * by for share in weighting.shares)
    )


def changed_tree(rng, tree, sets):
    way = corruption.node if rng.random() < 0.5 else corruption.weighting
    return way(rng, Proof("", "", conflicts=(PARTS[0],) * sets, tree=tree)).tree


KINDS = [(kind, weighted) for kind in trees.MADE for weighted in (False, True)]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("kind", "weighted"), KINDS)
def test_no_corrupted_proof_is_accepted_unless_it_is_true(kind, weighted):
    """A changed proof is accepted only if its claim is still true."""
    rng = np.random.default_rng(7)
    refused, accepted = 0, 0
    for seed in range(n_cases(60)):
        found = trees.grown(seed, kind, weighted)
        if found is None:
            continue
        assert found.check(found.proof, again=True)
        assert parse_claim(found.proof.claim, weighted) <= found.fewest
        for changed in corruption.corrupted(rng, found.proof, 7):
            if corruption.holds(found, changed):
                assert parse_claim(changed.claim, weighted) <= found.fewest
                accepted += 1
            else:
                refused += 1
    assert refused >= 200
    count_cases("corrupted proofs of fewest mistakes, none accepted that claims too much", refused)
    count_cases("changed proofs of fewest mistakes that are true all the same", accepted)
