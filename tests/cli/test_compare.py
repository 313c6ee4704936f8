"""compare as it is typed, over the real catalogue: who is compared, by whose acceptance, and why
others are not.
"""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path

import pytest
from typed import ROOT, answered, one_line

import specplan
from specplan.catalogue.store import Catalogue
from specplan.cli import complete
from specplan.cli.show import MOST_SAID
from specplan.domain.hardware import Hardware
from specplan.questions.compare_entry import COLUMNS, SORTS

ASKED = ("compare", "-t", "qwen3-8b", "-g", "h100-sxm")
TARGET = Catalogue().model("qwen3-8b").card
LOOKUP = "needs how often it finds drafts and what is kept: -a {0}=burst:.2@3.1"


def envelope(capsys, *words: str, code: int = 0) -> dict:
    said = answered(capsys, [*words, "-f", "json"])
    assert said.code == code, said.err
    return json.loads(said.out)


def rows(capsys, *words: str, code: int = 0) -> dict[str, dict]:
    """Rows by what drafts."""
    return {row["draft"]: row for row in envelope(capsys, *words, code=code)["rows"]}


def refused(capsys, *words: str) -> str:
    said = answered(capsys, words)
    assert (said.code, said.out) == (2, "")
    return one_line(said)


def put(name: str, text: str) -> None:
    """A card of one's own."""
    Path("specplan.d").mkdir(exist_ok=True)
    Path("specplan.d", f"{name}.yaml").write_text(text, "utf-8")


def packaged(name: str) -> str:
    return (ROOT / "models" / f"{name}.yaml").read_text("utf-8")


# Who is compared


def test_without_a_drafter_all_that_fit_the_target(capsys):
    found = rows(capsys, *ASKED, "-a", "0.7")
    heads = {"dflash-qwen3-8b", "dspark-qwen3-8b", "eagle3-qwen3-8b"}
    small = {"qwen3-0.6b", "qwen3-1.7b", "qwen2.5-0.5b", "qwen2.5-1.5b", "qwen3-vl-2b"}
    assert {name for name, row in found.items() if row["k"] is not None} == heads | small | {"none"}
    for name in ("ngram", "suffix"):
        assert found[name]["reason"] == LOOKUP.format(name)
        assert found[name]["speedup"] is None
    listed = answered(capsys, ["models", "list", "--for", "qwen3-8b", "-f", "json"])
    assert {row["name"] for row in json.loads(listed.out)["rows"]} == heads | small


def test_all_and_more(capsys):
    found = rows(capsys, *ASKED, "-a", "0.7", "-d", "all,lookahead,ratio:0.05,ngram")
    usual = rows(capsys, *ASKED, "-a", "0.7")
    assert {*found} == {*usual, "lookahead", "ratio:0.05"}
    assert found["ngram"]["k"] is None  # one acceptance for all says nothing of a lookup
    assert "needs how often it finds drafts" in found["ngram"]["reason"]
    assert found["suffix"]["k"] is None


def test_a_lookup_takes_an_acceptance_that_says_how_often_it_fires(capsys):
    found = rows(capsys, *ASKED, "-a", "burst:.3@4")
    assert found["ngram"]["acceptance"] == found["eagle3-qwen3-8b"]["acceptance"] == "burst:0.3@4"
    assert found["ngram"]["k"] > 0


def test_exactly_those_that_are_named_and_none(capsys):
    found = rows(capsys, *ASKED, "-a", "0.7", "-d", "eagle3,free")
    assert {*found} == {"eagle3-qwen3-8b", "free", "none"}
    assert {*rows(capsys, *ASKED, "-a", "0.7", "-d", "none")} == {"none"}


def test_a_kind_is_every_head_of_it(capsys):
    found = rows(capsys, *ASKED, "-a", "0.7", "-d", "block")
    assert {*found} == {"dflash-qwen3-8b", "dspark-qwen3-8b", "none"}


def test_a_card_of_ones_own_is_a_candidate(capsys):
    text = packaged("eagle3-qwen3-8b").replace("name: eagle3-qwen3-8b", "name: mine")
    put("mine", "".join(t for t in text.splitlines(True) if not t.startswith("aliases")))
    small = packaged("qwen3-0.6b").replace("name: qwen3-0.6b", "name: tiny")
    put("tiny", "".join(t for t in small.splitlines(True) if not t.startswith("aliases")))
    put("broken", "schema: model/1\ndrafts: {kind: eagle3, targets: [qwen3-8b]}\n")
    found = rows(capsys, *ASKED, "-a", "0.7")
    assert found["mine"]["speedup"] == found["eagle3-qwen3-8b"]["speedup"]
    assert found["tiny"]["speedup"] == found["qwen3-0.6b"]["speedup"]
    assert "broken" not in found


def test_every_axis_makes_candidates(capsys):
    words = ("-d", "eagle3,llama-3.2-1b", "-g", "h100,h200", "--tp", "4,8", "-e", "roofline,vllm")
    found = envelope(capsys, "compare", "-t", "llama-3.3-70b", *words, "-a", "0.7")["rows"]
    assert len(found) == 3 * 2 * 2 * 2
    places = {(row["hardware"], row["tp"], row["engine"]) for row in found}
    assert places == {
        (gpu, tp, engine)
        for gpu in ("h100-sxm", "h200-sxm")
        for tp in (4, 8)
        for engine in ("roofline", "vllm")
    }
    for place in places:
        here = [r for r in found if (r["hardware"], r["tp"], r["engine"]) == place]
        (none,) = [row for row in here if row["draft"] == "none"]
        assert {row["plain_tpot_s"] for row in here} == {none["tpot_s"]}
    types = ("--dtype", "bf16,fp8", "--kv-dtype", "bf16,fp8", "--draft-tp", "1,2", "--tp", "2")
    many = envelope(capsys, *ASKED, "-d", "eagle3,ngram", *types, "-a", "0.7")["rows"]
    assert len(many) == 4 * (1 + 2 + 1)  # what has no weights lies on no GPUs of its own
    split = ("--tp", "8", "--ep", "1,8", "--attention-dp", "1,8", "-d", "eagle3", "-a", "0.7")
    sparse = envelope(capsys, "compare", "-t", "qwen3-30b-a3b", "-g", "h100", *split)["rows"]
    assert len({(row["ep"], row["attention_dp"]) for row in sparse}) == 4


def test_several_targets_have_drafters_each(capsys):
    words = (
        "compare",
        "-t",
        "llama-3-8b,llama-3.1-8b",
        "-g",
        "h100",
        "-d",
        "eagle3,mlp-speculator",
    )
    found = envelope(capsys, *words, "-a", "0.7")["rows"]
    assert [
        (r["target"], r["draft"]) for r in found if r["k"] is not None and r["kind"] != "none"
    ] == [
        ("llama-3.1-8b", "eagle3-llama-3.1-8b"),
        ("llama-3-8b", "mlp-speculator-llama-3-8b"),
    ]
    reasons = {(r["target"], r["draft"]): r["reason"] for r in found if r["k"] is None}
    assert reasons["llama-3-8b", "eagle3"].startswith(
        "no card of kind eagle3 drafts for llama-3-8b"
    )
    assert ("llama-3.1-8b", "mlp-speculator") in reasons


# By whose acceptance


def test_acceptances_of_drafters(capsys):
    own = ("-a", "0.6", "-a", "eagle3=0.75", "-a", "ngram=burst:.3@4", "-a", "qwen3-0.6b=0.5")
    found = rows(capsys, *ASKED, *own)
    told = {name: found[name]["acceptance"] for name in found}
    assert told["eagle3-qwen3-8b"] == "0.75"
    assert told["ngram"] == "burst:0.3@4"
    assert told["qwen3-0.6b"] == "0.5"
    assert told["qwen3-1.7b"] == told["dflash-qwen3-8b"] == "0.6"
    assert told["suffix"] is told["none"] is None


def test_a_drafter_under_each_of_its_names(capsys):
    (card,) = Catalogue().drafters(TARGET, lambda kind, _: kind == "eagle3")
    assert card.card.aliases
    path = "specplan.d/eagle3-qwen3-8b.yaml"
    put("eagle3-qwen3-8b", packaged("eagle3-qwen3-8b"))
    for word in ("eagle3", "EAGLE3", card.card.name, *card.card.aliases):
        found = rows(capsys, *ASKED, "-a", f"{word}=0.8")
        assert found["eagle3-qwen3-8b"]["alpha"] == 0.8
    found = rows(capsys, *ASKED, "-d", path, "-a", f"{path}=0.8")
    assert found["eagle3-qwen3-8b"]["alpha"] == 0.8


def test_a_curve_is_the_own_of_the_drafter_that_it_was_measured_with(capsys):
    words = ("compare", "-t", "llama-3.3-70b", "-g", "h100", "--tp", "4", "-c", "8k")
    curve = "eagle3-llama-3.3-70b-specforge/gsm8k"
    said = envelope(capsys, *words, "-a", curve)
    found = {row["draft"]: row for row in said["rows"]}
    assert found["eagle3-llama-3.3-70b"]["acceptance"] == curve
    assert found["eagle3-llama-3.3-70b"]["k"] > 0  # measured, however far it was trained
    assert found["llama-3.2-1b"]["acceptance"] == curve
    assert found["ngram"]["k"] is None
    assert said["inputs"]["acceptance"]["value"] == curve
    assert said["inputs"]["acceptance"]["sha256"]
    kind = ("-a", "0.5", "-a", "eagle3=eagle3/gsm8k")
    assert "2 curves of eagle3 for gsm8k" in refused(capsys, *words, *kind)


def test_a_curve_of_one_target_is_none_of_the_others(capsys):
    words = ("compare", "-t", "llama-3.1-8b,llama-3-8b", "-g", "h100", "-d", "ngram", "-a", "0.5")
    found = envelope(capsys, *words, "-a", "ngram=ngram/gsm8k")["rows"]
    told = {row["target"]: row for row in found if row["draft"] == "ngram"}
    assert told["llama-3.1-8b"]["acceptance"] == "ngram-llama-3.1-8b/gsm8k"
    assert told["llama-3-8b"]["reason"].startswith("no curve of ngram for gsm8k was measured with")
    alone = refused(capsys, *words[:2], "llama-3-8b", *words[3:], "-a", "ngram=ngram/gsm8k")
    assert alone.startswith("--acceptance: no curve of ngram for gsm8k")


def test_the_nearest_name_counts(capsys):
    own = ("-a", "model=0.5", "-a", "qwen3-0.6b=0.6", "-a", "block=0.7", "-a", "dflash=0.8")
    found = rows(capsys, *ASKED, *own)
    assert found["qwen3-0.6b"]["alpha"] == 0.6
    assert found["qwen3-1.7b"]["alpha"] == 0.5
    assert found["dflash-qwen3-8b"]["alpha"] == 0.8
    assert found["dspark-qwen3-8b"]["alpha"] == 0.7
    assert found["eagle3-qwen3-8b"]["reason"] == "needs an acceptance: -a eagle3-qwen3-8b=0.7"


def test_typed_drafters_have_names_too(capsys):
    words = ("-d", "skip:0.4,ratio:0.05,ratio:0.1", "-a", "skip=0.9", "-a", "ratio:0.1=0.6")
    found = rows(capsys, *ASKED, *words, "-a", "ratio=0.7")
    assert {name: row["alpha"] for name, row in found.items()} == {
        "skip:0.4": 0.9,
        "ratio:0.05": 0.7,
        "ratio:0.1": 0.6,
        "none": None,
    }


def test_no_acceptance_at_all_lists_what_could_be_compared(capsys):
    said = answered(capsys, ASKED)
    assert said.code == 0
    assert said.out.startswith("No drafter is compared")
    assert "eagle3-qwen3-8b: needs an acceptance: -a eagle3-qwen3-8b=0.7" in said.out


def test_own_acceptances_are_inputs(capsys):
    inputs = envelope(capsys, *ASKED, "-a", "0.6", "-a", "eagle3=0.75")["inputs"]
    assert inputs["acceptance"]["value"] == "0.6"
    assert inputs["acceptance:eagle3"] == {"value": "0.75", "from": "flag", "sha256": None}


def test_one_for_all_is_said(capsys):
    said = answered(capsys, [*ASKED, "-a", "0.7"]).err
    assert "one acceptance, 0.7, for all: drafters differ; give each its own: -a " in said
    assert "for all" not in answered(capsys, [*ASKED, "-d", "eagle3", "-a", "0.7"]).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-a", "=0.7"), "'=0.7' lacks a part; expected NAME=ACCEPTANCE such as eagle3=0.72"),
        (("-a", "x="), "'x=' lacks a part; expected NAME=ACCEPTANCE such as eagle3=0.72"),
        (
            ("-a", "eagle3=0.7,ngram=0.2"),
            "'eagle3=0.7,ngram=0.2' names several drafters; write -a once for each",
        ),
        (("-a", "eagle3=0.7", "-a", "EAGLE3=0.8"), "acceptance of EAGLE3 is said twice"),
        (("-a", "eagle3=0.7,0.8"), "2 acceptances of eagle3; expected one for each drafter"),
        (("-a", "eagel3=0.7"), "unknown drafter 'eagel3'; did you mean 'eagle3'?"),
        (("-a", "eagle3=1.2"), "alpha 1.2 is no probability; expected 0..1"),
        (
            ("-d", "free", "-a", "lookahead=0.5"),
            "unknown drafter 'lookahead'; expected one of free; name it after -d too",
        ),
    ],
)
def test_mistakes_in_acceptances(capsys, words, message):
    assert refused(capsys, *ASKED, *words) == f"--acceptance: {message}"


# Why not


def test_other_vocabularies_and_widths(capsys):
    found = rows(capsys, *ASKED, "-a", "0.7", "-d", "llama-3.2-1b,eagle3-qwen3-32b,eagle3-qwen3-8b")
    assert found["llama-3.2-1b"]["reason"].endswith("engines want one vocabulary")
    assert found["eagle3-qwen3-32b"]["reason"] == (
        "eagle3-qwen3-32b joins hidden states 5,120 wide and those of qwen3-8b are 4,096: "
        "it was made for another target"
    )
    for name in ("llama-3.2-1b", "eagle3-qwen3-32b"):
        assert found[name]["k"] is found[name]["fits"] is None
    assert found["eagle3-qwen3-8b"]["reason"] is None


def test_made_for_another_target_of_the_same_shapes_is_a_note(capsys):
    said = envelope(
        capsys,
        "compare",
        "-t",
        "glm-5.2",
        "-d",
        "mtp-glm-5",
        "-g",
        "h200",
        "--tp",
        "8",
        "--dtype",
        "fp8",
        "-a",
        "0.8",
        code=0,
    )
    (row,) = [r for r in said["rows"] if r["draft"] == "mtp-glm-5"]
    assert "made for another target" not in (row["reason"] or "")
    assert any(a.startswith("mtp-glm-5 was made for") for a in said["basis"]["assumed"])


def test_trained_for_less(capsys):
    words = ("compare", "-t", "llama-3.3-70b", "-g", "h100", "--tp", "4", "-c", "8k", "-a", "0.7")
    found = rows(capsys, *words)
    assert found["eagle3-llama-3.3-70b"]["reason"] == (
        "trained on 4,096 tokens, and sequences reach 8,192: acceptance falls beyond; with its own "
        "it is compared: -a eagle3-llama-3.3-70b=0.5"
    )
    assert found["llama-3-8b"]["k"] > 0  # of 8,192
    own = rows(capsys, *words, "-a", "eagle3-llama-3.3-70b=0.5")
    assert own["eagle3-llama-3.3-70b"]["k"] > 0


def test_no_card_of_a_kind(capsys):
    found = rows(capsys, *ASKED, "-d", "mtp,free", "-a", "0.7")
    assert found["mtp"]["reason"] == (
        "no card of kind mtp drafts for qwen3-8b; expected one of dflash-qwen3-8b, "
        "dspark-qwen3-8b, eagle3-qwen3-8b"
    )
    assert found["mtp"]["kind"] is None


def test_no_rate_for_the_dtype(capsys):
    text = (ROOT / "hardware" / "h100-sxm.yaml").read_text("utf-8")
    rates = "rates: {int8: 1979 TOP/s}"
    start, rest = text.split("rates:", 1)
    tail = rest[rest.index("\nbandwidth") :]
    mine = f"{start}{rates}{tail}".replace("name: h100-sxm", "name: mine")
    mine = "".join(t for t in mine.splitlines(True) if not t.startswith("aliases"))
    put("mine", mine.replace("TOP/s", "TFLOP/s"))
    words = ("-t", "qwen3-8b", "-d", "eagle3", "-a", "0.7")
    found = envelope(capsys, "compare", "-g", "mine,h100-sxm", *words)["rows"]
    told = {(r["hardware"], r["draft"]): r["reason"] for r in found}
    for draft in ("none", "eagle3-qwen3-8b"):
        assert told["mine", draft].startswith("mine has no rate for bf16 weights")
        assert told["h100-sxm", draft] is None
    alone = refused(capsys, "compare", "-g", "mine", *words)
    assert alone.startswith("mine has no rate for bf16 weights")


PLANNING = """\
schema: model/1
name: {name}
title: {name}
family: qwen3
matmul_params: 1e8
stored_params: 1e8
kv_bytes_per_token: 1000
sources: [{{of: [all], kind: derived, cite: made for a test}}]
"""


def test_no_architecture_under_an_engine(capsys):
    put("figures", PLANNING.format(name="figures"))
    words = ("compare", "-t", "qwen3-8b", "-d", "figures", "-g", "h100", "-a", "0.7")
    found = envelope(capsys, *words, "-e", "roofline,vllm")["rows"]
    told = {r["engine"]: r["reason"] for r in found if r["draft"] == "figures"}
    assert told["roofline"] is None
    assert told["vllm"].startswith("figures has no architecture: an engine's time depends on its")


def test_too_little_memory(capsys):
    words = ("compare", "-t", "qwen3-8b", "-d", "eagle3,ngram", "-g", "l4,h100", "-b", "64")
    said = envelope(capsys, *words, "-a", "0.7", "-a", "ngram=burst:.3@3")
    for row in said["rows"]:
        small = row["hardware"] == "l4"
        assert row["fits"] is not small
        assert (row["k"] is None) is small
        assert (row["shortfall_bytes"] > 0) is small
        assert (row["reason"] is not None) is small
        assert row["largest_batch"] > 0
    nothing = ("compare", "-t", "llama-3-70b", "-g", "h100", "-a", "0.7")
    said = answered(capsys, nothing)
    assert said.code == 1
    assert said.out.startswith("Nothing fits in memory")
    assert "llama-3-70b would fit on h100-sxm with --tp 2" in said.err


def test_an_engine_that_cannot_place_it_is_a_row(capsys):
    words = ("compare", "-t", "qwen3-8b,qwen3-30b-a3b", "-d", "eagle3", "-g", "h100", "-a", "0.7")
    found = envelope(capsys, *words, "--tp", "4", "--ep", "4")["rows"]
    told = {(r["target"], r["draft"]): r["reason"] for r in found}
    assert told["qwen3-8b", "none"] == "ep is for experts, and qwen3-8b has none; leave it out"
    assert told["qwen3-30b-a3b", "none"] is None
    assert refused(capsys, *ASKED, "--ep", "4", "--tp", "4", "-a", "0.7") == (
        "ep is for experts, and qwen3-8b has none; leave it out"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("-b", "1,2"),
            "compare is about one workload, not 2; expected one batch, one context, "
            "and one acceptance for those without their own; best-k gives a line to each of "
            "several",
        ),
        (
            ("--sort", "size"),
            "--sort: unknown order 'size'; expected one of cost, memory, "
            "speedup, throughput, tokens, tpot",
        ),
        (("--top", "0"), "--top: 0 rows; expected a whole number above 0"),
        (
            ("-k", "2", "--k-max", "4"),
            "--k-max is not used beside a list of -k; leave out one of them",
        ),
        (
            ("-d", "ngram", "--draft-dtype", "fp8"),
            "--draft-dtype is not used: draft none, ngram "
            "has no weights; leave it out, or name a model",
        ),
        (
            ("--usd-per-gpu-hour", "0"),
            "--usd-per-gpu-hour: 0 USD; expected above 0, at most 10,000",
        ),
    ],
)
def test_what_is_refused(capsys, words, message):
    assert refused(capsys, *ASKED, "-a", "0.7", *words) == message


def test_a_name_of_no_drafter(capsys):
    said = refused(capsys, *ASKED, "-a", "0.7", "-d", "qwen3-0.6")
    assert said == "--draft: unknown model 'qwen3-0.6'; did you mean 'qwen3-0.6b'?"
    assert refused(capsys, *ASKED, "-a", "0.7", "-g", "h100,h1000").startswith("--hardware: ")


def test_too_many_candidates(capsys):
    words = ("--tp", "1:64", "-e", "roofline,vllm,sglang", "-g", "all", "-a", "0.7")
    assert "candidates; expected at most 10,000" in refused(
        capsys, "compare", "-t", "qwen3-8b", *words
    )


def test_what_must_be_said(capsys):
    assert refused(capsys, "compare", "-g", "h100").startswith("--target: which model")
    assert refused(capsys, "compare", "-t", "qwen3-8b").startswith("--hardware: on which")


# Order, prices, plans


def test_sorts_are_completed():
    assert list(complete.COMPARE_SORTS) == list(SORTS)


def test_the_lowest_cost_first_and_last_what_has_no_price(capsys):
    words = (
        "compare",
        "-t",
        "qwen3-8b",
        "-d",
        "eagle3",
        "-g",
        "all",
        "-a",
        "0.7",
        "--sort",
        "cost",
    )
    found = [r for r in envelope(capsys, *words)["rows"] if r["reason"] is None]
    costs = [row["usd_per_million_tokens"] for row in found]
    priced = [cost for cost in costs if cost is not None]
    assert priced == sorted(priced)
    assert costs == priced + [None] * (len(costs) - len(priced))
    assert len(priced) > 20
    assert [row["best"] for row in found] == [True] + [False] * (len(found) - 1)
    one = envelope(capsys, *words, "--usd-per-gpu-hour", "2")
    assert {r["usd_per_gpu_hour"] for r in one["rows"] if r["reason"] is None} == {2}
    assert one["inputs"]["sort"]["value"] == "cost"


def test_reverse_and_top(capsys):
    words = (*ASKED, "-a", "0.7", "--top", "3")
    assert "3 of 9 candidates; --top 9 or -f json shows all" in answered(capsys, words).out
    found = [r for r in envelope(capsys, *words)["rows"] if r["k"] is not None]
    other = [r for r in envelope(capsys, *words, "--reverse")["rows"] if r["k"] is not None]
    assert len(found) == len(other) == 9
    assert [r["speedup"] for r in other] == sorted(r["speedup"] for r in found)
    assert other[-1]["best"]
    assert found[0]["best"]


def test_a_plan_supplies_what_flags_leave_out(capsys):
    Path("plan.yaml").write_text(
        "schema: plan/1\ntarget: qwen3-8b\ndraft: eagle3\nhardware: [h100-sxm, l40s]\nk: 3\n"
        "workload: {batch: 8, alpha: 0.6}\n",
        "utf-8",
    )
    said = envelope(capsys, "compare", "plan.yaml")
    assert {(r["hardware"], r["draft"]) for r in said["rows"]} == {
        (gpu, draft) for gpu in ("h100-sxm", "l40s") for draft in ("eagle3-qwen3-8b", "none")
    }
    assert {r["batch"] for r in said["rows"]} == {8}
    assert all(r["k"] != 3 for r in said["rows"])  # the best, not the plan's
    more = rows(capsys, "compare", "plan.yaml", "-d", "all", "-g", "h100", "-a", "eagle3=0.8")
    assert more["eagle3-qwen3-8b"]["alpha"] == 0.8
    assert more["qwen3-0.6b"]["alpha"] == 0.6


# How it looks


def test_json_and_csv_hold_every_candidate_whole(capsys):
    said = envelope(capsys, *ASKED, "-a", "0.7", "--top", "2")
    assert said["schema"] == "specplan.compare/1"
    names = [column.name for column in COLUMNS]
    assert list(said["columns"]) == names
    assert said["columns"]["tpot_s"] == "s"
    answer = said["answer"]
    assert (answer["candidates"], answer["compared"], answer["sort"]) == (11, 9, "speedup")
    best = said["rows"][0]
    assert {name: answer["best"][name] for name in names} == best
    table = list(
        csv.DictReader(io.StringIO(answered(capsys, [*ASKED, "-a", "0.7", "-f", "csv"]).out))
    )
    assert [row["draft"] for row in table] == [row["draft"] for row in said["rows"]]
    assert [row["k"] for row in table] == [
        "" if r["k"] is None else str(r["k"]) for r in said["rows"]
    ]
    assert float(table[0]["speedup"]) == best["speedup"]


@pytest.mark.parametrize(
    "words",
    [
        ("-t", "qwen3-8b", "-g", "h100", "-a", "0.7"),
        (
            "-t",
            "qwen3-8b",
            "-g",
            "h100,rtx-pro-6000-server",
            "--tp",
            "1,2",
            "-a",
            "0.7",
            "-b",
            "64",
        ),
        ("-t", "llama-3.3-70b", "-g", "all", "--tp", "4,8", "-d", "eagle3", "-a", "0.7"),
        (
            "-t",
            "llama-3-8b,llama-3.1-8b",
            "-g",
            "h100,h200",
            "--tp",
            "1,2",
            "-e",
            "vllm,sglang",
            "-a",
            "0.7",
            "-a",
            "ngram=conditional:.5,.4,.3,.3,.2",
        ),
    ],
)
def test_no_line_is_wider_than_a_page(capsys, words):
    said = answered(capsys, ["compare", *words, "-f", "plain"])
    assert said.code == 0, said.err
    assert max(map(len, said.out.splitlines())) <= 80
    blocks = [b.splitlines() for b in said.out.split("\n\n")]
    grids = [b for b in blocks if b[0].startswith(("draft ", " # "))]
    assert len(grids) > 1
    assert len({len(grid) for grid in grids}) == 1
    names = [[line.split()[0] for line in grid] for grid in grids]
    assert all(name == names[0] for name in names)  # what tells rows apart stands in each block


def test_the_page(capsys):
    words = ("compare", "-t", "llama-3-8b", "-d", "llama-3.2-1b,ratio:1.5,qwen3-0.6b", "-g", "h100")
    said = answered(capsys, [*words, "-b", "16", "-a", "0.8", "-q"])
    assert said == (0, PAGE, "")


PAGE = """\
llama-3.2-1b: 1.94x at k = 4                      ideal roofline: an upper bound
llama-3-8b on h100-sxm, bf16
batch 16, context 2,048, acceptance 0.8

draft         k  speedup  tok/round     TPOT  tok/s/GPU  USD/Mtok  drafter
llama-3.2-1b  4    1.94x*      3.36  2.98 ms      5,377     0.206  2.3 GiB
none          0    1.00x       1.00  5.76 ms      2,778     0.399      0 B
ratio:1.5     0    1.00x!      1.00  5.76 ms      2,778     0.399      0 B

draft         KV/seq  sequences  lost  full/GPU   full
llama-3.2-1b  64 MiB        174    52    16,559  1.65x
none             0 B        226     0    10,006  1.00x
ratio:1.5        0 B        226     0    10,006  1.00x

* best by speedup   ! plain decoding is as good or better
full: at its own largest batch with this k, over plain decoding at its own

Not compared:
qwen3-0.6b drafts from 151,936 tokens and llama-3-8b has 128,256: engines want
    one vocabulary
"""


# The whole catalogue, in seconds


@pytest.mark.parametrize(
    ("words", "each"),
    [(("--tp", "4,8"), 2 * (1 + 1 + 4 + 2)), (("--tp", "8", "-e", "vllm", "-d", "eagle3"), 1 + 1)],
)
def test_the_whole_catalogue(capsys, words, each):
    started = time.process_time()
    asked = ("compare", "-t", "llama-3.3-70b", "-g", "all", *words, "-a", "0.7")
    told = answered(capsys, [*asked, "-f", "json"])
    spent = time.process_time() - started
    said = json.loads(told.out)
    cards = {one.card.name for one in Catalogue().every(Hardware)}
    assert {row["hardware"] for row in said["rows"]} == cards
    assert len(said["rows"]) == len(cards) * each
    assert sum(row["draft"] == "none" for row in said["rows"]) % len(cards) == 0
    assert spent < 10  # seconds of one core; 2 when it is quiet
    every = len(said["notes"]) + len(said["basis"]["assumed"]) + len(said["basis"]["extrapolated"])
    last = told.err.splitlines()[-1]
    assert last == f"specplan: and {every - MOST_SAID:,} notes more: -f json has all of them"


def test_from_python():
    answer = specplan.compare(
        target="qwen3-8b",
        hardware="h100-sxm",
        draft=["eagle3", "ngram"],
        acceptance={"eagle3": 0.75, "ngram": {"fire": 0.3, "burst": 4}},
    )
    assert answer.value.best.draft == "eagle3-qwen3-8b"
    told = {row["draft"]: row["acceptance"] for row in answer.table.records()}
    assert told == {"eagle3-qwen3-8b": "0.75", "ngram": "burst:0.3@4", "none": None}
    same = specplan.compare(
        target="qwen3-8b",
        hardware="h100-sxm",
        draft="eagle3,ngram",
        acceptance=[0.9, "eagle3=0.75", "ngram=burst:.3@4"],
        sort="tpot",
    )
    assert same.value.best == answer.value.best
    whole = specplan.compare(
        target="qwen3-8b", hardware="h100-sxm", acceptance={"decay": [0.8, 0.9]}
    )
    assert whole.value.best.acceptance == "decay:0.8,0.9"
    scene = specplan.scenario(
        target="qwen3-8b", hardware="h100-sxm", draft="eagle3", acceptance=0.7
    )
    assert specplan.compare(scene).value.best.k == specplan.best_k(scene).value.choice.k
    with pytest.raises(specplan.SpecplanError, match="a scenario and options beside it"):
        specplan.compare(scene, target="qwen3-8b")
    with pytest.raises(specplan.SpecplanError, match="unknown option 'targt'"):
        specplan.compare(targt="qwen3-8b", hardware="h100-sxm")
