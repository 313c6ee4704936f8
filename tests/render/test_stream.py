"""A long table passes through every format chunk by chunk."""

from __future__ import annotations

import weakref

import pytest

from specplan.domain.answer import Answer, Basis, Column, Pivot, Rows, Table, View
from specplan.render import FIGURES, FORMATS, renderer
from specplan.render.look import Look

ROWS = 100_000
CHUNK = 1_000
COLUMNS = (
    Column("rule", "", "rule", "text"),
    Column("level", "", "level", "text"),
    Column("file", "", "file", "text"),
    Column("line", "", "line", "count"),
    Column("column", "", "column", "count"),
    Column("message", "", "message", "text"),
    Column("name", "", "name", "text"),
    Column("help", "", "help", "text"),
    Column("k", "tokens", "k", "count"),
    Column("speedup", "1", "speedup", "times"),
    Column("some", "", "some", "flag"),
)
LISTING = Rows(columns=("line", "speedup", "message"), where="some")
MAP = Pivot(across="k", down=("line",), blocks=(), cell="speedup", turn="", misfit="")


class Chunk(dict):
    """A chunk that can be watched."""


class Watched:
    """Makes chunks, and sees to it that none is asked for while another is still held."""

    def __init__(self):
        self.made = 0

    def __call__(self):
        last = None
        for start in range(0, ROWS, CHUNK):
            assert last is None or last() is None, "two chunks at once"
            numbers = range(start, start + CHUNK)
            chunk = Chunk(
                rule=["SP001"] * CHUNK,
                level=["error"] * CHUNK,
                file=["plan.yaml"] * CHUNK,
                line=[n // 10 for n in numbers],
                column=[1] * CHUNK,
                message=["m"] * CHUNK,
                name=["n"] * CHUNK,
                help=["h"] * CHUNK,
                k=[n % 10 for n in numbers],
                speedup=[1.5] * CHUNK,
                some=[n % 20 == 0 for n in numbers],
            )
            self.made += 1
            last = weakref.ref(chunk)
            yield chunk
            del chunk


class CountingSink:
    """A stream that forgets; it knows the longest piece it was given."""

    def __init__(self):
        self.characters = self.lines = self.longest = 0

    def write(self, text):
        self.characters += len(text)
        self.lines += text.count("\n")
        self.longest = max(self.longest, len(text))
        return len(text)

    def writelines(self, texts):
        for text in texts:
            self.write(text)


def through(name, section):
    chunks, sink = Watched(), CountingSink()
    answer = Answer(
        command="check",
        value=None,
        table=Table(columns=COLUMNS, rows=ROWS, chunks=chunks),
        view=View(title="", sections=(section,)),
        basis=Basis(kind="bound", says=""),
    )
    renderer(name)(answer, sink, Look())
    return chunks, sink


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - FIGURES - {"chart", "html"}))
def test_no_format_holds_more_than_one_chunk(name):
    """Pictures draw no rows, and a page shows the first of them."""
    chunks, sink = through(name, LISTING)
    assert chunks.made == (ROWS // CHUNK) * (2 if name == "junit" else 1)
    shown = ROWS // 20 if name in {"plain", "text", "table", "markdown"} else ROWS
    assert shown <= sink.lines < 2.1 * shown
    assert sink.longest < 300 * CHUNK


def test_a_page_shows_the_first_rows_and_says_so():
    chunks, sink = through("html", LISTING)
    assert chunks.made == 2_000 // (CHUNK // 20)  # a row in 20 is for people
    assert 2_000 < sink.lines < 10_000


@pytest.mark.parametrize("name", ["plain", "markdown"])
def test_a_map_reads_the_table_once_and_holds_no_chunk(name):
    chunks, sink = through(name, MAP)
    assert chunks.made == ROWS // CHUNK
    assert sink.lines > ROWS // 10


@pytest.mark.parametrize("error", [BrokenPipeError, OSError])
@pytest.mark.parametrize("name", FORMATS)
def test_what_the_stream_refuses_is_left_to_the_caller(everything, name, error):
    """rich, left alone, ends the program with 1 on a closed pipe: "the answer is no"."""

    class Closed(CountingSink):
        def write(self, text):
            raise error(len(text))

    with pytest.raises(error):
        renderer(name)(everything("name"), Closed(), Look(color=True))
