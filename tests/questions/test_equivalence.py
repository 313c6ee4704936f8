"""The verdict on two engines' outputs, and what is refused."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from generated import chain, sampled, speculated

from specplan.domain.outputs import Outputs
from specplan.errors import InputError, Refused, UsageError
from specplan.physics.rounds import random_chains
from specplan.physics.verify import Bug
from specplan.questions.equivalence import equivalence
from specplan.questions.equivalence_asked import join


def outputs(prompts, name="plain.jsonl", **more) -> Outputs:
    """As if read from a file; outputs are sequences of token ids."""
    held = {
        prompt: [array("i", list(map(int, one))) for one in arm] for prompt, arm in prompts.items()
    }
    return Outputs(
        **{"name": name, "unit": "tokens", "named_by": "prompt_id", "prompts": held} | more
    )


def sampled_files(prompts=4, n=30, bug=None):
    """A plain file and one of an engine that speculates."""
    rng = np.random.default_rng(1)
    plain, spec = {}, {}
    for prompt in range(prompts):
        target, draft = random_chains(8, prompt)
        plain[f"q{prompt}"] = speculated(target, target, 3, 24, n, rng)
        spec[f"q{prompt}"] = speculated(target, draft, 3, 24, n, rng, bug)
    return outputs(plain), outputs(spec, "spec.jsonl")


def greedy_files(parting, length=50):
    """Greedy outputs of two engines, of which those numbered part at the middle."""
    plain = {f"q{i}": [[i] * length] for i in range(40)}
    spec = {
        prompt: [
            [*tokens[: length // 2], 99, *tokens[length // 2 + 1 :]] if i in parting else tokens
        ]
        for i, (prompt, (tokens,)) in enumerate(plain.items())
    }
    return outputs(plain), outputs(spec, "spec.jsonl")


def lines(answer) -> str:
    return " ".join(
        line for section in answer.view.sections for line in getattr(section, "lines", ())
    )


# Sampled outputs


def test_one_distribution_is_not_told_from_another_by_few_outputs():
    answer = equivalence(*sampled_files())
    value = answer.value
    assert (answer.ok, value.verdict, value.decoding) == (True, "unsure", "sampled")
    assert answer.view.title == "No difference seen, but too few outputs"
    assert (value.prompts, value.plain_outputs, value.spec_outputs) == (4, 120, 120)
    assert value.permutations == 1999
    assert value.power < 0.9
    assert value.smallest_tv > 0.02
    assert value.sees_best == "token after a token"
    assert value.tv_low <= max(value.tv, 0) <= value.tv_high
    more = (value.smallest_tv / 0.02) ** 2
    assert f"About {more:.0f} times the outputs make it 90 %." in lines(answer)
    assert answer.basis.says == "permutation tests, level 0.01"


def test_enough_outputs_for_what_is_asked():
    answer = equivalence(*sampled_files(), sensitivity=0.5)
    assert (answer.ok, answer.value.verdict) == (True, "same")
    assert answer.value.power >= 0.9
    assert answer.view.title == "No difference seen"
    assert "A mean TV of 0.5 would have shown with probability 100 %" in lines(answer)


def test_a_bug_is_the_answer_no():
    answer = equivalence(*sampled_files(bug=Bug.INVERTED_RATIO))
    assert (answer.ok, answer.value.verdict) == (False, "differs")
    assert "surprise" in answer.value.differing
    assert answer.view.title == "The distributions differ"
    rows = list(answer.table.records())
    tests, prompts = rows[:8], rows[8:]
    assert [row["test"] for row in tests if row["differs"]] == list(answer.value.differing)
    assert all(row["prompt"] is None for row in tests)
    assert sorted(row["prompt"] for row in prompts) == ["q0", "q1", "q2", "q3"]
    deviations = [row["deviation"] for row in prompts]
    assert deviations == sorted(deviations, reverse=True)
    assert "Prompts that stand out most:" in lines(answer)


def test_the_seed_decides():
    files = sampled_files(n=12)
    one, same, other = (list(equivalence(*files, seed=s).table.records()) for s in (0, 0, 1))
    assert one == same
    assert one != other


def test_progress_is_told_prompt_by_prompt():
    told = []
    equivalence(*sampled_files(n=12), done=told.append)
    assert told == [1] * 4


def test_permutations_follow_the_level():
    files = sampled_files(n=12)
    assert equivalence(*files, level=0.1).value.permutations == 199
    assert equivalence(*files, level=0.1, permutations=500).value.permutations == 500
    with pytest.raises(UsageError, match=r"78 permutations at level 0.1; expected 79 to 1,000,000"):
        equivalence(*files, level=0.1, permutations=78)
    with pytest.raises(UsageError, match="1,000,001 permutations"):
        equivalence(*files, permutations=1_000_001)


@pytest.mark.parametrize("level", [0, -0.1, 9e-6, 0.51, float("nan")])
def test_levels_out_of_range(level):
    with pytest.raises(UsageError, match=r"level is .*; expected 0.00001 to 0.5"):
        equivalence(*sampled_files(n=12), level=level)


@pytest.mark.parametrize("sensitivity", [-0.1, 1.01, float("nan")])
def test_sensitivities_out_of_range(sensitivity):
    with pytest.raises(UsageError, match=r"sensitivity is .*; expected a TV from 0 to 1"):
        equivalence(*sampled_files(n=12), sensitivity=sensitivity)


def test_too_few_outputs_for_any_test_are_refused():
    rng = np.random.default_rng(0)
    files = [outputs({"q": list(rng.integers(0, 9, (4, 5)))}, name) for name in ("a", "b")]
    with pytest.raises(Refused, match="4 and 4 outputs to 1 prompt cannot show a difference"):
        equivalence(*files)
    assert equivalence(*files, level=0.5).value.decoding == "sampled"


def test_no_place_that_enough_outputs_reach():
    rng = np.random.default_rng(0)
    files = [
        outputs(
            {
                f"q{i}": [rng.integers(0, 10**6, rng.integers(1, 9)) for _ in range(2)]
                for i in range(30)
            }
        )
        for _ in range(2)
    ]
    answer = equivalence(files[0], files[1])
    assert answer.value.verdict == "unsure"
    assert answer.value.power is answer.value.smallest_tv is answer.value.sees_best is None
    assert "No place is reached by enough outputs" in lines(answer)


# Greedy outputs


def test_identical_greedy_outputs():
    plain, spec = greedy_files(())
    answer = equivalence(plain, spec)
    assert (answer.ok, answer.value.verdict, answer.value.decoding) == (True, "same", "greedy")
    assert answer.view.title == "Greedy outputs are identical"
    assert answer.value.greedy.rate == 0
    assert answer.value.greedy.first is answer.value.greedy.quartiles is None
    assert answer.notes == (
        "one output to each prompt: taken for greedy; sampled ones need several",
    )


@pytest.mark.parametrize(
    ("parting", "sensitivity", "verdict"),
    [
        (range(3), 0.02, "same"),  # 3 of 1,965 tokens
        (range(3), 0.001, "unsure"),
        (range(3), 0.0, "differs"),
        (range(40), 0.02, "differs"),  # once in 26 tokens
    ],
)
def test_greedy_outputs_that_part(parting, sensitivity, verdict):
    answer = equivalence(*greedy_files(parting), sensitivity=sensitivity)
    assert answer.value.verdict == verdict
    assert answer.ok == (verdict != "differs")
    told = answer.value.greedy
    assert (told.diverged, told.identical) == (len(parting), 40 - len(parting))
    assert told.compared == 26 * len(parting) + 51 * (40 - len(parting))
    assert told.rate == told.diverged / told.compared
    assert told.rate_low < told.rate < told.rate_high
    assert (told.first, told.quartiles) == (26, (26, 26, 26))
    rows = list(answer.table.records())
    assert [(row["first"], row["last"]) for row in rows] == [(1, 1), (2, 4), (5, 16), (17, 64)]
    assert [row["diverged"] for row in rows] == [0, 0, 0, len(parting)]


def test_one_output_that_parts():
    told = equivalence(*greedy_files((7,))).value.greedy
    assert (told.first, told.quartiles) == (26, (26, 26, 26))


def test_outputs_repeated_are_greedy_too():
    plain = outputs({"q": [[1, 2]] * 3, "r": [[4]]})
    spec = outputs({"q": [[1, 2]], "r": [[4]] * 2}, "spec")
    answer = equivalence(plain, spec)
    assert answer.value.decoding == "greedy"
    assert answer.notes == ()
    assert (answer.value.plain_outputs, answer.value.spec_outputs) == (4, 3)


def test_one_engine_that_samples_is_enough_to_test():
    rng = np.random.default_rng(0)
    plain = outputs({f"q{i}": [[1, 2, 3]] * 10 for i in range(4)})
    rows = chain(4, rng)
    spec = outputs({f"q{i}": sampled(rows[0], rows, 3, 10, rng) for i in range(4)}, "spec")
    answer = equivalence(plain, spec)
    assert (answer.value.decoding, answer.value.verdict) == ("sampled", "differs")


# What is joined


def test_prompts_of_one_file_alone_are_told():
    plain, spec = sampled_files(n=12)
    extra = {f"x{i}": [array("i", [1])] for i in range(5)}
    more = outputs({**dict(list(spec.prompts.items())[1:]), **extra}, "spec.jsonl")
    answer = equivalence(plain, more)
    assert (answer.value.prompts, answer.value.plain_only, answer.value.spec_only) == (3, 1, 5)
    assert answer.notes == (
        "in plain.jsonl alone, not compared: 1 prompt (q0)",
        "in spec.jsonl alone, not compared: 5 prompts (x0, x1, x2, ...)",
    )


def test_prompts_are_joined_whatever_their_order():
    plain, spec = sampled_files(n=12)
    turned = outputs(dict(reversed(spec.prompts.items())), "spec.jsonl")
    joined = join(plain, turned)
    assert joined.names == ("q0", "q1", "q2", "q3")
    assert joined.pairs == join(plain, spec).pairs


def test_files_that_have_nothing_in_common():
    plain, spec = outputs({"a": [[1]]}), outputs({"b": [[1]]}, "spec.jsonl", named_by="")
    with pytest.raises(InputError) as refused:
        equivalence(plain, spec)
    assert str(refused.value) == (
        "no prompt of plain.jsonl is in spec.jsonl; they are named by prompt_id in one and by line "
        "in the other; give both the same prompt_id"
    )


def test_a_line_is_no_name():
    plain, spec = outputs({"1": [[1]]}), outputs({"1": [[1]]}, "spec.jsonl", named_by="")
    with pytest.raises(InputError, match="named by prompt_id in one and by line in the other"):
        equivalence(plain, spec)
    lines = [outputs({"1": [[1]]}, name, named_by="") for name in ("a", "b")]
    assert equivalence(*lines).notes == (
        "one output to each prompt: taken for greedy; sampled ones need several; lines without a "
        "prompt_id are a prompt each",
    )


def test_tokens_are_not_held_against_text():
    with pytest.raises(InputError, match=r"has token ids and spec.jsonl text; give the same of"):
        equivalence(outputs({"a": [[1]]}), outputs({"a": [[1]]}, "spec.jsonl", unit="text"))


def test_files_that_are_alike_are_told():
    plain, spec = (outputs({"q": [[1]], "r": [[2]] * 2}, name, sha256="0" * 64) for name in "ab")
    assert equivalence(plain, spec).notes == ("both files are the same, byte for byte",)


def test_other_limits_of_length_are_told():
    rng = np.random.default_rng(0)
    plain, spec = (
        outputs({f"q{i}": rng.integers(0, 3, (10, length)) for i in range(4)}, name)
        for name, length in (("plain.jsonl", 8), ("spec.jsonl", 6))
    )
    answer = equivalence(plain, spec)
    assert answer.value.verdict == "differs"
    assert answer.notes == (
        "many outputs of plain.jsonl end at 8 tokens, of spec.jsonl at 6: is the limit the same?",
    )


def test_text_is_counted_in_pieces():
    plain, spec = sampled_files(n=12)
    answer = equivalence(
        outputs(plain.prompts, unit="text"),
        outputs(spec.prompts, "spec.jsonl", unit="text"),
    )
    assert answer.notes == (
        "text is compared in pieces of up to four letters; token ids tell more",
    )
    assert answer.view.caption[1] == "4 prompts, 48 and 48 outputs, text"
