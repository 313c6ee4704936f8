"""Which YAML of a folder is ours: by its first key, whatever stands before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from specplan.catalogue.search import HEAD_BYTES, search


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("schema: plan/1\n", True),
        ("schema: hardware/1", True),
        ("schema: model/1 # a comment\n", True),
        ("schema: 'plan/1'\n", True),
        ('"schema": "plan/1"\n', True),
        ("schema : plan/1\n", True),
        ("schema: plan\n", True),
        ("schema: plan/2\n", True),
        ("schema: plans/1\n", True),
        ("\ufeffschema: plan/1\n", True),
        ("# a comment\n\n   # another\n---\r\nschema: plan/1\n", True),
        ("schema: plan/1\nname: {broken", True),
        ("#" * 1000 + "\nschema: plan/1\n", True),
        ("", False),
        ("# only a comment\n", False),
        ("name: x\nschema: plan/1\n", False),
        ("  schema: plan/1\n", False),
        ("schema: https://json-schema.org/draft\n", False),
        ("schema: v1\n", False),
        ("schema: planets\n", False),
        ("schema:\n  plan/1\n", False),
        ("schemas: plan/1\n", False),
        ("- schema: plan/1\n", False),
        ("#" * HEAD_BYTES + "\nschema: plan/1\n", False),
        (" " * HEAD_BYTES, False),
    ],
)
def test_what_a_file_begins_with(tmp_path, text, ours):
    path = tmp_path / "file.yaml"
    path.write_text(text, "utf-8", newline="")
    assert list(search([tmp_path])) == ([path] if ours else [])
    assert list(search([path])) == [path]


def test_order_is_that_of_names_and_each_file_comes_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b/z.yaml", "b/a.yml", "a/x.yaml", "c.yaml"):
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("schema: plan/1\n")
    Path("a/link.yaml").symlink_to(Path("c.yaml").resolve())
    everything = ["c.yaml", "a/x.yaml", "b/a.yml", "b/z.yaml"]
    assert [str(path) for path in search([Path()])] == everything
    twice = [Path("b"), tmp_path / "b" / "z.yaml", Path()]
    assert [str(path) for path in search(twice)] == ["b/a.yml", "b/z.yaml", "c.yaml", "a/x.yaml"]
    assert [str(path) for path in search([Path("gone.yaml")])] == ["gone.yaml"]
