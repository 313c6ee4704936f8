"""Decode steps that carry prefill: what a token costs on a server that takes requests as it goes.

A server holding C requests of isl prompt and osl output tokens starts C / osl of them a step, so
each step processes (C - 1) isl / osl prompt tokens beside its C decoding sequences (the first is
not waited for). Engines batch them in chunks up to a budget of tokens; the step with a chunk is
longer, the others are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specplan.domain.card import Dtype
from specplan.physics.silicon import Silicon
from specplan.physics.steps import gpu_step, is_last
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Attend, AttendIndex, AttendLatent, Load, Term, load

ATTENTION = (Attend, AttendLatent, AttendIndex)
BUDGET_TOKENS = 8192  # tokens of one step, prompt and output, that engines allow by default
UNABSORBED = 1 / 3  # of the absorbed FLOP: prompts run latent attention in its plain form
PREFILL_SHARE = 0.5  # of the bf16 peak that prefill attention reaches (assumed)


def tpot_gpu_s(
    terms: Sequence[Term],
    silicon: Silicon,
    *,
    batch: npt.ArrayLike,
    isl: npt.ArrayLike,
    osl: npt.ArrayLike,
) -> FloatArray:
    """GPU seconds per output token, prefill of later requests included; arrays broadcast.

    `batch` sequences run in each attention group. Contexts are at their average, isl + osl / 2.
    """
    held, asked, given = (np.asarray(value, np.float64) for value in (batch, isl, osl))
    context = asked + given / 2
    decode_s = gpu_step(terms, load(held, 1, context), silicon).time_s
    prompt = np.maximum(held - 1, 0.0) * asked / given
    chunk = np.minimum(asked, BUDGET_TOKENS - held)
    carries = (prompt > 0) & (chunk > 0)
    carried = np.where(carries, np.maximum(chunk, prompt), 1.0)
    mixed_s = mixed_step_s(terms, silicon, batch=held, context=context, prompt=carried, isl=asked)
    longer_s: FloatArray = np.where(carries, prompt / carried, 0.0) * (mixed_s - decode_s)
    return decode_s + longer_s


def mixed_step_s(
    terms: Sequence[Term],
    silicon: Silicon,
    *,
    batch: FloatArray,
    context: FloatArray,
    prompt: FloatArray,
    isl: FloatArray,
) -> FloatArray:
    """GPU seconds of a step over `batch` decoding sequences and `prompt` tokens of prompts.

    Matrices see all rows; the head and the sampler one row per sequence; decode attention the
    sequences alone, and prompts attend to half their length on average.
    """
    rows = load(batch, (batch + prompt) / batch, context)
    decoding, sampled = load(batch, 1, context), load(batch + 1, 1, context)
    attention = [term for term in terms if isinstance(term, ATTENTION)]
    last = [term for term in terms if is_last(term)]
    wide = [term for term in terms if term not in attention and term not in last]
    parts: tuple[tuple[Sequence[Term], Load], ...] = (
        (wide, rows),
        (attention, decoding),
        (last, sampled),
    )
    total_s = np.zeros(1)
    for some, asked in parts:
        total_s = total_s + gpu_step(some, asked, silicon).time_s
    for term in attention:
        total_s = total_s + prompt_attention_s(term, prompt, isl / 2, silicon)
    return total_s


def prefill_step_s(
    terms: Sequence[Term], silicon: Silicon, prompt: float, isl: float
) -> FloatArray:
    """GPU seconds of a step over `prompt` tokens of prompts of `isl` tokens, nothing decoding."""
    attention = [term for term in terms if isinstance(term, ATTENTION)]
    others = [term for term in terms if term not in attention]
    total_s = gpu_step(others, load(1, prompt, isl / 2), silicon, load(1, 1, isl)).time_s
    for term in attention:
        total_s = total_s + prompt_attention_s(term, np.asarray(prompt), isl / 2, silicon)
    return total_s


def prompt_attention_s(
    term: Term, prompt: FloatArray, attended: npt.ArrayLike, silicon: Silicon
) -> FloatArray:
    """GPU seconds of the attention of `prompt` tokens, each to `attended` tokens on average: its
    arithmetic, for prompts are wide. Half a prompt is what causal attention sees.
    """
    flops = term.flops(load(1, prompt, attended))
    share = UNABSORBED if isinstance(term, AttendLatent) else 1.0
    return share * flops / (PREFILL_SHARE * silicon.peak(Dtype.BF16))
