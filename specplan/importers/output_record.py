"""One record of generated outputs, as engines and harnesses write them: its prompt and outputs.

vLLM and TensorRT-LLM say `outputs` with `token_ids` and `text`, SGLang `output_ids` and `text`,
servers of the OpenAI kind `choices` with `text` or `message`, its batch files all of that in
`response.body`; scripts say what they like.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from specplan.errors import InputError
from specplan.visible import visible

Unit: TypeAlias = Literal["tokens", "text"]

PROMPTS: Final = (
    *("prompt_id", "custom_id", "question_id", "task_id", "prompt", "prompt_token_ids"),
    *("messages", "question", "input", "id"),
)
TOKENS: Final = (
    *("token_ids", "output_token_ids", "output_ids", "completion_token_ids"),
    *("generated_token_ids", "response_token_ids", "tokens"),
)
LISTS: Final = ("outputs", "choices", "samples", "completions", "generations", "responses")
TEXTS: Final = (
    *("text", "output_text", "generated_text", "completion", "output", "response", "content"),
)
WRAPPERS: Final = ("response", "body", "message")

LOOKED_FOR: Final = "token_ids, tokens, text, output, outputs or choices"
MAX_ID: Final = 2**31 - 1

_DEPTH = 6  # of records inside records
_SHOWN = 60
_LONGEST = 160  # characters of a prompt that are kept; the rest becomes a digest
_CALLED: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One output: token ids, or the whole text."""

    unit: Unit
    tokens: array[int]
    text: str = ""


def prompt_key(record: Mapping[str, object]) -> str:
    """The key by which a record names its prompt, empty if by none.

    The `id` of an OpenAI answer is one of the request, not of the prompt.
    """
    return next(
        (
            key
            for key in PROMPTS
            if record.get(key) is not None and not (key == "id" and "choices" in record)
        ),
        "",
    )


def prompt_of(record: Mapping[str, object], key: str) -> str:
    """What a record says its prompt is; long ones are cut, and told apart by a digest."""
    value = record.get(key)
    if value is None:
        raise InputError(f"no {key}, by which the lines before it name their prompt")
    if isinstance(value, str):
        text = value
    elif isinstance(value, int | list | dict) and not isinstance(value, bool):
        try:
            text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
        except RecursionError as error:
            raise InputError(f"{key} is nested too deeply") from error
    else:
        raise InputError(f"{key} is {_called(value)}", expected="text or a number")
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_LONGEST]}... ({digest[:8]})"


def samples(record: Mapping[str, object], depth: int = 0) -> Iterator[Sample]:
    """The outputs of a record, at least one; token ids where it has both them and text."""
    if depth > _DEPTH:
        raise InputError("records inside records, nested too deeply")
    for key in (*TOKENS, *LISTS, *TEXTS, *WRAPPERS):
        value = record.get(key)
        if value is None:
            continue
        if key in TOKENS:
            yield from _token_lists(key, value)
        elif isinstance(value, dict):
            yield from samples(value, depth + 1)
        elif isinstance(value, str) and key in TEXTS:
            yield Sample("text", array("i"), value)
        elif isinstance(value, list):
            yield from _listed(key, value, depth)
        else:
            raise InputError(f"{key} is {_called(value)}", expected="text or a list")
        return
    keys = ", ".join(visible(key, 20) for key in list(record)[:8]) or "nothing"
    raise InputError(f"no outputs among {keys}", expected=LOOKED_FOR)


def _token_lists(key: str, value: object) -> Iterator[Sample]:
    if not isinstance(value, list):
        raise InputError(f"{key} is {_called(value)}", expected="a list of token ids")
    if value and isinstance(value[0], list):
        for one in value:
            yield _tokens(key, one)
    else:
        yield _tokens(key, value)


def _listed(key: str, values: list[object], depth: int) -> Iterator[Sample]:
    """The outputs in a list: texts, lists of token ids, records of their own; or one output, where
    the list is of numbers.
    """
    if not values:
        raise InputError(f"{key} is empty", expected="at least one output")
    if isinstance(values[0], int):
        yield _tokens(key, values)
        return
    for value in values:
        if isinstance(value, str):
            yield Sample("text", array("i"), value)
        elif isinstance(value, list):
            yield _tokens(key, value)
        elif isinstance(value, dict):
            yield from samples(value, depth + 1)
        else:
            raise InputError(f"an output in {key} is {_called(value)}", expected=LOOKED_FOR)


def _tokens(key: str, value: object) -> Sample:
    if not isinstance(value, list):
        raise InputError(f"an output in {key} is {_called(value)}", expected="a list of token ids")
    if set(map(type, value)) - {int}:
        wrong = next(one for one in value if type(one) is not int)
        what = f"a token in {key} is {_called(wrong)}"
        raise InputError(what, expected="whole numbers; text goes under text")
    try:
        tokens = array("i", value)
    except OverflowError:
        raise InputError(
            f"a token id in {key} is out of reach", expected=f"0 to {MAX_ID}"
        ) from None
    if tokens and min(tokens) < 0:
        raise InputError(f"a token id in {key} is {min(tokens)}", expected=f"0 to {MAX_ID}")
    return Sample("tokens", tokens)


def _called(value: object) -> str:
    """What JSON calls a value."""
    return _CALLED.get(type(value), "no number")
