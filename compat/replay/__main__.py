"""Sends every recorded scenario to a server and compares its answers with those of the real service.

    python3 compat/replay [--service table|queue] [--target partita|azurite|URL] [--recordings FOLDER] [--only GLOB]
                          [--report] [-v]

Without `--report` the run fails on differences that the exceptions of the service do not list, and on Partita also on
listed ones that do not occur. On servers that the replay starts, each scenario has an empty account. On other servers
the replay deletes all tables or queues before each scenario.
"""

import argparse
import base64
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import scenario as scenarios  # noqa: E402
from compare import Difference  # noqa: E402
from driver.certificate import make_certificate, make_token  # noqa: E402
from driver.server import ROOT, TARGETS, Server  # noqa: E402
from driver.signing import WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY  # noqa: E402
from marks import UnboundMark  # noqa: E402
from sender import send  # noqa: E402
from services import SERVICES  # noqa: E402

SETUP_OK = (201, 202, 204, 409)


class Result:
    """The result of one exchange."""

    def __init__(self, scenario, step, differences):
        self.scenario, self.step, self.differences = scenario, step, differences

    @property
    def place(self):
        """Name of the scenario, and line in its file, as in the exceptions."""
        return self.scenario.name, self.step.line

    @property
    def equal(self):
        """Whether all recorded parts are equal."""
        return not self.differences

    @property
    def equal_without_headers(self):
        """Whether status, error code, bodies and inner answers are equal."""
        return all(difference.part == "header" for difference in self.differences)


def run_scenario(service, scenario, endpoint, token):
    """Plays one scenario; yields the result of every exchange and of failed setup requests."""
    marks = service.marks(endpoint)
    for step in scenario.steps:
        # Only a timeout of the service ends this time; there is nothing to wait for instead.
        time.sleep(step.wait_s)
        marks.sent_at = time.time()
        try:
            answer = send(endpoint, marks, step.request, token if scenario.auth == "bearer" else None)
        except UnboundMark as unbound:
            yield Result(scenario, step, [Difference("status", "not sent", "a request", str(unbound))])
            continue
        except (OSError, EOFError, ValueError) as error:
            endpoint.connection.close()
            yield Result(scenario, step, [Difference("status", "no answer", "an answer", repr(error))])
            continue
        if step.response is not None:
            yield Result(scenario, step, service.compare(step, answer, marks))
        elif answer.status not in SETUP_OK:
            yield Result(scenario, step, [Difference("status", "setup", "201, 204 or 409", repr(answer))])


def account_key(name):
    """An account key, derived from the name of the account."""
    return base64.b64encode(hashlib.sha512(name.encode()).digest()).decode()


def play_started(service, target, found, options):
    """Plays all scenarios on new servers: one with TLS for bearer tokens, one for the others."""
    results = []
    for bearer in (False, True):
        part = [scenario for scenario in found if (scenario.auth == "bearer") == bearer]
        if not part:
            continue
        accounts = {f"replay{index:04}": account_key(f"replay{index:04}") for index in range(len(part))}
        with tempfile.TemporaryDirectory() as folder:
            flags, ca_file = [], ""
            if bearer:
                cert, key = make_certificate(folder)
                flags, ca_file = ["--cert", str(cert), "--key", str(key), "--oauth", "basic"], str(cert)

            def play(server, scenario, name):
                endpoint = service.endpoint(server.url, name, accounts[name], options.host_style, ca_file)
                played = list(run_scenario(service, scenario, endpoint, make_token()))
                endpoint.connection.close()
                return played

            with Server(target, accounts, flags, service=service.name) as server:
                results += play_at_once(lambda scenario, name: play(server, scenario, name), part, accounts)
    return results


def play_at_once(play, part, accounts):
    """Plays scenarios one after the other, and at the same time those that wait for time to pass."""
    waiting = [scenario for scenario in part if scenario.waits]
    with concurrent.futures.ThreadPoolExecutor(max(len(waiting), 1)) as pool:
        names = dict(zip((scenario.name for scenario in part), accounts))
        later = {scenario.name: pool.submit(play, scenario, names[scenario.name]) for scenario in waiting}
        played = {scenario.name: play(scenario, names[scenario.name]) for scenario in part if scenario.name not in later}
        played |= {name: future.result() for name, future in later.items()}
    return [result for scenario in part for result in played[scenario.name]]


def play_given(service, url, found, options):
    """Plays all scenarios without bearer tokens on an account of a running server."""
    endpoint = service.endpoint(url, options.account, options.key, options.host_style)
    results = []
    for scenario in found:
        if scenario.auth != "bearer":
            endpoint.wipe()
            results += run_scenario(service, scenario, endpoint, None)
    return results


def read_exceptions(service):
    """The exceptions of a service: their reasons by scenario and line."""
    listed = tomllib.loads((HERE / service.exceptions).read_text("utf-8")).get("exception", [])
    return {(entry["scenario"], entry["line"]): entry["reason"] for entry in listed}


def print_differences(results):
    """Prints every exchange that differs, with its differences."""
    for result in results:
        if not result.equal:
            request = result.step.request
            print(f"{result.scenario.name}:{result.step.line} {request['method']} {request['path'][:160]}")
            for difference in result.differences:
                print(f"    {difference}")


def print_kinds(results):
    """Prints the number of differences of each kind."""
    kinds = collections.Counter()
    for result in results:
        kinds.update({f"{one.part} {one.place.split('].')[-1]}" for one in result.differences})
    for kind, count in kinds.most_common(40):
        print(f"{count:6} {kind}")


def judge(service, results, whole):
    """Compares the outcome with the exceptions; returns the number of faults."""
    exceptions = read_exceptions(service)
    fresh = [result for result in results if not result.equal and result.place not in exceptions]
    print_differences(fresh)
    stale = sorted(exceptions.keys() - {result.place for result in results if not result.equal}) if whole else []
    for name, line in stale:
        print(f"{name}:{line} is listed in {service.exceptions} but does not differ; remove the entry")
    return len(fresh) + len(stale)


def totals(results):
    """The figures of a run."""
    exchanges = [result for result in results if result.step.response is not None]
    return {
        "exchanges": len(exchanges),
        "equal": sum(result.equal for result in exchanges),
        "equal_without_headers": sum(result.equal_without_headers for result in exchanges),
    }


def read_options():
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="compat/replay", description=__doc__.splitlines()[0])
    parser.add_argument("--service", default="table", choices=SERVICES)
    parser.add_argument("--target", default="partita", help="partita, azurite, or the URL of a server (default: partita)")
    parser.add_argument("--recordings", type=pathlib.Path,
                        help="folder of the scenarios (PARTITA_RECORDINGS, for queues PARTITA_QUEUE_RECORDINGS)")
    parser.add_argument("--only", default="*", help="scenarios whose name matches this pattern")
    parser.add_argument("--report", action="store_true", help="print figures and kinds of differences; never fail")
    parser.add_argument("--json", type=pathlib.Path, help="write the totals to this file")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every difference, also with --report")
    parser.add_argument("--host-style", default="", metavar="SUFFIX", help="address the account as ACCOUNT.SUFFIX")
    parser.add_argument("--account", default=WELL_KNOWN_ACCOUNT, help="account, when the target is a URL")
    parser.add_argument("--key", default=WELL_KNOWN_KEY, help="key of that account")
    options = parser.parse_args()
    service = SERVICES[options.service]
    options.recordings = options.recordings or pathlib.Path(
        os.environ.get(service.variable, ROOT.parent / "shared" / service.recordings))
    return service, options


def main():
    """Runs the replay; the exit code is 0 when nothing differs unexpectedly."""
    service, options = read_options()
    if not options.recordings.is_dir():
        # Skipping is fine on a developer's machine. In continuous integration a missing check must fail.
        missed = bool(os.environ.get("CI"))
        print(f"replay: no recordings at {options.recordings}; {'failed' if missed else 'skipped'} (set {service.variable})")
        return 1 if missed else 0
    found = [scenarios.read(path) for path in sorted(options.recordings.glob("*.jsonl"))
             if fnmatch.fnmatch(path.stem, options.only)]
    skipped = [scenario for scenario in found if scenario.needs]
    found = [scenario for scenario in found if not scenario.needs]
    for scenario in skipped:
        print(f"replay: skipped {scenario.name}, which needs {', '.join(scenario.needs)}")
    started = time.monotonic()
    play = play_started if options.target in TARGETS else play_given
    results = play(service, options.target, found, options)
    faults = 0
    if options.report:
        if options.verbose:
            print_differences(results)
        print_kinds(results)
    else:
        faults = judge(service, results, whole=options.only == "*" and options.target == "partita")
    figures = totals(results)
    share = 100 / max(figures["exchanges"], 1)
    print(f"replay of {len(found)} {service.name} scenarios on {options.target} in {time.monotonic() - started:.1f} s: "
          f"{figures['exchanges']} exchanges, {figures['equal']} equal ({figures['equal'] * share:.1f} %), "
          f"{figures['equal_without_headers']} equal without headers "
          f"({figures['equal_without_headers'] * share:.1f} %), {faults} faults")
    if options.json:
        options.json.write_text(json.dumps(figures | {"target": options.target}) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
