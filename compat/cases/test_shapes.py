"""Compares complete answers byte for byte with `shapes/*.http`: status line, headers in their order, body."""

import pathlib

import pytest
from conversations import check

SHAPES = pathlib.Path(__file__).parent / "shapes"


@pytest.mark.parametrize("path", sorted(SHAPES.glob("*.http")), ids=lambda path: path.stem)
def test_answers_are_as_written(table, path):
    check(path, table.endpoint, {"table": table.name})
