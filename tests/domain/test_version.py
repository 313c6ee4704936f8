"""Versions: how they are written, and in which order they came."""

from __future__ import annotations

import re

import pytest

from specplan.domain.version import SINCE_PATTERN, VERSION_PATTERN, ordered


@pytest.mark.parametrize("version", ["1", "0.27", "0.5.6.post2", "1.3.0rc20", "0.14.0+cu129"])
def test_what_engines_call_themselves(version):
    assert re.fullmatch(VERSION_PATTERN, version)


@pytest.mark.parametrize("version", ["", "v1", "1.", "newest", "0.1\u0664", "1.2.3.4.5", "1 "])
def test_what_no_version_looks_like(version):
    assert not re.fullmatch(VERSION_PATTERN, version)


def test_habits_begin_with_a_release():
    assert re.fullmatch(SINCE_PATTERN, "0.14")
    assert not re.fullmatch(SINCE_PATTERN, "0.14rc1")


def test_order():
    assert ordered("1") == ordered("1.0") == ordered("1.0.0")
    assert ordered("0.9") < ordered("0.10") < ordered("0.10.1rc2") < ordered("1")
