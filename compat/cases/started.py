"""What servers have that the suite starts itself: a second account, and flags that a case chooses."""

import pytest
from driver.server import TARGETS

SECOND_ACCOUNT = "second"
SECOND_KEYS = ("c2Vjb25kIGtleSBvbmU=", "c2Vjb25kIGtleSB0d28=")


def only_started(target):
    """Skips the case if the suite did not start the server itself."""
    if target not in TARGETS:
        pytest.skip("needs a server that the suite starts itself")
