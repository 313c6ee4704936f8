"""What stands under a picture: how far to trust it, what it rests on, and who drew it."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.answer import Answer
from specplan.render.cells import shown
from specplan.render.json_ import version

DIGITS = 8  # of a card's hash: enough to tell two versions of a card


def footer(answer: Answer) -> Iterator[str]:
    """Line by line: basis and source, assumptions, cards with their hashes, the version."""
    basis = answer.basis
    yield shown("; ".join(dict.fromkeys(filter(None, (basis.says, basis.source)))))
    for word, said in (("assumed", basis.assumed), ("extrapolated", basis.extrapolated)):
        for line in said:
            yield shown(f"{word}: {line}")
    cards = [
        f"{name.replace('_', ' ')} {used.value} ({used.sha256[:DIGITS]})"
        for name, used in answer.inputs.items()
        if used.sha256
    ]
    yield shown(", ".join((f"specplan {version()} {answer.command}", *cards)))
