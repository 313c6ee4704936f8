"""Whole pages in plain, table and markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.answer import (
    Answer,
    Basis,
    Column,
    Facts,
    Lines,
    Rows,
    Table,
    View,
    table_of,
)
from specplan.render.look import Look

COLUMNS = (
    Column("k", "tokens", "k", "count"),
    Column("speedup", "1", "speedup", "times"),
    Column("round_s", "s", "round", "seconds"),
    Column("bound_by", "", "verify by", "text"),
    Column("near", "", "near", "flag"),
    Column("best", "", "best", "flag"),
)
RECORDS = [
    (3, 2.271, 0.02375, "memory", False, False),
    (4, 2.39, 0.02475, "memory", True, False),
    (5, 2.43, 0.02583, "memory", True, True),
    (16, None, 0.0382, "compute", True, False),
]


def best_k(*, title="k = 5: 2.43x", says="vllm estimate, within 6%", **view):
    records = [dict(zip([c.name for c in COLUMNS], values, strict=True)) for values in RECORDS]
    listing = Rows(
        columns=("k", "speedup", "round_s", "bound_by"), where="near", mark="best", marked="speedup"
    )
    sections = (
        Facts((("TPOT", "8.8 ms (plain 21.3 ms)"), ("tokens/round", "2.94"))),
        Lines(("It pays at every batch.", "Memory ends at batch 61.")),
        listing,
    )
    shown = {"caption": ("batch 32, context 8,192",), "sections": sections} | view
    return Answer(
        command="best-k",
        value=None,
        table=table_of(COLUMNS, records),
        view=View(title=title, **shown),
        basis=Basis(kind="estimate", says=says),
    )


LONG = "[1] one two three four five six seven https://a.example/longer-than-any-line-of-this/page"
WRAPPED = """\
[1] one two three four
    five six seven
    https://a.example/longer-than-any-line-of-this/page
next
"""


def test_a_title_wider_than_the_page_goes_on_below(draw):
    bare = {"caption": (), "sections": ()}
    title = "a title " * 12 + "ends here"
    lines = draw(best_k(title=title, says="a bound", **bare), "plain").splitlines()
    assert [len(line) for line in lines] == [79, 80]
    assert " ".join(" ".join(lines).split()) == f"{title} a bound"
    assert lines[1].startswith("    ")


def test_text_is_wrapped_where_its_section_allows_it(draw):
    sections = (Lines((LONG, "next"), wrap=True),)
    wrapped = best_k(title="", says="", caption=(), sections=sections)
    assert draw(wrapped, "plain", Look(width=24)) == WRAPPED
    assert draw(wrapped, "plain") == WRAPPED.replace("four\n    five", "four five")
    as_it_is = best_k(title="", says="", caption=(), sections=(Lines((LONG, "next")),))
    assert draw(as_it_is, "plain", Look(width=24)) == f"{LONG}\nnext\n"


def test_plain(draw):
    assert (
        draw(best_k(), "plain")
        == """\
k = 5: 2.43x                                            vllm estimate, within 6%
batch 32, context 8,192

  TPOT          8.8 ms (plain 21.3 ms)
  tokens/round  2.94

It pays at every batch.
Memory ends at batch 61.

 k  speedup    round  verify by
 4    2.39x  24.8 ms  memory
 5    2.43x* 25.8 ms  memory
16        -  38.2 ms  compute
"""
    )


WIDE = (
    Column("name", "", "name", "text"),
    *(Column(f"figure_{n}", "1", f"figure {n}", "number") for n in range(8)),
    Column("best", "", "best", "flag"),
    Column("lost", "", "lost", "flag"),
)


def wide(**more) -> Answer:
    """Two rows of eight figures, of which the first is best by its third and the second loses."""
    names = ("one", "another")
    records = [
        {"name": name, "best": not n, "lost": bool(n)}
        | {f"figure_{i}": 1000.0 * (n + 1) + i for i in range(8)}
        for n, name in enumerate(names)
    ]
    figures = tuple(f"figure_{n}" for n in range(8))
    section = Rows(columns=("name", *figures), mark="best", marked="figure_2", **more)
    return Answer(
        command="compare",
        value=None,
        table=table_of(WIDE, records),
        view=View(title="", sections=(section,)),
        basis=Basis(kind="exact", says=""),
    )


BLOCKS = """\
name     figure 0  figure 1  figure 2  figure 3  figure 4  figure 5  figure 6
one         1,000     1,001     1,002*    1,003     1,004     1,005     1,006
another     2,000     2,001!    2,002     2,003     2,004     2,005     2,006

name     figure 7
one         1,007
another     2,007!
"""


def test_what_is_wider_than_a_page_goes_on_in_blocks(draw):
    losing = (("figure_1", "lost"), ("figure_7", "lost"))
    assert draw(wide(heads=1, losing=losing), "plain") == BLOCKS
    ruled = draw(wide(heads=1, losing=losing), "table").splitlines()
    assert [line for line in ruled if not line.startswith("-")] == BLOCKS.splitlines()
    assert sum(line.startswith("-") for line in ruled) == 2


def test_without_heads_it_stays_as_wide_as_it_is(draw):
    lines = draw(wide(), "plain").splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) > 80


def test_a_column_wider_than_a_page_stands_alone(draw):
    answer = wide(heads=1)
    (chunk,) = answer.table.chunks()
    records = [
        {**dict(zip(chunk, row, strict=True)), "name": "n" * 75}
        for row in zip(*chunk.values(), strict=True)
    ]
    long = replace(answer, table=table_of(WIDE, records))
    blocks = draw(long, "plain").split("\n\n")
    assert len(blocks) == 8
    assert [block.split()[2] for block in blocks] == [str(n) for n in range(8)]


def test_markdown_needs_no_blocks(draw):
    text = draw(wide(heads=1, losing=(("figure_1", "lost"),)), "markdown")
    assert len(text.splitlines()) == 4
    assert r"1,002\*" in text
    assert "2,001!" in text


def test_markdown(draw):
    assert (
        draw(best_k(), "markdown")
        == r"""### k = 5: 2.43x

*vllm estimate, within 6%*\
batch 32, context 8,192

- TPOT: 8.8 ms (plain 21.3 ms)
- tokens/round: 2.94

It pays at every batch.\
Memory ends at batch 61.

| k | speedup | round | verify by |
|---:|---:|---:|:---|
| 4 | 2.39x | 24.8 ms | memory |
| 5 | 2.43x\* | 25.8 ms | memory |
| 16 | - | 38.2 ms | compute |
"""
    )


def test_table_with_colour(draw):
    assert draw(best_k(), "table", Look(color=True)) == (
        "\x1b[1mk = 5: 2.43x\x1b[0m                                            "
        "\x1b[36mvllm estimate, within 6%\x1b[0m\n"
        "\x1b[2mbatch 32, context 8,192\x1b[0m\n"
        "\n"
        "  TPOT          8.8 ms (plain 21.3 ms)\n"
        "  tokens/round  2.94\n"
        "\n"
        "It pays at every batch.\n"
        "Memory ends at batch 61.\n"
        "\n"
        " \x1b[1mk\x1b[0m  \x1b[1mspeedup\x1b[0m    \x1b[1mround\x1b[0m  \x1b[1mverify by\x1b[0m\n"
        "\x1b[2m-------------------------------\x1b[0m\n"
        " 4    2.39x  24.8 ms  memory\n"
        " 5    \x1b[1;32m2.43x*\x1b[0m 25.8 ms  memory\n"
        "16        -  38.2 ms  compute\n"
    )


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("set_", [{"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"TERM": "dumb"}])
def test_the_caller_alone_decides_about_colour(draw, monkeypatch, set_, color):
    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in draw(best_k(), "table", Look(color=color))) is color


def test_no_line_is_cut_or_wrapped_to_the_terminal(draw, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    long = "word " * 60 + "end"
    text = draw(best_k(sections=(Lines((long,)),)), "table", Look(width=20))
    assert text.splitlines()[-1] == long


@pytest.mark.parametrize(
    ("title", "width", "lines"),
    [
        ("t" * 54, None, ["t" * 54 + "  " + "vllm estimate, within 6%"]),
        ("t" * 55, None, ["t" * 55, " " * 56 + "vllm estimate, within 6%"]),
        ("t" * 90, None, ["t" * 90, " " * 56 + "vllm estimate, within 6%"]),
        ("title", 40, ["title" + " " * 11 + "vllm estimate, within 6%"]),
        ("title", 200, ["title" + " " * 51 + "vllm estimate, within 6%"]),
        ("\u6a21" * 27, None, ["\u6a21" * 27 + "  " + "vllm estimate, within 6%"]),
    ],
)
@pytest.mark.parametrize("name", ["plain", "table"])
def test_the_basis_stands_at_the_right_edge(draw, name, title, width, lines):
    view = {"caption": (), "sections": ()}
    text = draw(best_k(title=title, **view), name, Look(width=width, unicode=True))
    assert text.splitlines() == lines


def test_without_a_basis_and_with_nothing_to_show(draw):
    bare = {"caption": (), "sections": (Facts(()), Lines(()))}
    assert draw(best_k(title="only a title", says="", **bare), "plain") == "only a title\n"
    assert draw(best_k(title="", says="", **bare), "plain") == ""
    assert draw(best_k(title="", says="", **bare), "markdown") == ""
    assert draw(best_k(title="", says="", **bare), "table") == ""
    lines = best_k(title="", says="", caption=(), sections=(Lines(("3 plans hold",)),))
    assert draw(lines, "plain") == "3 plans hold\n"


def test_rows_that_are_all_left_out_leave_no_heading(draw):
    shown = best_k(sections=(Rows(columns=("k",), where="best"), Lines(("end",))), caption=())
    empty = Answer(
        command="check",
        value=None,
        table=Table(columns=COLUMNS),
        view=shown.view,
        basis=shown.basis,
    )
    assert draw(empty, "plain").splitlines()[1:] == ["", "end"]
    assert draw(empty, "markdown").splitlines()[3:] == ["", "end"]


@pytest.mark.parametrize("name", ["plain", "table"])
def test_text_is_ascii_where_the_stream_is(draw, name):
    shown = best_k(title="mod\u00e8le \u6a21", sections=(Facts((("\u00e9", "\u00fc"),)),))
    assert draw(shown, name).isascii()
    assert draw(shown, name).startswith("mod\\xe8le \\u6a21 ")
    assert draw(shown, name, Look(unicode=True)).startswith("mod\u00e8le \u6a21 ")


def test_marks_stay_beside_text_that_is_aligned_to_the_left(draw):
    columns = (Column("name", "", "name", "text"), Column("mine", "", "mine", "flag"))
    listing = Rows(columns=("name", "mine"), mark="mine", marked="name")
    records = [{"name": "l40s", "mine": True}, {"name": "h100-sxm", "mine": False}]
    shown = Answer(
        command="hardware",
        value=None,
        table=table_of(columns, records),
        view=View(title="", sections=(listing,)),
        basis=Basis(kind="exact", says=""),
    )
    assert draw(shown, "plain") == "name      mine\nl40s*     yes\nh100-sxm  no\n"


def test_a_cell_wider_than_those_measured_is_not_cut(draw):
    columns = (Column("name", "", "name", "text"), Column("k", "", "k", "count"))
    records = [{"name": "short", "k": 1}] * 2000 + [{"name": "longer than any before", "k": 2}]
    shown = Answer(
        command="hardware",
        value=None,
        table=table_of(columns, records),
        view=View(title="", sections=(Rows(columns=("name", "k")),)),
        basis=Basis(kind="exact", says=""),
    )
    lines = draw(shown, "plain").splitlines()
    assert lines[0] == "name   k"
    assert lines[2000:] == ["short  1", "longer than any before 2"]
    assert draw(shown, "table").splitlines()[2:] == lines[1:]


def test_sentences_start_no_list_and_no_code_in_markdown(draw):
    texts = ("- a", "+ b", "4. c", "12) d", "    e", "= f", "# g", "1e9 is h", "-1.5 i")
    shown = best_k(title="", says="", caption=(), sections=(Lines(texts),))
    assert draw(shown, "markdown") == (
        "\\- a\\\n\\+ b\\\n4\\. c\\\n12\\) d\\\ne\\\n\\= f\\\n\\# g\\\n1e9 is h\\\n\\-1.5 i\n"
    )


def test_markdown_goes_on_where_a_fact_has_no_label_and_calls_nobody(draw):
    facts = Facts((("memory", "2.3 GiB, after @octocat"), ("", "226 -> 174"), ("mail", "a@b.org")))
    text = draw(best_k(sections=(facts,)), "markdown")
    assert "- memory: 2.3 GiB, after @&#8203;octocat; 226 -\\> 174\n- mail: a@b.org\n" in text
