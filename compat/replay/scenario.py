"""Reads recorded scenarios. Numbers keep the form that they have in the text."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Number:
    """A JSON number as text: `3.0` is a double, `3` an Int32."""

    text: str

    @property
    def has_fraction(self):
        """Whether the form of the text makes the number a double."""
        return any(mark in self.text for mark in ".eE")

    def same(self, other):
        """Whether both numbers have the same form and value."""
        return self.has_fraction == other.has_fraction and float(self.text) == float(other.text) and (
            self.has_fraction or int(self.text) == int(other.text))


def refuse_constant(text):
    """Refuses NaN and Infinity without quotes: Python reads them, but they are not JSON."""
    raise ValueError(f"{text} is not JSON")


def parse(text):
    """Parses JSON; numbers become `Number`."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse_constant)


@dataclasses.dataclass
class Step:
    """One line of a scenario: a setup request, or an exchange with the recorded response.

    `wait_s` is a time to wait before the request.
    """

    line: int
    request: dict
    response: dict
    wait_s: float = 0


@dataclasses.dataclass
class Scenario:
    """One recorded test. `needs` names properties of the account that only the real service has."""

    name: str
    auth: str
    steps: list
    needs: list

    @property
    def waits(self):
        """Whether the scenario waits for time to pass."""
        return any(step.wait_s for step in self.steps)


def read(path):
    """Reads one `.jsonl` file; its name is the scenario's name."""
    auth, needs, steps = "sharedkey", [], []
    for line, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
        entry = parse(text)
        if "meta" in entry:
            auth, needs = entry["meta"]["auth"], entry["meta"].get("needs", [])
        else:
            wait = entry.get("wait")
            steps.append(Step(line, entry["request"], entry.get("response"), float(wait.text) if wait else 0))
    return Scenario(path.stem, auth, steps, needs)
