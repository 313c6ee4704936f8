"""Queues with closed forms, as planners for language models use them.

They are what the model of a replica is measured against, and what other planners' figures are
explained by. Seconds and requests a second throughout; arrays broadcast. A queue that receives as
much as it serves, or more, has no steady state and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from specplan.errors import Refused, UsageError
from specplan.physics.tokens import FloatArray

_PLACES = 1 << 13  # of the grid that a waiting time is worked out on
_REACH = 40.0  # of mean waits, as far as that grid goes at least


def _busy(load: npt.ArrayLike) -> FloatArray:
    """The load, where every one of them is 0 or more and below 1."""
    rho = np.asarray(load, np.float64)
    if not np.isfinite(rho).all() or (rho < 0).any():
        raise UsageError("rates and times are not all 0 or more", expected="finite ones")
    if (rho >= 1).any():
        raise Refused(
            f"a server that is asked for {float(rho.max()):.4g} times what it can do has no "
            "steady state",
            hint="ask for a lower rate",
        )
    return rho


def _load(rate_per_s: npt.ArrayLike, service_s: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The load of one server, and its service as an array."""
    service = np.asarray(service_s, np.float64)
    return _busy(np.asarray(rate_per_s, np.float64) * service), service


def mm1_response_s(rate_per_s: npt.ArrayLike, service_s: npt.ArrayLike) -> FloatArray:
    """Mean time in an M/M/1 queue, waiting and service: S / (1 - rho)."""
    rho, service = _load(rate_per_s, service_s)
    return service / (1 - rho)


def mm1_wait_quantile_s(
    rate_per_s: npt.ArrayLike, service_s: npt.ArrayLike, percentile: npt.ArrayLike
) -> FloatArray:
    """The wait that `percentile` (0..100) per cent do not exceed: ln(rho / (1 - p)) S / (1 - rho),
    0 where as many do not wait.
    """
    rho, service = _load(rate_per_s, service_s)
    left = 1 - np.asarray(percentile, np.float64) / 100
    if (left <= 0).any() or (left > 1).any():
        raise UsageError("a percentile that is not within 0 and below 100")
    found: FloatArray = np.log(np.maximum(rho / left, 1.0)) * service / (1 - rho)
    return found


def mg1_wait_s(
    rate_per_s: npt.ArrayLike, service_s: npt.ArrayLike, cv2: npt.ArrayLike
) -> FloatArray:
    """Mean wait of an M/G/1 queue whose services have the squared coefficient of variation `cv2`:
    rho S (1 + cv2) / (2 (1 - rho)) (Pollaczek 1930, Khinchine 1932).
    """
    rho, service = _load(rate_per_s, service_s)
    found: FloatArray = rho * service * (1 + np.asarray(cv2, np.float64)) / (2 * (1 - rho))
    return found


def mg1_waits_within(
    rate_per_s: float, service_s: npt.ArrayLike, weight: npt.ArrayLike, within_s: npt.ArrayLike
) -> FloatArray:
    """The share that waits at most `within_s` (any shape, 0 or more) where services take
    `service_s` (P,) seconds by `weight` (P,).

    A wait is the sum of N residual services, N geometric in rho (the Pollaczek-Khinchine transform
    (1 - rho) / (1 - rho R(s)), inverted on a grid): exact but for that grid.
    """
    service, share = np.asarray(service_s, np.float64), np.asarray(weight, np.float64)
    share = share / share.sum()
    mean = float(share @ service)
    rho = float(_busy(rate_per_s * mean))
    at = np.asarray(within_s, np.float64)
    behind = rate_per_s * float(share @ service**2) / (2 * (1 - rho))
    reach = max(float(at.max()), _REACH * behind, float(service.max()))
    grain = 2 * reach / _PLACES
    residual = _hats(_residual(service, share, np.arange(-1.0, _PLACES + 1) * grain), grain)
    waits = np.fft.irfft((1 - rho) / (1 - rho * np.fft.rfft(residual, 2 * _PLACES)))[:_PLACES]
    edges = np.concatenate(([0.0], (np.arange(_PLACES) + 0.5) * grain))
    held = np.concatenate(([1 - rho], np.cumsum(np.maximum(waits, 0.0))))
    return np.minimum(np.interp(at, edges, held), 1.0)


def _residual(service: FloatArray, share: FloatArray, at: FloatArray) -> FloatArray:
    """The integral up to each of `at` of the distribution of a residual service, P(R <= x) =
    E[min(S, x)] / E[S].
    """
    order = np.argsort(service)
    s, w = service[order], share[order]
    ended = np.searchsorted(s, at, side="right")
    sums = [np.concatenate(([0.0], np.cumsum(w * s**power))) for power in (0, 1, 2)]
    shares, firsts, squares = (each[ended] for each in sums)
    x = np.maximum(at, 0.0)
    whole = (1 - shares) * x**2 / 2 + firsts * x - squares / 2
    found: FloatArray = whole / float(w @ s)
    return found


def _hats(integral: FloatArray, grain: float) -> FloatArray:
    """The weight of grid points, that of the values between two shared so that the mean stays."""
    found: FloatArray = np.diff(integral, 2) / grain
    return found


def md1_ttft_s(rate_per_s: npt.ArrayLike, prefill_s: npt.ArrayLike, *, ways: int = 1) -> FloatArray:
    """Mean time to the first token where prompts of one length are read one by one: D + R D^2 /
    (2 (1 - R D)), over `ways` stages of a pipeline D + R D^2 / (2 m (m - R D)) (Zhong et al. 2024,
    DistServe, arXiv 2401.09670, section 3; it writes the pipeline of two, m = 2).
    """
    d = np.asarray(prefill_s, np.float64)
    rate = np.asarray(rate_per_s, np.float64)
    _busy(rate * d / ways)
    found: FloatArray = d + rate * d**2 / (2 * ways * (ways - rate * d))
    return found


def md1_tensor_ttft_s(
    rate_per_s: npt.ArrayLike, prefill_s: npt.ArrayLike, speedup: npt.ArrayLike
) -> FloatArray:
    """The same where several GPUs read each prompt `speedup` times as fast (K of them 1 to the
    number of GPUs): D / K + R D^2 / (2 K (K - R D)) (ibid.).
    """
    faster = np.asarray(prefill_s, np.float64) / np.asarray(speedup, np.float64)
    return md1_ttft_s(rate_per_s, faster)


def erlang_c(servers: int, offered: npt.ArrayLike) -> FloatArray:
    """The share of requests that wait at `servers` servers offered so many erlangs (Erlang 1917),
    by the recursion of the loss formula, which holds for thousands of servers.
    """
    load = np.asarray(offered, np.float64)
    rho = _busy(load / servers)
    lost = np.ones_like(load)
    for server in range(1, servers + 1):
        lost = load * lost / (server + load * lost)
    found: FloatArray = lost / (1 - rho * (1 - lost))
    return found


def fleet_wait_s(
    servers: int,
    rate_per_s: npt.ArrayLike,
    per_server_per_s: npt.ArrayLike,
    cv2: npt.ArrayLike,
    percentile: float = 99.0,
) -> FloatArray:
    """The wait that a percentile of the requests does not exceed at `servers` places, services of
    variation `cv2`: ln(C / (1 - p)) (1 + cv2) / (2 (c mu - lambda)), 0 where fewer wait (the
    M/G/c approximation of vllm-project/semantic-router's fleet simulator, Kimura's form).
    """
    rate, mu = np.asarray(rate_per_s, np.float64), np.asarray(per_server_per_s, np.float64)
    chance = erlang_c(servers, rate / mu)
    spread = (1 + np.asarray(cv2, np.float64)) / 2
    left = 1 - percentile / 100
    if not 0 < left <= 1:
        raise UsageError(f"percentile {percentile:g}", expected="0 to below 100")
    found: FloatArray = np.log(np.maximum(chance / left, 1.0)) * spread / (servers * mu - rate)
    return found


def gg1_response_s(
    rate_per_s: npt.ArrayLike,
    service_s: npt.ArrayLike,
    arrivals_cv2: npt.ArrayLike,
    service_cv2: npt.ArrayLike,
) -> FloatArray:
    """Mean time in a G/G/1 queue: rho / (1 - rho) S (ca2 + cs2) / 2 + S (Allen and Cunneen's
    approximation; Allen 1990).
    """
    rho, service = _load(rate_per_s, service_s)
    spread = (np.asarray(arrivals_cv2, np.float64) + np.asarray(service_cv2, np.float64)) / 2
    found: FloatArray = rho / (1 - rho) * service * spread + service
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterations:
    """The server of `inferno`: an iteration over B requests takes alpha_s + B delta, where delta
    is what `prompt` and `output` tokens cost at beta_s each and gamma_s for each token that they
    attend to; at most `most` run and `queue` wait. A prompt is read in one iteration.
    """

    prompt: float
    output: float
    alpha_s: float
    beta_s: float
    gamma_s: float
    most: int
    queue: int


@dataclass(frozen=True, slots=True)
class Served:
    """Means of a request: seconds in all, waiting, until its first token and per token, and the
    requests in service; `most_per_s` is the highest rate that the source allows, `flat_per_s` the
    rate of a full server.
    """

    response_s: float
    wait_s: float
    ttft_s: float
    itl_s: float
    in_service: float
    most_per_s: float
    flat_per_s: float


MARGIN: Final = 0.999  # of the rate of a full server: the source asks for no more


def inferno(server: Iterations, rate_per_s: float) -> Served:
    """The M/M/1 queue with state-dependent speed of llm-inferno and llm-d's workload-variant
    autoscaler (Apache-2.0), as its source had it in 2026; earlier documentation has iterations of
    one request more, and other figures.

    w_p = (beta + gamma) n, w_d = beta m + gamma m (n + (m + 1) / 2), delta = (w_p + w_d) / (1 + m),
    tau(B) = (1 + m)(alpha + B delta), mu(B) = B / tau(B), as at `most` beyond it.
    """
    n, m = server.prompt, server.output
    reads = (server.beta_s + server.gamma_s) * n
    writes = server.beta_s * m + server.gamma_s * m * (n + (m + 1) / 2)
    delta = (reads + writes) / (1 + m)
    batch = np.arange(1.0, server.most + 1)
    ends = batch / ((1 + m) * (server.alpha_s + batch * delta))
    flat = float(ends[-1])
    _busy(rate_per_s / (MARGIN * flat))
    speed = np.concatenate((ends, np.full(server.queue, flat)))
    logs = np.concatenate(([0.0], np.cumsum(np.log(rate_per_s / speed))))
    law = np.exp(logs - logs.max())
    law /= law.sum()
    there = np.arange(len(law))
    passes = rate_per_s * (1 - float(law[-1]))
    inside = float(law @ np.minimum(there, server.most))
    response, service = float(law @ there) / passes, inside / passes
    first = server.alpha_s + (inside - 1) * delta + reads
    itl = (service - first) / m
    wait = max(response - service, 0.0)
    return Served(response, wait, wait + first + itl, itl, inside, MARGIN * flat, flat)
