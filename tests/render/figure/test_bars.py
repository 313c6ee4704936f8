"""Bars: lengths, texts, rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from specplan.domain.picture import Bar, Bars, Piece, Rule
from specplan.render.figure.bars import clear_of
from specplan.render.figure.spread import spread

PLAIN = Bar("plain steps", (Piece("verify", 16.0, "16 ms"),), "16 ms in all")
ROUND = Bar(
    "round",
    (Piece("draft", 4.0, "4 ms"), Piece("verify", 6.0, "6 ms"), Piece("host", 0.1, "0.1 ms")),
    "10.1 ms in all",
)


def bars(*found, **more):
    return Bars(label="ms", bars=found or (PLAIN, ROUND), **more)


def test_lengths_are_in_the_ratio_of_the_sizes_and_pieces_stand_end_to_end(figure):
    drawn = figure(bars())
    boxes = {name: drawn.box(name) for name in drawn.named("panel-0-piece")}
    assert len(boxes) == 4
    widths = [right - left for left, _, right, _ in boxes.values()]
    assert [w / widths[0] for w in widths] == pytest.approx([1, 4 / 16, 6 / 16, 0.1 / 16], rel=1e-3)
    assert boxes["panel-0-piece-1-0"][2] == pytest.approx(boxes["panel-0-piece-1-1"][0])
    assert boxes["panel-0-piece-0-0"][0] == boxes["panel-0-piece-1-0"][0]
    assert boxes["panel-0-piece-0-0"][3] < boxes["panel-0-piece-1-0"][1]  # the first at the top


def test_every_text_is_there_and_what_does_not_fit_stands_below(figure):
    drawn = figure(bars())
    texts = {"plain steps", "round", "16 ms", "4 ms", "6 ms", "0.1 ms", "16 ms in all", "ms"}
    assert texts <= set(drawn.texts)
    bottom = drawn.box("panel-0-piece-1-2")[3]
    assert drawn.place("0.1 ms")[1] > bottom > drawn.place("4 ms")[1]


def test_a_name_has_one_colour_and_pieces_differ_in_hatch_too(figure):
    drawn = figure(bars())
    fill = {
        name: drawn.parts[name].find("{*}path").get("style")
        for name in drawn.named("panel-0-piece")
    }
    assert fill["panel-0-piece-0-0"] == fill["panel-0-piece-1-1"]
    assert len(set(fill.values())) == 3
    assert drawn.texts.count("verify") == 1


def test_a_rule_stands_at_its_value(figure):
    drawn = figure(bars(rules=(Rule("memory of the GPU", "x", 16.0),)))
    (x0, _), (x1, _) = drawn.points("panel-0-rule-0")
    assert x0 == x1 == pytest.approx(drawn.box("panel-0-piece-0-0")[2], abs=0.01)
    assert "memory of the GPU" in drawn.texts


def test_totals_end_inside_the_sheet(figure):
    long = "16 ms, which is more than all that anybody has ever waited for one token"
    drawn = figure(bars(Bar("n" * 80, PLAIN.pieces, long)))
    words = [text for text in drawn.texts if text and text in long and len(text) > 5]
    assert " ".join(words) == long
    assert max(drawn.place(text)[0] for text in words) < drawn.size[0] - 60


def test_a_bar_of_nothing_is_a_bar(figure):
    drawn = figure(bars(Bar("none", (Piece("p", 0.0, "0"),), "0 ms")))
    assert not drawn.named("panel-0-piece")
    assert {"none", "0 ms"} <= set(drawn.texts)


def test_words_are_moved_apart_and_stay_inside():
    places = spread([(10.0, 20.0), (11.0, 20.0), (12.0, 20.0), (95.0, 20.0)], 0.0, 100.0)
    assert places == sorted(places)
    gaps = [b - a for a, b in pairwise(places)]
    assert min(gaps) >= 20 - 0.1
    assert places[0] >= 10 - 0.1
    assert places[-1] <= 90 + 0.1
    assert spread([(10.0, 5.0), (50.0, 5.0)], 0.0, 100.0) == [10.0, 50.0]


def test_no_rule_runs_through_the_name_of_another(figure):
    """Names at the left of their rules: the last rule's is highest, and its line reaches up to it;
    the other begins below.
    """
    rules = (Rule("what the engine may fill", "x", 14.5), Rule("memory of the GPU", "x", 16.0))
    drawn = figure(bars(rules=rules))
    first, last = (drawn.points(f"panel-0-rule-{n}") for n in (0, 1))
    assert drawn.place("memory of the GPU")[1] < drawn.place("what the engine may fill")[1]
    assert min(y for _, y in first) > drawn.place("memory of the GPU")[1]
    assert min(y for _, y in last) < drawn.place("memory of the GPU")[1]


@pytest.mark.parametrize(
    ("rules", "ends", "place"),
    [
        ([], (0.0, 100.0), (50.0, True)),
        ([80.0], (0.0, 100.0), (50.0, True)),
        ([45.0], (0.0, 100.0), (57.0, True)),
        ([55.0], (0.0, 100.0), (43.0, True)),
        ([45.0, 60.0], (0.0, 100.0), (33.0, True)),
        ([10.0], (0.0, 22.0), (11.0, False)),
    ],
)
def test_no_rule_runs_through_a_number_where_the_piece_has_room(rules, ends, place):
    assert clear_of(rules, ends, 20.0) == place


def test_a_number_without_room_beside_a_rule_has_a_ground(figure):
    bar = Bar("b", (Piece("p", 2.0, "1.3456789123456"), Piece("rest", 9.0, "")), "")

    def paths(at):
        drawn = figure(bars(bar, rules=(Rule("plain", "x", at),)))
        return len(list(drawn.root.iter("{http://www.w3.org/2000/svg}path")))

    assert paths(1.0) == paths(5.0) + 1


def test_totals_stand_in_a_column_beyond_every_rule(figure):
    drawn = figure(bars(rules=(Rule("r", "x", 17.0),)))
    ends = [drawn.place(text)[0] for text in ("16 ms in all", "10.1 ms in all")]
    assert ends[0] == ends[1] > drawn.points("panel-0-rule-0")[0][0]


def test_what_the_label_says_needs_no_key(figure):
    bar = Bar("eagle3", (Piece("speedup", 2.0, ""),), "2.00x")
    label = "speedup over plain decoding"
    assert "speedup" not in figure(replace(bars(bar), label=label)).texts
    assert "speedup" in figure(bars(bar)).texts


def test_many_small_pieces_keep_their_texts_apart(figure):
    pieces = tuple(Piece(f"term {n}", 0.2, f"0.{n:02} ms") for n in range(15))
    drawn = figure(bars(Bar("round", (Piece("verify", 40.0, "40 ms"), *pieces), "43 ms")))
    places = [drawn.place(piece.text) for piece in pieces]
    for (x0, y0), (x1, y1) in combinations(places, 2):
        assert abs(y0 - y1) >= 8 or abs(x0 - x1) >= 30
    assert all(20 < x < drawn.size[0] - 20 for x, _ in places)
    assert max(y for _, y in places) < drawn.place("0")[1] - 8


@pytest.mark.parametrize(
    ("label", "most", "texts", "heading"),
    [
        (
            "memory of one GPU, bytes",
            85e9,
            ["0", "20 GiB", "40 GiB", "60 GiB"],
            "memory of one GPU",
        ),
        ("time, s", 0.012, ["0", "5 ms", "10 ms"], "time"),
        ("absolute error, 1", 0.4, ["0", "10 %", "20 %", "30 %", "40 %"], "absolute error"),
        ("GPUs", 1.0, ["0", "1"], "GPUs"),
    ],
)
def test_numbers_of_an_axis_say_their_unit(figure, label, most, texts, heading):
    """GiB at places round in GiB: an axis in G beside bars in GiB said 77 for 71.7."""
    drawn = figure(Bars(label=label, bars=(Bar("b", (Piece("p", most, ""),)),)))
    assert drawn.texts[drawn.texts.index("0") :][: len(texts)] == texts
    assert heading in drawn.texts
