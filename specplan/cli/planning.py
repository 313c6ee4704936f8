"""From flags to the text of a plan that says the same, with what today's answer lets it expect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from specplan.catalogue.read import read_yaml
from specplan.catalogue.store import is_path
from specplan.catalogue.write import Entry, commented_yaml
from specplan.cli import grammar
from specplan.cli.acceptance import each_model, is_capture
from specplan.cli.cases import Library, case_of
from specplan.cli.plans import PLAN_HEADER, plan_in
from specplan.cli.scenario import DEFAULTS
from specplan.domain.drafters import DRAFTERS
from specplan.domain.heads import WAYS
from specplan.domain.scenario import Scenario
from specplan.questions.common import times
from specplan.questions.init import Line, expectations
from specplan.questions.kinds import ways_of
from specplan.questions.verdicts import judged
from specplan.rules.expected import Facts

HEAD = (
    "What is expected here must hold at every point of the workload: specplan check",
    "Editors take the schema of this file from: specplan schema plan",
)
EXPECT = (
    "What holds today, rounded to the safe side. This may be a list, each with its own",
    "at: {batch: 1}. All that can be expected: specplan check --rules",
)
_WHAT = ("tp", "draft_tp", "engine", "attention_dp", "ep", "dtype", "draft_dtype", "kv_dtype")


@dataclass(frozen=True, slots=True)
class Planning:
    """Flags, the scenario they make, its points, and the file that the plan is for.

    `folders` are those of --catalogue, which a plan cannot name. With `traffic` the workload is
    what it comes to, unless flags say more, and `demanded` is expected of it.
    """

    flags: Mapping[str, Sequence[str]]
    scenario: Scenario
    points: Sequence[Facts]
    library: Library
    path: Path
    folders: Sequence[str] = ()
    traffic: Sequence[Entry] = ()
    demanded: Sequence[Line] = ()

    def text(self) -> str:
        """The plan; it has been read back, and holds."""
        extra = [f"Its cards need: specplan check --catalogue {folder}" for folder in self.folders]
        text = commented_yaml((*HEAD, *extra), list(self._entries()))
        document = read_yaml(text.encode(), str(self.path))
        case, _ = case_of(plan_in(document, self.path.parent), self.library)
        failed = [o.finding.message for o in judged(case).outcomes if o.finding.level == "error"]
        if failed:
            raise AssertionError(f"the plan fails what it was made of: {failed[0]}")
        return text

    def _entries(self) -> Iterator[Entry]:
        setups = self.scenario.setups
        yield Entry("schema", PLAN_HEADER)
        yield Entry("about", setups[0].label if len(setups) == 1 else f"{len(setups)} setups")
        for key in ("target", "draft", "hardware"):
            names = [self._card(key, name) for name in grammar.names(self.flags[key])]
            yield Entry(key, _one_or_all(names))
        for key in _WHAT:
            if key in self.flags:
                yield Entry(key, _one_or_all(_items(self.flags[key])))
        yield Entry("k", _one_or_all(_items(self.flags["k"])), self._said_of_k())
        yield Entry("workload", list(self._workload()))
        if self.traffic:
            yield Entry("traffic", self.traffic)
        alone = bool(self.traffic) and "batch" not in self.flags
        expected = expectations(self.points, chosen=not self.scenario.k, alone=alone)
        lines = [Entry(line.key, line.value, line.comment) for line in (*expected, *self.demanded)]
        yield Entry("expect", lines, above=EXPECT)

    def _card(self, key: str, name: str) -> str:
        """A card by its own name, which a kind stands for, or by its path from the plan."""
        if key == "draft" and name.partition(":")[0] in DRAFTERS:
            return name
        if key == "draft" and name.lower() in WAYS:
            return self._only_one(name.lower())
        if is_path(name) and Path(name).is_file():
            return os.path.relpath(name, self.path.parent)
        look_up = self.library.hardware if key == "hardware" else self.library.model
        return look_up(name).card.name

    def _only_one(self, way: str) -> str:
        """The card that a kind stands for."""
        cards = (setup.draft.model for setup in self.scenario.setups)
        return next(
            card.name
            for card in cards
            if card and card.drafts and way in ways_of(card.drafts.kind, card.family)
        )

    def _said_of_k(self) -> str:
        if len(self.scenario.k) != 1:
            return ""
        worst = max(self.points, key=lambda facts: facts.k_regret)
        if worst.k_regret:
            return f"loses most at {worst.place()}: {times(worst.speedup)}, best {worst.best_k}"
        return f"the best at {'every' if len(self.points) > 1 else 'this'} point"

    def _workload(self) -> Iterator[Entry]:
        if "batch" in self.flags or not self.traffic:
            yield Entry("batch", _one_or_all(_items(self.flags.get("batch", (DEFAULTS["batch"],)))))
        if self.traffic and "context" not in self.flags:
            pass  # it follows from the traffic
        elif "isl" in self.flags:
            yield Entry("isl", self.flags["isl"][0], "prompt tokens")
            yield Entry("osl", self.flags["osl"][0], "output tokens; times are at half of them")
        else:
            context = _items(self.flags.get("context", (DEFAULTS["context"],)))
            yield Entry("context", _one_or_all(context))
        said = [item for text in self.flags["acceptance"] for item in each_model(text)]
        alphas = [
            os.path.relpath(item, self.path.parent) if is_capture(item) else item for item in said
        ]
        yield Entry("acceptance" if len(alphas) == 1 else "alpha", _one_or_all(alphas))


def _items(texts: Sequence[str]) -> list[str]:
    return [item.strip() for text in texts for item in text.split(",")]


def _one_or_all(items: list[str]) -> str | list[str]:
    return items[0] if len(items) == 1 else items
