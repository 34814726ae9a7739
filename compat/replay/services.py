"""The services that have recordings: how each is addressed, and how its answers are compared."""

import collections

import compare
import queue_compare
from driver.endpoint import Endpoint
from driver.queue_endpoint import QueueEndpoint
from marks import Marks
from queue_marks import QueueMarks

# `recordings` is a folder in `shared`; the environment variable `variable` names another one.
Service = collections.namedtuple("Service", "name recordings variable exceptions endpoint marks compare")

SERVICES = {service.name: service for service in (
    Service("table", "recordings", "PARTITA_RECORDINGS", "exceptions.toml", Endpoint, Marks, compare.compare),
    Service("queue", "recordings-queue", "PARTITA_QUEUE_RECORDINGS", "queue_exceptions.toml", QueueEndpoint, QueueMarks,
            queue_compare.compare),
)}
