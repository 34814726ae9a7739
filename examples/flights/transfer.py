"""Exports the flights to Parquet, imports them into another table, and compares: once without interruption, and once
with `kill -9` in the middle of the export and of the import, which then continue with --resume.

    python examples/flights/transfer.py [--target partita|azurite] [--month 1 | --whole]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "compat"))

from driver.endpoint import Endpoint  # noqa: E402
from driver.gate import Gate  # noqa: E402
from driver.server import Server  # noqa: E402
from flights import read_flights  # noqa: E402

BINARY = os.environ.get("PARTITA_BIN", ROOT / "target/release/partita")
PART_ROWS = 5_000


class Toolbox:
    """Runs commands in a folder, which also holds their state."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}

    def start(self, line, url):
        """Starts a command that uses the server at `url`."""
        environment = self.environment | {"AZURE_STORAGE_CONNECTION_STRING": Endpoint(url).connection_string()}
        return subprocess.Popen([str(BINARY), *line.split()], env=environment, cwd=self.folder, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, line, url):
        """Runs a command that must succeed; prints and returns its stderr."""
        start = time.perf_counter()
        child = self.start(line, url)
        data, talk = child.communicate()
        assert child.returncode == 0, (line, child.returncode, data, talk)
        print(f"  partita {line}\n      {talk.strip()}   ({time.perf_counter() - start:.1f} s)")
        return talk

    def run_killed(self, line, server, may_pass):
        """Kills a command after `may_pass` requests. Without --resume it is then refused; with --resume it succeeds."""
        gate = Gate(server.hostname, server.port, may_pass)
        child = self.start(line, gate.url)
        gate.wait()
        child.kill()
        _, talk = child.communicate()
        assert child.returncode < 0, (line, talk)
        gate.open()
        print(f"  partita {line}\n      killed after {may_pass} requests")
        again = self.start(line, gate.url)
        _, talk = again.communicate()
        assert again.returncode == 2 and "--resume resumes it" in talk, talk
        return self.run(line + " --resume", gate.url)


def main():
    """Prints what was done; raises on the first difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="partita")
    parser.add_argument("--month", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="the whole year")
    options = parser.parse_args()
    month = None if options.whole else options.month
    flights = sum(len(partition) for partition in read_flights(month).values())
    with tempfile.TemporaryDirectory(prefix="partita-flights-") as folder, Server(options.target) as server:
        endpoint, tools = Endpoint(server.url), Toolbox(pathlib.Path(folder))
        months = [] if month is None else ["--month", str(month)]
        subprocess.run([sys.executable, str(HERE), *months, "--json", "--connection", endpoint.connection_string()],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        expected = f"{flights:,} rows the same, 0 differ, 0 left only, 0 right only, "

        print("undisturbed")
        tools.run(f"export flights whole --format parquet --part-rows {PART_ROWS}", server.url)
        tools.run("import whole second --create-table", server.url)
        talk = tools.run("diff flights second", server.url)
        assert talk.startswith(expected), talk

        print("killed halfway, and resumed")
        address = argparse.Namespace(hostname=endpoint.host, port=endpoint.port)
        pages = flights // 1000
        # With one job, the number of requests is the number of pages.
        line = f"export flights killed --format parquet --part-rows {PART_ROWS} --strategy serial --jobs 1"
        tools.run_killed(line, address, pages // 2)
        # A month of flights takes about 300 transactions. The command writes its state after every 20,000 rows.
        tools.run_killed("import killed third --create-table", address, flights // 100 * 3 // 4)
        talk = tools.run("diff flights third", server.url)
        assert talk.startswith(expected), talk
        left = [path.name for path in pathlib.Path(folder).glob("state/partita/*")]
        assert not left, left
    print(f"{flights:,} flights exported, imported and compared: 2 passed, 0 failed")


if __name__ == "__main__":
    main()
