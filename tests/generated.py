"""Outputs of two engines as tests make them: Markov chains, the rule with and without a bug."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specplan.physics.draws import Sampler
from specplan.physics.rule import Rule
from specplan.physics.verify import Bug

Outputs = list[np.ndarray]


def speculated(
    target: np.ndarray,
    draft: np.ndarray,
    k: int,
    length: int,
    n: int,
    rng: np.random.Generator,
    bug: Bug | None = None,
) -> np.ndarray:
    """Tokens (n, length) after token 0, by rounds of k drafts of a Markov chain and a bonus.

    A draft is drawn when it is judged, as those beyond a rejection are thrown away unseen: each
    step makes one token of every output, wherever in its round that output is.
    """
    size = len(target)
    stale = bug is Bug.STALE_DRAFT
    judged_p = np.repeat(target, size, axis=0) if stale else target
    judged_q = np.tile(draft, (size, 1)) if stale else draft
    rule = Rule.of(draft, judged_p, judged_q, bug)
    bonus = Sampler.of(draft if bug is Bug.BONUS_FROM_DRAFT else target)
    last = before = np.zeros(n, dtype=np.intp)
    kept_in_round = np.zeros(n, dtype=np.intp)
    tokens = np.zeros((n, length), dtype=np.int32)
    for position in range(length):
        judged = last * size + np.where(kept_in_round > 0, before, last) if stale else last
        made, kept = rule.position(last, judged, rng)
        full = np.flatnonzero(kept_in_round == k)
        made[full] = bonus.draw(last[full], rng)
        kept_in_round = np.where(kept, kept_in_round + 1, 0)
        kept_in_round[full] = 0
        before, last = last, made
        tokens[:, position] = made
    return tokens


def sampled(
    first: np.ndarray, chain: np.ndarray, length: int, n: int, rng: np.random.Generator
) -> Outputs:
    """n outputs of a Markov chain (V, V) that begins with `first` (V,)."""
    tokens = np.zeros((n, length), dtype=np.int32)
    rows, start = np.cumsum(chain, axis=1), np.cumsum(first)
    for position in range(length):
        cdf = start[None] if position == 0 else rows[tokens[:, position - 1]]
        passed = (rng.random((n, 1)) > cdf).sum(axis=1)
        tokens[:, position] = np.minimum(passed, len(first) - 1)
    return list(tokens)


def ended(tokens: Iterable[np.ndarray], mean: float, rng: np.random.Generator) -> Outputs:
    """The outputs cut where a coin says so at each token, after `mean` of them on average."""
    return [one[: int(rng.geometric(1 / mean)) - 1] for one in tokens]


def chain(size: int, rng: np.random.Generator, spread: float = 1.0) -> np.ndarray:
    """Rows (V, V) of a random chain; the smaller the spread, the less even they are."""
    rows = rng.gamma(spread, 1.0, (size, size)) + 1e-6
    return rows / rows.sum(axis=1, keepdims=True)


def hidden(p: np.ndarray, tv: float, rng: np.random.Generator) -> np.ndarray:
    """The distribution p (V,) shifted by that TV where it shows least: |p - q| as p^(2/3), about
    half of that upwards.
    """
    order = rng.permutation(len(p))
    weight = p ** (2 / 3)
    half = int(np.abs(np.cumsum(weight[order])[:-1] - weight.sum() / 2).argmin()) + 1
    up = np.zeros(len(p), dtype=bool)
    up[order[:half]] = True
    return moved(p, up, tv, 2 / 3)


def plain_shift(p: np.ndarray, tv: float, rng: np.random.Generator) -> np.ndarray:
    """The distribution p (V,) shifted by that TV, half of the tokens made likelier."""
    up = np.zeros(len(p), dtype=bool)
    up[rng.permutation(len(p))[: len(p) // 2]] = True
    return moved(p, up, tv, 1.0)


def moved(p: np.ndarray, up: np.ndarray, tv: float, power: float) -> np.ndarray:
    """TV of mass moved to the tokens `up` from the others, in proportion to p^power."""
    weight = p**power
    taken = np.minimum(tv * weight * ~up / (weight * ~up).sum(), p)
    return p - taken + taken.sum() * weight * up / (weight * up).sum()


def written(path: Path | str, records: Iterable[Mapping[str, Any]]) -> Path:
    """A JSONL file, gzip if its name says so."""
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    place = Path(path)
    place.write_bytes(gzip.compress(text) if place.suffix == ".gz" else text)
    return place


def prompts(outputs: Sequence[Iterable[np.ndarray]]) -> list[dict[str, Any]]:
    """A record for each prompt, q0, q1 and so on."""
    return [
        {"prompt_id": f"q{number}", "token_ids": [one.tolist() for one in arm]}
        for number, arm in enumerate(outputs)
    ]


def examples() -> None:
    """What the examples on the help page of `equivalence` read, in the current folder."""
    rng = np.random.default_rng(3)
    rows = [chain(4, rng) for _ in range(5)]
    for name in ("plain.jsonl", "spec.jsonl"):
        arms = [ended(sampled(row[0], row, 8, 12, rng), 6, rng) for row in rows]
        written(name, prompts(arms))
