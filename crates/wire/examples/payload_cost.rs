//! Measures how long this machine takes to read and write payloads, in nanoseconds: an entity of 1 KiB with ten typed
//! properties, a filter, and a batch of a hundred inserts.
//!
//! Run with `cargo run --release -p partita-wire --example payload_cost [PART OF A MEASUREMENT'S NAME]`. Each figure is
//! the best of many short runs, which excludes the effects of other programs.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]
#![allow(clippy::unwrap_used, reason = "a benchmark panics on errors")]

use partita_model::{DateTime, Entity, Guid, Properties, PropertiesBuilder, ValueRef};
use partita_wire::table::{
    EntityFormat, EntityWriter, MetadataLevel, Select, parse_filter, read_batch, read_entity,
};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 200;
const ROUND_MICROS_MIN: u128 = 1000;

/// Prints the best time of one call. A program argument selects the measurements whose names contain it.
fn measure(name: &str, bytes: usize, call: impl FnMut()) {
    let chosen = std::env::args()
        .nth(1)
        .is_none_or(|part| name.contains(&part));
    if chosen {
        println!("{name:<28} {:>8.0} ns {bytes:>8} bytes", cost(call));
    }
}

/// The best time of one call, in nanoseconds.
fn cost(mut call: impl FnMut()) -> f64 {
    let mut calls = 1_u32;
    loop {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        if start.elapsed().as_micros() > ROUND_MICROS_MIN {
            break;
        }
        calls *= 2;
    }
    let nanos = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    });
    nanos.fold(f64::INFINITY, f64::min)
}

fn properties() -> Properties {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(11);
    let when = DateTime::parse("2013-08-02T17:37:43.9004348Z").unwrap();
    let id = Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap();
    let mut builder = PropertiesBuilder::new(2048);
    for (name, value) in [
        ("Name", ValueRef::String("Flight of the bumblebee")),
        ("Description", ValueRef::String(&text)),
        ("Count", ValueRef::Int32(123_456)),
        ("Total", ValueRef::Int64(1_099_511_627_776)),
        ("Ratio", ValueRef::Double(2.345_678_901_234_567)),
        ("Even", ValueRef::Double(200.0)),
        ("Active", ValueRef::Boolean(true)),
        ("When", ValueRef::DateTime(when)),
        ("Id", ValueRef::Guid(id)),
        ("Data", ValueRef::Binary(&[7; 48])),
    ] {
        builder.push(name, value).unwrap();
    }
    builder.finish()
}

fn format(level: MetadataLevel, select: Option<&Select>) -> EntityFormat<'_> {
    EntityFormat {
        level,
        base: "http://127.0.0.1:10002/devstoreaccount1",
        account: "devstoreaccount1",
        table: "Flights",
        select,
    }
}

fn main() {
    let properties = properties();
    let entity = Entity {
        partition_key: "partition0042".into(),
        row_key: "row00001234".into(),
        stored: properties.view(DateTime::parse("2021-09-21T01:04:37.9678478Z").unwrap()),
    };
    let select = Select::parse("PartitionKey,RowKey,Count,Total,Missing").unwrap();
    for (name, level, select) in [
        ("write, no metadata", MetadataLevel::None, None),
        ("write, minimal metadata", MetadataLevel::Minimal, None),
        ("write, full metadata", MetadataLevel::Full, None),
        (
            "write, five selected",
            MetadataLevel::Minimal,
            Some(&select),
        ),
    ] {
        let writer = EntityWriter::new(&format(level, select));
        let mut out = Vec::new();
        writer.single(&entity, &mut out).unwrap();
        let bytes = out.len();
        if select.is_none() && level < MetadataLevel::Full {
            let body = out.clone();
            measure(&name.replace("write", "read"), bytes, || {
                drop(black_box(read_entity(black_box(&body))));
            });
        }
        measure(name, bytes, || {
            out.clear();
            writer.row(false, black_box(&entity), &mut out).unwrap();
            black_box(&out);
        });
    }
    let filter = "PartitionKey eq 'partition0042' and RowKey ge 'row0000' and RowKey lt 'row0001' and (Count gt 5 or Active eq true)";
    measure("filter, five comparisons", filter.len(), || {
        drop(black_box(parse_filter(black_box(filter))));
    });
    let batch = batch(&entity);
    measure("batch, a hundred inserts", batch.len(), || {
        let content_type = "multipart/mixed; boundary=batch_74de74d9-751d-cddb-d820-f9b1a4408bc8";
        drop(black_box(read_batch(content_type, black_box(&batch))));
    });
}

/// A batch of a hundred inserts of this entity, as the .NET client sends it.
fn batch(entity: &Entity<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    let writer = EntityWriter::new(&format(MetadataLevel::Minimal, None));
    writer.single(entity, &mut json).unwrap();
    let mut body = b"--batch_74de74d9-751d-cddb-d820-f9b1a4408bc8\r\n\
        Content-Type: multipart/mixed; boundary=changeset_4e0d3d7d-b357-c3e7-581b-4294dbcbad99\r\n\r\n"
        .to_vec();
    for _ in 0..100 {
        body.extend_from_slice(
            b"--changeset_4e0d3d7d-b357-c3e7-581b-4294dbcbad99\r\nContent-Type: application/http\r\n\
            Content-Transfer-Encoding: binary\r\n\r\n\
            POST http://127.0.0.1:10002/devstoreaccount1/Flights HTTP/1.1\r\nHost: 127.0.0.1:10002\r\n\
            x-ms-version: 2019-02-02\r\nDataServiceVersion: 3.0\r\nPrefer: return-no-content\r\nAccept: application/json\r\n\
            Content-Type: application/json;odata=nometadata\r\n\r\n",
        );
        body.extend_from_slice(&json);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(
        b"--changeset_4e0d3d7d-b357-c3e7-581b-4294dbcbad99--\r\n--batch_74de74d9-751d-cddb-d820-f9b1a4408bc8--\r\n",
    );
    body
}
