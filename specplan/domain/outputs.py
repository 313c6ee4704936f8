"""What an engine generated: many outputs to each prompt, as one file tells of them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Output: TypeAlias = "array[int]"  # which Python 3.11 cannot subscript
"""One output: its token ids, or the numbers of the pieces of its text; 32 bits each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The outputs in one file by prompt, in the order of the file.

    `unit` is what the numbers of an output stand for: token ids, or pieces of text numbered alike
    in both files of a comparison. `named_by` is the key of a record that names its prompt, empty
    where its place in the file does.
    """

    name: str
    unit: Literal["tokens", "text"]
    named_by: str
    prompts: Mapping[str, Sequence[Output]]
    sha256: str | None = None

    @property
    def outputs(self) -> int:
        """How many there are to all prompts together."""
        return sum(map(len, self.prompts.values()))
