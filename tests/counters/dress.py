"""What stands around an engine's lines: stamps, colours, the noise of a server."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

START = datetime(2026, 5, 6, 6, 11, 13, tzinfo=UTC)
"""When every printed world begins."""


def at(seconds: float) -> datetime:
    """The moment `seconds` after START."""
    return START + timedelta(seconds=seconds)


def vllm_prefix(when: float, where: str, *, process: str = "", bracket: bool = True) -> str:
    """`(APIServer pid=1) INFO 05-06 06:11:23 [loggers.py:248] `; `process` may be empty.

    Engines up to 0.6 wrote `metrics.py:467] ` without an opening bracket.
    """
    open_ = "[" if bracket else ""
    lead = f"({process}) " if process else ""
    return f"{lead}INFO {at(when):%m-%d %H:%M:%S} {open_}{where}] "


def sglang_prefix(when: float, *, dp: int | None = None, tp: int | None = None) -> str:
    """`[2026-05-06 06:11:23 DP0 TP0] `: ranks are named only where there are several."""
    ranks = (f" DP{dp}" if dp is not None else "") + (f" TP{tp}" if tp is not None else "")
    return f"[{at(when):%Y-%m-%d %H:%M:%S}{ranks}] "


def llamacpp_prefix(when: float, level: str = "I") -> str:
    """`0.06.895.980 I `: minutes, seconds, milli- and microseconds since the start, a level."""
    micro = round(when * 1e6)
    minutes, rest = divmod(micro, 60_000_000)
    seconds, rest = divmod(rest, 1_000_000)
    return f"{minutes}.{seconds:02d}.{rest // 1000:03d}.{rest % 1000:03d} {level} "


def docker(text: str) -> str:
    """`docker logs -t` and the container runtime's own files: a stamp before every line."""
    return _each(text, lambda i, line: f"{_stamp(i)} {line}")


def kubernetes(text: str) -> str:
    """A node's file of a pod's log: stamp, stream, tag."""
    return _each(text, lambda i, line: f"{_stamp(i)} stderr F {line}")


def kubectl(text: str, pod: str = "pod/vllm-7c9d8b6f4-x2x5p/vllm") -> str:
    """`kubectl logs --prefix`."""
    return _each(text, lambda _, line: f"[{pod}] {line}")


def compose(text: str, service: str = "vllm-1") -> str:
    """`docker compose logs`: the service, coloured, and a bar."""
    return _each(text, lambda _, line: f"\x1b[36m{service}  | \x1b[0m{line}")


def journal(text: str) -> str:
    """`journalctl -u vllm`."""
    return _each(text, lambda i, line: f"{at(i):%b %d %H:%M:%S} gpu07 vllm[4711]: {line}")


def ray(text: str) -> str:
    """As Ray prints an actor's lines: name and process, cyan."""
    return _each(text, lambda _, line: f"\x1b[36m(ServeActor pid=105447)\x1b[0m {line}")


def coloured(text: str) -> str:
    """The engine's own colours: green around the level, cyan around the process."""

    def paint(_: int, line: str) -> str:
        line = line.replace("INFO ", "\x1b[32mINFO\x1b[0m ", 1)
        if line.startswith("("):
            process, _, rest = line.partition(") ")
            line = f"\x1b[0;36m{process})\x1b[0;0m {rest}"
        return line

    return _each(text, paint)


def crlf(text: str) -> bytes:
    """As an editor of another system keeps it, with a byte order mark."""
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()


def gz(text: str) -> bytes:
    """Compressed; the same bytes every time."""
    return gzip.compress(text.encode(), mtime=0)


def truncated(text: str, lost: int = 37) -> str:
    """As a full disk leaves it: the last line ends in the middle."""
    return text.rstrip("\n")[:-lost]


def noisy(text: str, seed: int = 0, often: float = 0.5) -> str:
    """Lines that no reader knows among the others: access logs, warnings, a traceback."""
    rng = random.Random(seed)  # noqa: S311
    lines: list[str] = []
    for line in text.splitlines():
        while rng.random() < often:
            lines.append(rng.choice(NOISE))
        lines.append(line)
    return "\n".join(lines) + "\n"


NOISE: Sequence[str] = (
    '(APIServer pid=1) INFO:     10.0.0.7:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    'INFO:     127.0.0.1:38344 - "GET /metrics HTTP/1.1" 200 OK',
    "WARNING 05-06 06:12:01 [api_server.py:1203] Accepted: 12 clients, Drafted: 3 letters",
    "(EngineCore_DP0 pid=214) INFO 05-06 06:11:14 [kv_cache_utils.py:1219] GPU KV cache size: "
    "410,128 tokens",
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3.12/asyncio/runners.py", line 118, in run',
    "asyncio.exceptions.CancelledError",
    "",
    "Gruesse aus München — der Server läuft",
)


def _stamp(line: int) -> str:
    return f"{at(line * 0.25):%Y-%m-%dT%H:%M:%S}.{line % 1000:03d}482913Z"


def _each(text: str, dressed: Callable[[int, str], str]) -> str:
    return "".join(f"{dressed(i, line)}\n" for i, line in enumerate(text.splitlines()))
