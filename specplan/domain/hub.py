"""The checkpoint on the Hugging Face hub that a card describes, as far as its sources name one."""

from __future__ import annotations

import re

from specplan.domain.model import Model

# The page of a repository, or a file in it.
_PAGE = re.compile(
    r"https://huggingface\.co/([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)(?:/(?:blob|resolve|tree|raw)/\S*)?/?"
)
_NOT_MODELS = ("datasets/", "spaces/", "docs/", "papers/", "blog/", "collections/")
_STORED = {"fp8", "nvfp4", "mxfp4", "int8", "int4", "awq", "gptq", "gguf"}


def hub_name(card: Model) -> str | None:
    """ORG/NAME of the repository that the card's sources point to. None where they point to none,
    to several, or to another one: cards take shapes from a model's next version or from a
    quantised copy, whose names have other numbers or a type that the card's has not.
    """
    found = set()
    for source in card.sources:
        page = _PAGE.fullmatch(source.url or "")
        if page and not page[1].startswith(_NOT_MODELS) and _same(card, page[1]):
            found.add(page[1])
    return found.pop() if len(found) == 1 else None


def other_names(card: Model, repository: str) -> list[str]:
    """Aliases of a card whose numbers the repository's name has not: it is another checkpoint of
    the same shapes. None where the repository is not the card's own.
    """
    if repository != hub_name(card):
        return []
    theirs = _numbers(repository.partition("/")[2])
    return [alias for alias in card.aliases if not _numbers(alias) <= theirs]


def _numbers(name: str) -> set[str]:
    return set(re.findall(r"[0-9]+(?:\.[0-9]+)?", name))


def _same(card: Model, repository: str) -> bool:
    """Whether a repository's name has every number of the card's, and no storage type besides."""
    if card.drafts and card.drafts.kind != "model":  # heads are named for how they were trained
        return True
    own = set(card.name.split("-"))
    theirs = set(repository.partition("/")[2].lower().split("-"))
    numbers = {part for part in own if any(letter.isdigit() for letter in part)}
    return numbers <= theirs and not (theirs & _STORED) - own
