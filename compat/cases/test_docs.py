"""Checks docs/compat.md: every case that it names exists, and tables with a column for cases name one in every row."""

import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
TEXT = (HERE.parents[1] / "docs/compat.md").read_text("utf-8")


def test_named_cases_exist():
    named = 0
    for cell in re.findall(r"`(?:queues/)?test_\w+\.py[^|]*", TEXT):
        source = ""
        for name in re.findall(r"`([^`]+)`", cell):
            file, _, case = name.rpartition("::")
            source = (HERE / file).read_text("utf-8") if file else source
            if name.endswith(".py"):
                assert (HERE / name).exists(), name
            else:
                assert f"def {case}(" in source, name
            named += 1
    assert named > 40


def test_every_point_names_a_case():
    tables = re.split(r"\n## ", TEXT)
    for table in tables:
        rows = [line for line in table.split("\n") if line.startswith("| ")]
        if rows and rows[0].rstrip(" |").endswith("case"):
            for row in rows[2:]:
                assert "`test_" in row or "`queues/test_" in row, row
