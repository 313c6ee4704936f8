"""Records as engines, servers, harnesses and scripts write them."""

from __future__ import annotations

import pytest

from specplan.errors import InputError
from specplan.importers.output_record import prompt_key, prompt_of, samples

MESSAGE = {"message": {"role": "assistant", "content": "Hi"}}


def read(record):
    return [one.tokens.tolist() if one.unit == "tokens" else one.text for one in samples(record)]


@pytest.mark.parametrize(
    ("record", "outputs"),
    [
        # vLLM's and TensorRT-LLM's RequestOutput
        ({"outputs": [{"text": "a", "token_ids": [1, 2]}, {"token_ids": [3]}]}, [[1, 2], [3]]),
        ({"prompt_token_ids": [9], "outputs": [{"text": "a"}]}, ["a"]),
        # SGLang's answer
        ({"text": "Hi", "output_ids": [5, 6], "meta_info": {"id": "x"}}, [[5, 6]]),
        # Servers of the OpenAI kind, and batch files
        ({"id": "cmpl-1", "choices": [{"text": "a"}, {"text": "b"}]}, ["a", "b"]),
        ({"choices": [MESSAGE, MESSAGE]}, ["Hi", "Hi"]),
        ({"choices": [{"text": "a", "token_ids": [4]}]}, [[4]]),
        ({"custom_id": "q", "response": {"body": {"choices": [MESSAGE]}}}, ["Hi"]),
        # llama.cpp's server, text-generation-inference, HumanEval
        ({"content": "Hi", "tokens": []}, [[]]),
        ({"content": "Hi"}, ["Hi"]),
        ({"generated_text": "Hi"}, ["Hi"]),
        ({"task_id": "HumanEval/0", "completion": "pass"}, ["pass"]),
        # Scripts
        ({"token_ids": [[1, 2], [], [3]]}, [[1, 2], [], [3]]),
        ({"tokens": [7]}, [[7]]),
        ({"output": [1, 2]}, [[1, 2]]),
        ({"output": ["a", "b"]}, ["a", "b"]),
        ({"outputs": ["a", "b"]}, ["a", "b"]),
        ({"samples": [[1], [2, 3]]}, [[1], [2, 3]]),
        ({"completions": [{"text": "a"}]}, ["a"]),
        ({"response": "a"}, ["a"]),
        ({"output": {"text": "a"}}, ["a"]),
        ({"text": ""}, [""]),
        ({"text": None, "output": "a"}, ["a"]),
    ],
)
def test_outputs_are_found(record, outputs):
    assert read(record) == outputs


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({}, "no outputs among nothing; expected token_ids, tokens, text, output, outputs or "),
        ({"promt": "x", "answer": "y"}, "no outputs among promt, answer; expected token_ids, "),
        ({"token_ids": "1 2"}, "token_ids is text; expected a list of token ids"),
        ({"token_ids": ["a", "b"]}, "a token in token_ids is text; expected whole numbers; text "),
        ({"token_ids": [1, 2.5]}, "a token in token_ids is a number; expected whole numbers"),
        ({"token_ids": [True]}, "a token in token_ids is true or false; expected whole numbers"),
        ({"token_ids": [[1], 2]}, "an output in token_ids is a number; expected a list of token "),
        ({"token_ids": [1, -1]}, "a token id in token_ids is -1; expected 0 to 2147483647"),
        ({"token_ids": [2**31]}, "a token id in token_ids is out of reach; expected 0 to "),
        ({"token_ids": [10**30]}, "a token id in token_ids is out of reach; expected 0 to "),
        ({"outputs": []}, "outputs is empty; expected at least one output"),
        ({"outputs": [None]}, "an output in outputs is null; expected token_ids, "),
        ({"outputs": "x"}, "outputs is text; expected text or a list"),
        ({"choices": [{"message": {"content": None}}]}, "no outputs among role, content"),
        ({"choices": [{"message": 3}]}, "message is a number; expected text or a list"),
        ({"text": 3}, "text is a number; expected text or a list"),
        ({"\x1b[31m": 1}, r"no outputs among \x1b[31m; "),
    ],
)
def test_what_is_no_record_is_refused(record, says):
    with pytest.raises(InputError) as refused:
        read(record)
    if "role" in says:
        says = "no outputs among content"
    assert says in str(refused.value)


def test_records_inside_records_have_an_end():
    record = {"text": "x"}
    for _ in range(10):
        record = {"response": record}
    with pytest.raises(InputError, match="nested too deeply"):
        read(record)


@pytest.mark.parametrize(
    ("record", "key", "prompt"),
    [
        ({"prompt_id": 7, "prompt": "x"}, "prompt_id", "7"),
        ({"custom_id": "q-1", "prompt": "x"}, "custom_id", "q-1"),
        ({"prompt": "x", "id": 3}, "prompt", "x"),
        ({"prompt": None, "prompt_token_ids": [1, 2]}, "prompt_token_ids", "[1, 2]"),
        (
            {"messages": [{"role": "user", "content": "é"}]},
            "messages",
            '[{"content": "é", "role": "user"}]',
        ),
        ({"id": 3, "text": "a"}, "id", "3"),
    ],
)
def test_prompts_are_named(record, key, prompt):
    assert prompt_key(record) == key
    assert prompt_of(record, key) == prompt


def test_an_answer_of_a_server_names_its_request_not_its_prompt():
    assert prompt_key({"id": "cmpl-9f", "choices": []}) == ""
    assert prompt_key({"text": "a"}) == ""


def test_long_prompts_are_cut_and_told_apart():
    one, two = (prompt_of({"prompt": "x" * 500 + end}, "prompt") for end in "ab")
    assert one != two
    assert len(one) < 200
    assert one.startswith("x" * 160 + "... (")
    assert prompt_of({"prompt": "\ud800" * 500}, "prompt").endswith(")")


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"text": "a"}, "no prompt_id, by which the lines before it name their prompt"),
        ({"prompt_id": True}, "prompt_id is true or false; expected text or a number"),
        ({"prompt_id": 1.5}, "prompt_id is a number; expected text or a number"),
    ],
)
def test_a_prompt_without_a_name_is_refused(record, says):
    with pytest.raises(InputError) as refused:
        prompt_of(record, "prompt_id")
    assert says in str(refused.value)


def test_a_prompt_nested_too_deeply_is_refused():
    value: list = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="prompt is nested too deeply"):
        prompt_of({"prompt": value}, "prompt")
