"""Totals that `statistics` lines hold: of the process, or in older builds of one slot."""

from __future__ import annotations

from specplan.dialects.llamacpp.request import Request
from specplan.dialects.llamacpp.statistics import Sums


class Totals:
    """The last totals of each kind of drafter, in the process and in each slot.

    The lines do not say whose they are. They are a slot's where what they grew by since that
    slot's last is what its request kept, and since the process's last is not, or is less than
    nothing.
    """

    def __init__(self) -> None:
        self.seen = self._by_slot = False
        self._process: dict[str, Sums] = {}
        self._slots: dict[tuple[str, str], Sums] = {}

    def growth(self, kind: str, now: Sums, request: Request | None) -> tuple[Sums, bool]:
        """What totals grew by, and whether they have started again."""
        self.seen = True
        slot = request.slot if request else ""
        before = self._process.get(kind, Sums())
        own = self._slots.get((slot, kind), Sums())
        self._process[kind] = self._slots[slot, kind] = now
        if not self._by_slot and slot and own != before:
            self._by_slot = _fell(now, before) or (
                _is_of(request, now.since(own)) and not _is_of(request, now.since(before))
            )
        last = own if self._by_slot else before
        return now.since(last), _fell(now, last)


def _fell(now: Sums, before: Sums) -> bool:
    return now.drafts < before.drafts or now.drafted < before.drafted


def _is_of(request: Request | None, grown: Sums) -> bool:
    """Whether a request kept and drafted just that."""
    return request is not None and (grown.accepted, grown.drafted) == (
        request.accepted,
        request.drafted,
    )
