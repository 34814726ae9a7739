"""Runs files of Node cases: one run of Node for each file, whose report is split into the cases."""

import os
import pathlib
import re
import subprocess

from driver.server import DEPS

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "js"
NAME = re.compile(r'^test\("([^"]+)"', re.MULTILINE)
OUTCOME = re.compile(r"^(not ok|ok) \d+ - (.+?)(?: # .*)?$", re.MULTILINE)
DEADLINE_S = 120


def cases_of(pattern):
    """File and name of every case in the files that match, relative to `js`."""
    return [(str(path.relative_to(FOLDER)), name) for path in sorted(FOLDER.glob(pattern))
            for name in NAME.findall(path.read_text("utf-8"))]


def run_file(file, endpoint):
    """Runs a file on an account; returns the report of each case (`split_report`), and the whole output."""
    variables = {"STORAGE_CONNECTION": endpoint.connection_string(), "STORAGE_URL": endpoint.base,
                 "STORAGE_ACCOUNT": endpoint.account, "STORAGE_KEY": endpoint.key}
    if endpoint.ca_file:
        variables["NODE_EXTRA_CA_CERTS"] = endpoint.ca_file
    program = [str(DEPS / "node/node_modules/node/bin/node"), "--no-deprecation", "--test-reporter=tap"]
    done = subprocess.run([*program, str(FOLDER / file)], env=os.environ | variables, capture_output=True, text=True,
                          timeout=DEADLINE_S)
    return split_report(done.stdout), done.stdout + done.stderr


def split_report(text):
    """Parses TAP: for each case whether it passed, and the lines up to the next case."""
    found = list(OUTCOME.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match.group(2): (match.group(1) == "ok", text[match.start():end]) for match, end in zip(found, ends)}


def expect_passed(report, name):
    """Asserts that a case of a report passed."""
    cases, everything = report
    assert name in cases, everything[-3000:]
    passed, lines = cases[name]
    assert passed, lines
