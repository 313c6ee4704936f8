"""What every catalogue card shares: names, storage types, sources, the file it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"


class Pattern(str):
    """A regular expression that a text field must match; it reaches schema and validator alike."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401
        schema = handler(source)
        schema["pattern"] = str(self)
        return schema


Name = Annotated[str, Pattern(NAME_PATTERN)]
Text = Annotated[str, MinLen(1), MaxLen(600)]
Count = Annotated[int, Ge(1), Le(1_000_000_000)]
Date = Annotated[str, Pattern(r"^\d{4}-\d{2}-\d{2}$")]
Link = Annotated[str, Pattern(r"^https://[^\s]+$"), MaxLen(300)]


NEEDS_UNIT = "needs a unit"  # marks a quantity whose key does not say its unit


class Strict:
    """Base of all that is read from a file: unknown keys refused, nothing converted, no inf."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, object]] = {
        "strict": True,
        "extra": "forbid",
        "allow_inf_nan": False,
    }


class Dtype(StrEnum):
    """A storage or compute type."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    FP4 = "fp4"
    INT4 = "int4"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"

    @property
    def bytes_per_element(self) -> float:
        """Bytes of one stored element. Block scales of int4, fp4 and fp8 are left out; nvfp4 and
        mxfp4 are formats that fix theirs, one byte for 16 and for 32 elements.
        """
        return _BYTES[self]


_BYTES = {
    Dtype.FP32: 4.0,
    Dtype.BF16: 2.0,
    Dtype.FP16: 2.0,
    Dtype.FP8: 1.0,
    Dtype.INT8: 1.0,
    Dtype.FP4: 0.5,
    Dtype.INT4: 0.5,
    Dtype.NVFP4: 0.5 + 1 / 16,
    Dtype.MXFP4: 0.5 + 1 / 32,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Strict):
    """Where figures come from. `of` names the card's keys that this source covers."""

    of: Annotated[tuple[Text, ...], MinLen(1)]
    kind: Literal["datasheet", "measured", "derived", "config", "published"]
    cite: Text
    url: Link | None = None
    read: Date | None = None
    licence: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The file that a card was read from, for answers that cite their inputs."""

    path: str
    sha256: str
    layer: str = "packaged"
