"""The current Python client, azure-storage-queue, synchronous and asynchronous."""

import asyncio
import datetime

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    CorsRule,
    QueueAnalyticsLogging,
    QueueClient,
    QueueSasPermissions,
    QueueServiceClient,
    ResourceTypes,
    RetentionPolicy,
    TextBase64DecodePolicy,
    TextBase64EncodePolicy,
    generate_account_sas,
    generate_queue_sas,
)
from azure.storage.queue.aio import QueueServiceClient as AsyncService
from messages import eventually

RETRIES = {"retry_total": 0}


@pytest.fixture
def service(endpoint):
    """The service client."""
    with QueueServiceClient.from_connection_string(endpoint.connection_string(), **RETRIES) as client:
        yield client


@pytest.fixture
def client(service, new_name):
    """The client of a new queue."""
    made = service.create_queue(new_name("python"), metadata={"name": "value"})
    yield made
    service.delete_queue(made.queue_name)


def hours(count):
    """A time in some hours."""
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=count)


def test_messages(client):
    sent = client.send_message("hello <&> \u65e5\u672c", visibility_timeout=0, time_to_live=-1)
    assert sent.id and sent.pop_receipt and sent.expires_on.year == 9999
    [peeked] = client.peek_messages()
    assert (peeked.id, peeked.content, peeked.dequeue_count) == (sent.id, "hello <&> \u65e5\u672c", 0)
    received = client.receive_message(visibility_timeout=600)
    assert received.id == sent.id and received.dequeue_count == 1
    assert client.receive_message() is None
    updated = client.update_message(received, content="changed", visibility_timeout=0)
    assert updated.pop_receipt != received.pop_receipt and updated.content == "changed"
    client.update_message(updated.id, updated.pop_receipt, visibility_timeout=0)
    again = client.receive_message()
    assert (again.content, again.dequeue_count) == ("changed", 2)
    client.delete_message(again)
    assert client.get_queue_properties().approximate_message_count == 0
    with pytest.raises(ResourceNotFoundError) as error:
        client.delete_message(again)
    assert error.value.error_code == "MessageNotFound"


def test_pages_of_messages(client):
    for number in range(40):
        client.send_message(f"{number:02}")
    pages = list(client.receive_messages(messages_per_page=16).by_page())
    assert [message.content for page in pages for message in page] == [f"{number:02}" for number in range(40)]
    assert len(client.peek_messages(max_messages=32)) == 0
    client.clear_messages()
    assert list(client.receive_messages()) == []


def test_at_most_so_many_messages(client):
    for number in range(5):
        client.send_message(str(number))
    assert [message.content for message in client.receive_messages(max_messages=3)] == ["0", "1", "2"]


@pytest.mark.parametrize("encode,decode,content", [
    (TextBase64EncodePolicy, TextBase64DecodePolicy, "text \u65e5"),
    (BinaryBase64EncodePolicy, BinaryBase64DecodePolicy, b"\x00\xff binary")])
def test_encodings(client, endpoint, encode, decode, content):
    coded = QueueClient.from_connection_string(endpoint.connection_string(), client.queue_name,
                                               message_encode_policy=encode(), message_decode_policy=decode())
    coded.send_message(content)
    assert coded.receive_message().content == content


def test_visibility(client):
    client.send_message("later", visibility_timeout=1)
    assert eventually(lambda: client.receive_message(visibility_timeout=1)).content == "later"
    assert eventually(lambda: client.receive_message()).dequeue_count == 2


def test_errors(client, service):
    with pytest.raises(ResourceExistsError) as error:
        service.create_queue(client.queue_name)
    assert error.value.error_code == "QueueAlreadyExists"
    with pytest.raises(ResourceNotFoundError) as error:
        service.get_queue_client("no-such-queue").send_message("text")
    assert error.value.error_code == "QueueNotFound"
    with pytest.raises(HttpResponseError) as error:
        client.send_message("x" * 65_537)
    assert (error.value.status_code, error.value.error_code) == (413, "RequestBodyTooLarge")


def test_queues(client, service):
    found = list(service.list_queues(name_starts_with=client.queue_name, include_metadata=True))
    assert [(queue.name, queue.metadata) for queue in found] == [(client.queue_name, {"name": "value"})]
    client.set_queue_metadata({"other": "1"})
    assert client.get_queue_properties().metadata == {"other": "1"}


def test_pages_of_queues(service, new_name):
    prefix = new_name("pages") + "-"
    names = [f"{prefix}{number}" for number in range(5)]
    for name in names:
        service.create_queue(name)
    pages = service.list_queues(name_starts_with=prefix, results_per_page=2).by_page()
    assert [[queue.name for queue in page] for page in pages] == [names[:2], names[2:4], names[4:]]
    for name in names:
        service.delete_queue(name)


def test_policies_and_queue_sas(client, endpoint):
    client.send_message("text")
    policy = AccessPolicy(QueueSasPermissions(read=True), start=hours(-1), expiry=hours(1))
    client.set_queue_access_policy({"mine": policy})
    assert client.get_queue_access_policy()["mine"].permission == "r"
    token = generate_queue_sas(endpoint.account, client.queue_name, endpoint.key, policy_id="mine")
    reader = QueueClient(endpoint.base, client.queue_name, credential=token, **RETRIES)
    assert [message.content for message in reader.peek_messages()] == ["text"]
    with pytest.raises(HttpResponseError) as error:
        reader.send_message("other")
    assert error.value.status_code == 403
    token = generate_queue_sas(endpoint.account, client.queue_name, endpoint.key, expiry=hours(1),
                               permission=QueueSasPermissions(process=True, update=True, add=True))
    worker = QueueClient(endpoint.base, client.queue_name, credential=token, **RETRIES)
    worker.send_message("other")
    message = worker.receive_message()
    worker.delete_message(worker.update_message(message, visibility_timeout=5))
    client.set_queue_access_policy({})
    assert client.get_queue_access_policy() == {}


def test_account_sas(client, endpoint):
    token = generate_account_sas(endpoint.account, endpoint.key, ResourceTypes(service=True, container=True, object=True),
                                 AccountSasPermissions(read=True, list=True, add=True), hours(1))
    service = QueueServiceClient(endpoint.base, credential=token, **RETRIES)
    assert client.queue_name in [queue.name for queue in service.list_queues()]
    seen = service.get_queue_client(client.queue_name)
    seen.send_message("text")
    assert len(seen.peek_messages()) == 1
    with pytest.raises(HttpResponseError) as error:
        seen.clear_messages()
    assert error.value.status_code == 403


def test_service_properties(service):
    service.set_service_properties(
        analytics_logging=QueueAnalyticsLogging(read=True, retention_policy=RetentionPolicy(enabled=True, days=3)),
        cors=[CorsRule(["http://a.example"], ["GET"], max_age_in_seconds=5)])
    found = service.get_service_properties()
    assert found["analytics_logging"].read and found["analytics_logging"].retention_policy.days == 3
    assert found["cors"][0].max_age_in_seconds == 5
    service.set_service_properties(analytics_logging=QueueAnalyticsLogging(), cors=[])
    assert not service.get_service_properties()["analytics_logging"].read


def test_stats(endpoint):
    # The client asks the secondary endpoint, and adds the scheme to it.
    secondary = f"QueueSecondaryEndpoint={endpoint.authority}/{endpoint.account}-secondary;"
    service = QueueServiceClient.from_connection_string(endpoint.connection_string() + secondary, **RETRIES)
    assert service.get_service_stats()["geo_replication"]["status"] == "live"


def test_asynchronous(endpoint, new_name):
    async def run():
        async with AsyncService.from_connection_string(endpoint.connection_string(), **RETRIES) as service:
            client = await service.create_queue(new_name("aio"))
            await asyncio.gather(*(client.send_message(str(number)) for number in range(40)))
            found = [message async for message in client.receive_messages(messages_per_page=32)]
            await asyncio.gather(*(client.delete_message(message) for message in found))
            left = (await client.get_queue_properties()).approximate_message_count
            await client.delete_queue()
            return [message.content for message in found], left

    texts, left = asyncio.run(run())
    assert sorted(map(int, texts)) == list(range(40)) and left == 0


def test_times(client):
    sent = client.send_message("text", time_to_live=60)
    assert (sent.expires_on - sent.inserted_on).total_seconds() == 60
    assert abs((sent.inserted_on - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 60
