"""An SVG that stands alone and says what it shows to those who cannot see it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from specplan.domain.answer import Answer
from specplan.domain.picture import Bars, Cells, Panel, Picture
from specplan.render.cells import shown
from specplan.render.footer import footer

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
XML = "http://www.w3.org/XML/1998/namespace"
OURS = "'DejaVu Sans'"
FAMILIES = f"{OURS}, Verdana, sans-serif"  # Verdana is as wide
COUNTED = re.compile(r"(matplotlib\.)?[a-z0-9]+_[0-9]+")  # names that nothing refers to


def finished(text: str, answer: Answer, picture: Picture) -> str:
    """The document with a title and a description, and without what nobody needs."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(text)  # noqa: S314 - just drawn here
    _pruned(root)
    for element in root.iter():
        _short(element)
    words = (*answer.view.caption, picture.note, *map(_told, picture.panels), *footer(answer))
    for place, (tag, said) in enumerate(
        (("title", shown(answer.view.title)), ("desc", "\n".join(map(shown, filter(None, words)))))
    ):
        element = ET.Element(f"{{{SVG}}}{tag}", {"id": f"figure-{tag}"})
        element.text = said
        root.insert(place, element)
    root.set("style", f"font-family: {FAMILIES}")
    root.set("role", "img")
    root.set("aria-labelledby", "figure-title figure-desc")
    root.set(f"{{{XML}}}space", "preserve")
    return ET.tostring(root, encoding="unicode") + "\n"


def _pruned(element: ET.Element) -> None:
    """Without metadata, and without groups that hold nothing."""
    for child in list(element):
        _pruned(child)
        empty = child.tag == f"{{{SVG}}}g" and not len(child)
        if empty or child.tag == f"{{{SVG}}}metadata":
            element.remove(child)
        child.tail = "\n"


def _short(element: ET.Element) -> None:
    """Without what says nothing: names, the family that all texts have, turns by nothing."""
    style = element.get("style", "")
    if OURS in style:  # older versions say the family within `font`, where it must stay
        said = style.replace(f"font-family: {OURS}; ", "").replace(OURS, FAMILIES)
        element.set("style", said)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if COUNTED.fullmatch(element.get("id", "")):
        del element.attrib["id"]


def _told(panel: Panel) -> str:
    """A panel in words."""
    return ": ".join(filter(None, (panel.title, "; ".join(_words(panel)))))


def _words(panel: Panel) -> Iterator[str]:
    if isinstance(panel, Cells):
        yield f"{panel.label} by {panel.y_label} and {panel.x_label}"
        return
    if isinstance(panel, Bars):
        yield panel.label
        yield from (": ".join(filter(None, (bar.name, bar.text))) for bar in panel.bars)
    else:
        yield f"{panel.y_label} over {panel.x_label}"
        yield from (curve.name for curve in panel.curves if curve.name)
        yield from (band.name for band in panel.bands if band.name)
        yield from (mark.name for mark in panel.marks if mark.name)
    yield from (rule.name for rule in panel.rules if rule.name)
