"""A foreign mapping, read key by key: each value typed and bounded, and where it came from noted.

Nothing is converted and nothing guessed: a key that is missing is refused unless the model's own
class has a default for it, which is then named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from specplan.errors import InputError, did_you_mean
from specplan.importers.json_ import Bare
from specplan.visible import visible

MOST = 1_000_000_000
_SHOWN = 40


@dataclass(slots=True)
class Keys:
    """Values of a mapping by key. `basis` says of what was read where it came from, `asked` which
    keys somebody looked for, `origins` where values are from that the mapping itself has not.
    """

    data: Mapping[str, object]
    prefix: str = ""
    basis: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    origins: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> object:
        """The value as it is; None where the key is absent or null."""
        self.asked.add(name)
        return self.data.get(name)

    def has(self, name: str) -> bool:
        """Whether the key is there and not null."""
        return self.get(name) is not None

    def over(self, values: Mapping[str, object], why: str) -> Keys:
        """The same keys with values for those that are absent or null; `why` names their origin."""
        added = {n: v for n, v in values.items() if v is not None and self.data.get(n) is None}
        origins = {**self.origins, **dict.fromkeys(added, why)}
        return replace(self, data={**self.data, **added}, origins=origins)

    def renamed(self, **names: str) -> Keys:
        """The same keys, old names read as new ones where these are absent."""
        keys = self
        for old, new in names.items():
            keys = keys.over({new: keys.get(old)}, f"{keys.prefix}{old}")
        return keys

    def within(self, name: str) -> Keys:
        """The mapping under a key."""
        inner = self.get(name)
        if not isinstance(inner, Mapping):
            raise self.wrong(name, inner, "a mapping")
        return Keys(inner, f"{self.prefix}{name}.", self.basis, self.notes)

    def integer(
        self, *names: str, default: int | None = None, why: str = "", most: int = MOST
    ) -> int:
        """The first of the keys that is there, 1 or more; else the default, which `why` names."""
        found = self.maybe(*names, most=most)
        if found is not None:
            return found
        if default is None:
            null = next((name for name in names if name in self.data), None)
            what = f"no {self.prefix}{' or '.join(names)}"
            if null:
                what = f"{self.prefix}{null} is null"
            near = "" if null else did_you_mean(names[0], self.data)
            raise InputError(what, expected="a whole number", hint=near)
        self.basis[names[0]] = f"{default:,}: {why}"
        return default

    def maybe(self, *names: str, least: int = 1, most: int = MOST) -> int | None:
        """The first of the keys that is there and not null, or None."""
        for name in names:
            value = self.get(name)
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool):
                raise self.wrong(name, value, "a whole number")
            if not least <= value <= most:
                raise self.wrong(name, value, f"{least} to {most:,}")
            self.basis[name] = f"{value:,}: {self.origin(name)}"
            return value
        return None

    def flag(self, name: str, *, default: bool, why: str = "") -> bool:
        """A truth value; absent or null it is the default."""
        value = self.get(name)
        if value is None:
            if why:
                self.basis[name] = f"{str(default).lower()}: {why}"
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        self.basis[name] = f"{str(value).lower()}: {self.origin(name)}"
        return value

    def text(self, name: str, default: str = "") -> str:
        """A text; absent or null it is the default."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, value, "text")
        return value

    def number(self, name: str, default: float) -> float:
        """A finite number above 0; absent it is the default."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < MOST:
            raise self.wrong(name, value, "a number above 0")
        return float(value)

    def items(self, name: str) -> Sequence[object] | None:
        """A list, or None."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.wrong(name, value, "a list")
        return value

    def each(self, name: str, count: int) -> Sequence[object] | None:
        """A list with an item for each of `count` layers; one more, for a layer that drafts, is
        left out.
        """
        values = self.items(name)
        if values is None:
            return None
        if not count <= len(values) <= count + 1:
            what = f"{self.prefix}{name} has {len(values)} entries for {count} layers"
            raise InputError(what, expected=f"{count}")
        self.basis[name] = f"{count} layers: {self.prefix}{name}"
        return values[:count]

    def marks(self, name: str, count: int) -> list[bool] | None:
        """A list of 0 and 1, or of false and true, one for each layer."""
        values = self.each(name, count)
        for value in values or ():
            if not isinstance(value, int) or value not in {0, 1}:
                raise self.wrong(name, value, "0 or 1 for each layer")
        return None if values is None else [bool(value) for value in values]

    def numbers(self, name: str) -> set[int]:
        """Numbers of layers, from 0; none where the key is absent."""
        values = self.items(name) or ()
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise self.wrong(name, value, "numbers of layers")
        return {value for value in values if isinstance(value, int)}

    def words(self, name: str, count: int, known: Mapping[str, object]) -> list[str] | None:
        """A list of known words, one for each layer."""
        values = self.each(name, count)
        return None if values is None else list(self._words(name, values, known))

    def origin(self, name: str) -> str:
        """Where the value of a key is from: the key itself, or what stood in for it."""
        return self.origins.get(name) or f"{self.prefix}{name}"

    def say(self, name: str, text: str) -> None:
        """Notes where a figure comes from that no single key holds."""
        self.basis[name] = text

    def note(self, text: str) -> None:
        """Adds a sentence for the card, once."""
        if text not in self.notes:
            self.notes.append(text)

    def _words(
        self, name: str, values: Sequence[object], known: Mapping[str, object]
    ) -> Iterator[str]:
        for value in values:
            if not isinstance(value, str) or value not in known:
                raise self.wrong(name, value, " or ".join(known))
            yield value

    def wrong(self, name: str, value: object, expected: str) -> InputError:
        """The error for a value that is not what its key holds."""
        shown = value.token if isinstance(value, Bare) else repr(value)
        what = f"{self.prefix}{name} is {visible(shown, _SHOWN)}"
        return InputError(what, expected=expected)
