"""The marks of recorded queue scenarios: message ids, pop receipts, list markers, times and long texts."""

import datetime
import email.utils
import re
import time

from marks import Marks

DATE = r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
FORMS = {
    "id": "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    "pop": "([^<]+)",
    "marker": "([^<]+)",
    "t": f"({DATE})",
    "now": f"({DATE})",
}
# The times of an answer are in whole seconds, and are compared with the time in which it was made.
SLACK_S = 1


def read_date(text):
    """Seconds since 1970 of an RFC 1123 date; None if it is not one."""
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None


def write_date(seconds):
    """An RFC 1123 date."""
    return email.utils.format_datetime(datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc), usegmt=True)


class QueueMarks(Marks):
    """The values of a scenario's marks. `sent_at` is the time at which the last request was sent."""

    form = re.compile(r"\{(\*|base|prefix|host|account|(?:id|pop|marker):\d+|t:\d+(?:\+\d+)?|now\+\d+|run:.:\d+)\}")
    sent_at = 0

    def value(self, name):
        """The value of a mark; that of `t:N+S` is known if that of `t:N` is."""
        if name.startswith("run:"):
            _, character, count = name.split(":")
            return character * int(count)
        if name.startswith("t:") and "+" in name:
            start, _, seconds = name.partition("+")
            return write_date(read_date(self.known[start]) + int(seconds)) if start in self.known else None
        return self.known.get(name)

    def pattern(self, name):
        """The regular expression of a mark without a value."""
        return ".*?" if name == "*" else FORMS[re.match(r"\w+", name)[0]]

    def bind(self, name, text):
        """Binds a mark. `now+S` is not bound, but must be the time of the answer plus S seconds."""
        if name.startswith("now+"):
            moment = read_date(text)
            return moment is not None and self.sent_at - 1 - SLACK_S < moment - int(name[4:]) < time.time() + SLACK_S
        if name.startswith("t:"):
            return read_date(text) is not None and super().bind(name, text)
        return super().bind(name, text)
