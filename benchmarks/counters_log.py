"""How fast a server's log is read whose lines are mostly of other things, and in what memory.

    python benchmarks/counters_log.py [MB] [--gzip]

The log is written to a temporary file first: requests, access lines and debug lines of a vLLM
server, and every 2,000 lines the two lines that say what was drafted and accepted. The figures are
CPU time of the process and the most memory it ever held.
"""

from __future__ import annotations

import gzip
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from specplan.dialects.stream import read
from specplan.domain.capture import Span

NOISE = (
    "(APIServer pid=1) INFO 05-06 06:11:23 [logger.py:42] Received request chatcmpl-{:032x}: "
    "prompt: 'Tell me a long story about dragons and knights, please.', params: "
    "SamplingParams(n=1, temperature=0.7, top_p=0.95, max_tokens=2048), lora_request: None.\n",
    '(APIServer pid=1) INFO:     10.1.2.3:54321 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
    "(EngineCore_0 pid=77) DEBUG 05-06 06:11:23 [core.py:512] EngineCore loop active, {}.\n",
)
TOLD = (
    "(APIServer pid=1) INFO 05-06 06:11:23 [loggers.py:248] Engine 000: Avg prompt throughput: "
    "140.8 tokens/s, Avg generation throughput: 327.4 tokens/s, Running: 4 reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 5.2%, Prefix cache hit rate: 0.0%\n"
    "(APIServer pid=1) INFO 05-06 06:11:23 [metrics.py:101] SpecDecoding metrics: Mean acceptance "
    "length: 2.56, Accepted throughput: 198.40 tokens/s, Drafted throughput: 380.40 tokens/s, "
    "Accepted: 1984 tokens, Drafted: 3804 tokens, Per-position acceptance rate: 0.703, 0.502, "
    "0.359, Avg Draft acceptance rate: 52.2%\n"
)


def lines(megabytes: int) -> Iterator[str]:
    """A piece of the log of about a megabyte, again and again."""
    rng = random.Random(1)
    piece = []
    for number in range(7000):
        piece.append(rng.choice(NOISE).format(rng.getrandbits(100)))
        if number % 2000 == 1000:
            piece.append(TOLD)
    text = "".join(piece)
    for _ in range(megabytes * 1_000_000 // len(text) + 1):
        yield text


def most_mb() -> float:
    """The most memory the process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Prints rate and memory."""
    packed = "--gzip" in sys.argv
    sizes = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.log")
        with gzip.open(path, "wt") if packed else path.open("w") as file:
            size = sum(file.write(text) for text in lines(sizes[0] if sizes else 1000))
        before = most_mb()
        start = time.process_time()
        stream = read(str(path))
        spans = sum(isinstance(found, Span) for found in stream)
        used_s = time.process_time() - start
        most = most_mb()
        start = time.process_time()
        with gzip.open(path) if packed else path.open("rb") as file:
            count = sum(1 for _ in file)
        loop_s = time.process_time() - start
    if count != stream.lines:
        raise SystemExit(f"{stream.lines} lines were read of {count}")
    print(f"{size / 1e6:,.0f} MB of text, {stream.lines:,} lines, {spans:,} spans")
    print(f"{size / 1e6 / used_s:8.0f} MB/s of CPU time")
    print(f"{used_s / loop_s:8.1f} times that of a loop over the lines that does nothing")
    print(f"{most:8.0f} MB of memory at most, {before:.0f} MB before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
