"""Cases of the retired Python clients; run by ../cases/queues/test_queue_retired_python.py with one of them in PYTHONPATH.

Runs every function `case_…` on new queues, and prints a JSON object with the traceback of each case, empty if it passed.
"""

import datetime
import json
import os
import sys
import traceback
import warnings

warnings.simplefilter("ignore")

from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError  # noqa: E402
from azure.storage.queue import QueuePermissions, QueueService  # noqa: E402
from azure.storage.queue.models import QueueMessageFormat  # noqa: E402

try:
    from azure.storage.common.models import AccessPolicy, CorsRule, Logging, RetentionPolicy
except ImportError:
    from azure.storage.models import AccessPolicy, CorsRule, Logging, RetentionPolicy


def connect():
    """The service object, without retries."""
    service = QueueService(connection_string=os.environ["QUEUE_CONNECTION"])
    service.retry = lambda context: None
    return service


def refused(status, call, *values, **options):
    """Asserts that a call fails with this status."""
    try:
        call(*values, **options)
    except AzureHttpError as error:
        assert error.status_code == status, error
        return
    raise AssertionError("no error")


def case_messages(service, queue):
    put = service.put_message(queue, "it's é <&>")
    assert put.id and put.pop_receipt
    [peeked] = service.peek_messages(queue)
    assert (peeked.id, peeked.content, peeked.dequeue_count) == (put.id, "it's é <&>", 0)
    [taken] = service.get_messages(queue, num_messages=32, visibility_timeout=600)
    assert taken.dequeue_count == 1 and not service.get_messages(queue)
    updated = service.update_message(queue, taken.id, taken.pop_receipt, 0, content="changed")
    assert updated.pop_receipt != taken.pop_receipt
    [again] = service.get_messages(queue)
    assert (again.content, again.dequeue_count) == ("changed", 2)
    service.delete_message(queue, again.id, again.pop_receipt)
    refused(404, service.delete_message, queue, again.id, again.pop_receipt)


def case_times(service, queue):
    put = service.put_message(queue, "text", visibility_timeout=0, time_to_live=60)
    assert put.expiration_time - put.insertion_time == datetime.timedelta(seconds=60)
    service.clear_messages(queue)
    assert service.peek_messages(queue) == []


def case_base64(service, queue):
    service.encode_function = QueueMessageFormat.binary_base64encode
    service.decode_function = QueueMessageFormat.binary_base64decode
    service.put_message(queue, b"\x00\xff")
    assert service.get_messages(queue)[0].content == b"\x00\xff"


def case_queues(service, queue):
    assert service.exists(queue) and not service.exists("no-such-queue")
    assert not service.create_queue(queue)
    service.set_queue_metadata(queue, {"name": "value"})
    assert service.get_queue_metadata(queue)["name"] == "value"
    assert service.get_queue_metadata(queue).approximate_message_count == 0
    [found] = service.list_queues(queue, include_metadata=True)
    assert (found.name, found.metadata) == (queue, {"name": "value"})
    try:
        service.create_queue(queue, {"other": "1"}, fail_on_exist=True)
    except AzureConflictHttpError:
        pass
    else:
        raise AssertionError("no error")
    try:
        service.delete_queue("no-such-queue", fail_not_exist=True)
    except AzureMissingResourceHttpError:
        pass
    else:
        raise AssertionError("no error")


def case_pages(service, queue):
    names = [f"{queue}-{number}" for number in range(5)]
    for name in names:
        service.create_queue(name)
    first = service.list_queues(queue + "-", num_results=3)
    rest = service.list_queues(queue + "-", num_results=3, marker=first.next_marker)
    assert [[found.name for found in page] for page in (first, rest)] == [names[:3], names[3:]]
    for name in names:
        service.delete_queue(name)


def case_policies(service, queue):
    policy = AccessPolicy(QueuePermissions.READ, expiry="2040-01-01T00:00:00Z", start="2020-01-01T00:00:00Z")
    service.set_queue_acl(queue, {"mine": policy})
    assert service.get_queue_acl(queue)["mine"].permission == "r"
    token = service.generate_queue_shared_access_signature(queue, id="mine")
    reader = QueueService(account_name=service.account_name, sas_token=token)
    reader.primary_endpoint, reader.protocol = service.primary_endpoint, service.protocol
    assert reader.peek_messages(queue) == []
    refused(403, reader.put_message, queue, "text")
    service.set_queue_acl(queue)
    assert service.get_queue_acl(queue) == {}


def case_service_properties(service, queue):
    service.set_queue_service_properties(
        logging=Logging(read=True, retention_policy=RetentionPolicy(True, 3)), cors=[CorsRule(["*"], ["GET"], 5)])
    found = service.get_queue_service_properties()
    assert found.logging.read and found.logging.retention_policy.days == 3 and found.cors[0].max_age_in_seconds == 5
    service.set_queue_service_properties(logging=Logging(), cors=[])
    assert not service.get_queue_service_properties().logging.read


def main():
    """Runs the cases."""
    outcomes = {}
    for name, case in list(globals().items()):
        if name.startswith("case_"):
            service, queue = connect(), os.environ["QUEUE_NAME"] + name[5:].replace("_", "-")
            service.create_queue(queue)
            try:
                case(service, queue)
                outcomes[name[5:]] = ""
            except Exception:  # noqa: BLE001
                outcomes[name[5:]] = traceback.format_exc()
            connect().delete_queue(queue)
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
