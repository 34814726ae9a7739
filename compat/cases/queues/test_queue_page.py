"""docs/queues.md: its Python example runs as it is."""

import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/queues.md"


def test_python_example(endpoint):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        environment = os.environ | {"AZURE_STORAGE_CONNECTION_STRING": endpoint.connection_string()}
        done = subprocess.run([sys.executable, "-c", block], env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "resize picture 7\n"), done.stderr
    assert endpoint.send("DELETE", "/work").status == 204
