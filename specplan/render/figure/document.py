"""An SVG that stands alone and says what it shows to those who cannot see it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from specplan.domain.answer import Answer
from specplan.render.cells import shown
from specplan.render.footer import footer

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
XML = "{http://www.w3.org/XML/1998/namespace}"
FAMILIES = "'DejaVu Sans', Verdana, sans-serif"  # Verdana is as wide


def finished(text: str, answer: Answer) -> str:
    """The document with a title and a description, and without metadata."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(text)  # noqa: S314 - just drawn here
    for found in root.findall(f"{{{SVG}}}metadata"):
        root.remove(found)
    for element in root.iter():
        style = element.get("style", "")
        if "'DejaVu Sans'" in style:
            element.set("style", style.replace("'DejaVu Sans'", FAMILIES))
    words = (*answer.view.caption, *footer(answer))
    for place, (tag, said) in enumerate(
        (("title", shown(answer.view.title)), ("desc", "\n".join(map(shown, words))))
    ):
        element = ET.Element(f"{{{SVG}}}{tag}", {"id": f"figure-{tag}"})
        element.text = said
        root.insert(place, element)
    root.set("role", "img")
    root.set("aria-labelledby", "figure-title figure-desc")
    root.set(f"{XML}space", "preserve")
    return ET.tostring(root, encoding="unicode") + "\n"
