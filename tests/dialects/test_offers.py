from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import pytest

from specplan.dialects import offers
from specplan.dialects.offers import Offers
from specplan.domain.capture import Engine, Found, Origin


class Stub:
    """A reader that reads nothing."""

    format: ClassVar[str] = "stub"
    marks: tuple[str, ...] = ("accept len",)
    starts: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    trail: int = 0

    def __init__(self, engine: Engine, **more: object) -> None:
        self.engine: Engine = engine
        vars(self).update(more)

    def read(self, line: str, place: int) -> Iterable[Found]:
        del line, place
        return ()

    def finish(self) -> Iterable[Found]:
        return ()

    def origin(self) -> Origin:
        return Origin(format=self.format, engine=self.engine)


def offered(offer: Offers, text: str) -> list[str]:
    block = f"\n{text}".encode()
    lines = []
    for start, end in offer.lines(block):
        line = block[start:end]
        if list(offer.readers(line)):
            lines.append(line.decode())
    return lines


@pytest.fixture(autouse=True)
def _near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "NEAR", 30)


FAR = "x" * 40 + "\n"


def test_lines_with_a_mark_or_its_stem_alone() -> None:
    offer = Offers([Stub("sglang"), Stub("vllm", marks=("Speed: ",))])  # type: ignore[list-item]
    text = "a\naccept len: 3\nccept\nSpeed: 1\n\nb accept len\n"
    assert offered(offer, text) == ["accept len: 3", "Speed: 1", "b accept len"]


def test_opening_lines_only_near_a_start() -> None:
    stub = Stub("vllm", starts=("begin",), opening=("pool",))
    offer = Offers([stub])  # type: ignore[list-item]
    assert offered(offer, "pool 1\n") == ["pool 1"]
    assert offered(offer, FAR) == []
    assert offered(offer, "pool 2\n") == []
    assert offered(offer, "begin\npool 3\n") == ["begin", "pool 3"]
    assert offered(offer, "pool 4\n") == ["pool 4"]


def test_lines_that_trail_one_across_blocks() -> None:
    offer = Offers([Stub("vllm", marks=("Table",), trail=2)])  # type: ignore[list-item]
    assert offered(offer, "a\nTable\nb\n") == ["Table", "b"]
    assert offered(offer, "c\nd\n") == ["c"]
    assert offered(offer, "e\n") == []


def test_an_engine_not_heard_is_not_listened_for_until_it_starts() -> None:
    other = Stub("sglang", marks=("other",), starts=("begin",))
    heard = Stub("vllm", marks=("mine",))
    offer = Offers([heard, other])  # type: ignore[list-item]
    assert offered(offer, FAR + "other\n") == ["other"]
    assert offered(offer, "other\n") == ["other"]  # nobody has been heard
    offer.heard(heard)  # type: ignore[arg-type]
    assert offered(offer, "other\nmine\n") == ["mine"]
    assert offered(offer, "begin\nother\n") == ["begin", "other"]
    offer.heard(other)  # type: ignore[arg-type]
    assert offered(offer, FAR + FAR + "other\n") == ["other"]
    assert offered(offer, "other\nmine\n") == ["other", "mine"]
