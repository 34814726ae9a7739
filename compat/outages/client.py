#!/usr/bin/env python3
"""A program that uses tables and queues through the official clients with their default retries, while servers fail.

    client.py NAME          with the connection string in STORAGE_CONNECTION

`cargo harness cluster` runs it. It writes and reads until its standard input ends. Then it reads everything back, and
ends. It prints one line of JSON for each error that reached it (`{"error": ..., "seconds": ...}`), and counts at the end.

Every key is written by one task only, so each answer has one right content. Retries make three outcomes possible, which
are counted and are no errors, because the client library does not hide them:

- `own`: 409, 404 or 412 of a write that an earlier try of the same request has done; the content is checked;
- `broken`: a POST whose connection broke: the library does not repeat it. Its rows may exist;
- `doubled`: a message that was put twice.
"""

import collections
import json
import os
import random
import sys
import threading
import time

from azure.core import MatchConditions
from azure.core.exceptions import (HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError,
                                   ServiceRequestError, ServiceResponseError)
from azure.data.tables import TableServiceClient, UpdateMode
from azure.storage.queue import QueueServiceClient

TABLE = "sdkrows"
# Rows of a partition, rows of a transaction.
PARTITION_ROWS, BATCH_ROWS = 40, 4
# The pause between two requests, so that the servers of a small machine keep up.
PAUSE_S = 0.03
# How long a received message is hidden, and how many are put before some are received.
HIDDEN_S, WAITING_MAX = 20, 30
# How long the last messages may take: some may be hidden.
LAST_S = 120
TEXT = "a row of an official client " * 4


class Report:
    """What the program prints."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts = collections.Counter()

    def say(self, **line):
        """Prints a line."""
        with self.lock:
            print(json.dumps(line), flush=True)

    def count(self, name, number=1):
        """Counts an event."""
        with self.lock:
            self.counts[name] += number

    def check(self, right, message):
        """Reports wrong content."""
        if not right:
            self.say(wrong=message)

    def call(self, request, *arguments, **options):
        """Sends a request; returns whether it was answered, and the answer. Reports an error."""
        began = time.monotonic()
        try:
            answer = request(*arguments, **options)
        except (ResourceExistsError, ResourceModifiedError, ResourceNotFoundError):
            raise
        except (ServiceRequestError, ServiceResponseError) as error:
            if request.__name__ in ("create_entity", "submit_transaction"):
                self.count("broken")
            else:
                self.failed(request, error, began)
            return False, None
        except Exception as error:  # Whatever it is, a user's program would have ended here.
            self.failed(request, error, began)
            return False, None
        self.count("requests")
        return True, answer

    def failed(self, request, error, began):
        """Reports an error that reached the program."""
        text = f"{request.__name__}: {type(error).__name__}: {error}"
        headers = getattr(getattr(error, "response", None), "headers", {})
        self.say(error=" ".join(text.split())[:500], reason=headers.get("x-partita-reason"),
                 seconds=round(time.monotonic() - began, 1))


class Rows:
    """Entities: each is written once, and read again and again. One more is updated on the condition of its ETag."""

    def __init__(self, report, connection, name):
        self.report, self.name = report, name
        self.random = random.Random(name)
        self.client = TableServiceClient.from_connection_string(connection).create_table_if_not_exists(TABLE)
        # For each partition its rows, and whether they are certain.
        self.rows = {}
        self.number = 0
        self.counter_key = (f"{name}-counter", "r")
        self.counter = 0
        self.report.call(self.client.upsert_entity, self.counter_entity(0), mode=UpdateMode.REPLACE)

    def counter_entity(self, number):
        """The entity that is updated."""
        return {"PartitionKey": self.counter_key[0], "RowKey": self.counter_key[1], "V": number}

    def new_entity(self):
        """An entity that does not exist."""
        # Names that are spread over all keys, so that each range gets some.
        place = (self.number // PARTITION_ROWS * 7919) % 1000
        entity = {"PartitionKey": f"s{place:03}-{self.name}", "RowKey": f"{self.number:08}", "V": self.number, "T": TEXT}
        self.number += 1
        return entity

    def note(self, entity, is_certain):
        """Remembers that an entity exists, or may exist."""
        self.rows.setdefault(entity["PartitionKey"], {})[entity["RowKey"]] = is_certain

    def step(self):
        """One request."""
        chosen = self.random.randrange(100)
        if chosen < 20:
            self.create()
        elif chosen < 45:
            self.upsert()
        elif chosen < 55:
            self.transact()
        elif chosen < 65:
            self.update()
        elif self.rows:
            partition = self.random.choice(list(self.rows))
            if chosen < 90:
                self.get(partition, self.random.choice(list(self.rows[partition])))
            else:
                self.query(partition)

    def create(self):
        """Creates an entity. If an earlier try of the same request has created it, it exists."""
        entity = self.new_entity()
        try:
            done, _ = self.report.call(self.client.create_entity, entity)
        except ResourceExistsError:
            self.report.count("own")
            done = True
        self.note(entity, done)
        if done:
            self.get(entity["PartitionKey"], entity["RowKey"])

    def upsert(self):
        """Writes an entity whether it exists or not."""
        entity = self.new_entity()
        done, _ = self.report.call(self.client.upsert_entity, entity, mode=UpdateMode.REPLACE)
        self.note(entity, done)
        if done:
            self.get(entity["PartitionKey"], entity["RowKey"])

    def transact(self):
        """Writes entities of one partition together."""
        entities = [self.new_entity() for _ in range(BATCH_ROWS)]
        for entity in entities[1:]:
            entity["PartitionKey"] = entities[0]["PartitionKey"]
        operations = [("upsert", entity, {"mode": "replace"}) for entity in entities]
        done, _ = self.report.call(self.client.submit_transaction, operations)
        for entity in entities:
            self.note(entity, done)

    def update(self):
        """Increases the number in an entity, if it still has the ETag that was read."""
        done, found = self.report.call(self.client.get_entity, *self.counter_key)
        if not done:
            return
        known = self.counter
        # After an update whose outcome is unknown, `counter` is a pair.
        allowed = known if isinstance(known, tuple) else (known,)
        self.report.check(found["V"] in allowed, f"the counter of {self.name} is {found['V']}, not {allowed}")
        after = found["V"] + 1
        try:
            done, _ = self.report.call(self.client.update_entity, self.counter_entity(after), mode=UpdateMode.REPLACE,
                                       etag=found.metadata["etag"], match_condition=MatchConditions.IfNotModified)
        except ResourceModifiedError:
            # No other task writes it, so an earlier try of this request has.
            self.report.count("own")
            self.counter = after
            done, found = self.report.call(self.client.get_entity, *self.counter_key)
            self.report.check(not done or found["V"] == after, f"412, but the counter of {self.name} is {found and found['V']}")
            return
        self.counter = after if done else (found["V"], after)

    def get(self, partition, row):
        """Reads an entity that exists, or may exist."""
        is_certain = self.rows[partition][row]
        try:
            done, found = self.report.call(self.client.get_entity, partition, row)
        except ResourceNotFoundError:
            self.report.check(not is_certain, f"{partition} {row} is missing")
            return
        if done:
            self.check(found)

    def check(self, found):
        """Whether an entity has the content that was written."""
        right = found["V"] == int(found["RowKey"]) and found["T"] == TEXT
        self.report.check(right, f"{found['PartitionKey']} {found['RowKey']} has {found['V']}")

    def query(self, partition):
        """Reads a partition: every entity is there, in order, and no other."""
        query = lambda text: list(self.client.query_entities(text))  # noqa: E731
        query.__name__ = "query_entities"
        done, found = self.report.call(query, f"PartitionKey eq '{partition}'")
        if not done:
            return
        expected, rows = self.rows[partition], [entity["RowKey"] for entity in found]
        self.report.check(rows == sorted(set(rows)), f"a query of {partition} is not in order: {rows}")
        missing = [row for row, is_certain in expected.items() if is_certain and row not in rows]
        others = [row for row in rows if row not in expected]
        self.report.check(not missing and not others, f"a query of {partition} lacks {missing}, and has {others}")
        for entity in found:
            self.check(entity)

    def finish(self):
        """Reads everything."""
        for partition in self.rows:
            self.query(partition)
        self.update()
        self.report.count("rows", sum(len(rows) for rows in self.rows.values()))


class Messages:
    """One queue: messages are put, received and deleted by one task."""

    def __init__(self, report, connection, name):
        self.report = report
        service = QueueServiceClient.from_connection_string(connection)
        self.queue = service.get_queue_client(f"sdk-{name}")
        try:
            self.queue.create_queue()
        except ResourceExistsError:
            self.report.count("own")
        self.number = 0
        # The texts of the messages that must come, and what was done.
        self.waiting, self.deleted_texts, self.deleted_ids = set(), set(), set()

    def step(self):
        """Puts a message, or receives some."""
        if len(self.waiting) < WAITING_MAX and self.number % 3 != 2:
            text = f"message {self.number}"
            done, _ = self.report.call(self.queue.send_message, text)
            if done:
                self.waiting.add(text)
        else:
            self.receive()
        self.number += 1

    def receive(self):
        """Receives messages and deletes them."""
        receive = lambda: list(next(self.queue.receive_messages(  # noqa: E731
            messages_per_page=8, visibility_timeout=HIDDEN_S).by_page(), []))
        receive.__name__ = "receive_messages"
        done, received = self.report.call(receive)
        for message in received if done else []:
            self.report.check(message.id not in self.deleted_ids, f"{message.content} came after it was deleted")
            if message.content in self.deleted_texts:
                self.report.count("doubled")
            try:
                deleted, _ = self.report.call(self.queue.delete_message, message)
            except ResourceNotFoundError:
                # An earlier try of this request has deleted it.
                self.report.count("own")
                deleted = True
            if deleted:
                self.deleted_ids.add(message.id)
                self.deleted_texts.add(message.content)
                self.waiting.discard(message.content)

    def finish(self):
        """Receives the messages that are left."""
        deadline = time.monotonic() + LAST_S
        while self.waiting and time.monotonic() < deadline:
            self.receive()
            time.sleep(PAUSE_S)
        self.report.check(not self.waiting, f"lost messages: {sorted(self.waiting)[:10]}")
        self.report.count("messages", len(self.deleted_ids))


def repeat(task, stop):
    """Takes steps until the end."""
    while not stop.is_set():
        try:
            task.step()
        except HttpResponseError as error:
            task.report.say(wrong=f"{type(error).__name__}: {' '.join(str(error).split())[:500]}")
        stop.wait(PAUSE_S)


def main():
    """Runs both tasks until the standard input ends."""
    report, name, connection = Report(), sys.argv[1], os.environ["STORAGE_CONNECTION"]
    tasks = [Rows(report, connection, name), Messages(report, connection, name)]
    stop = threading.Event()
    threads = [threading.Thread(target=repeat, args=(task, stop)) for task in tasks]
    for thread in threads:
        thread.start()
    report.say(ready=True)
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    for task in tasks:
        task.finish()
    report.say(done=report.counts)


if __name__ == "__main__":
    main()
