//! A client that inserts a row into each of three places of the table, one after the other, again and again: a snapshot
//! that has a row has all rows that were inserted before it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::client::Request;
use partita_bench::cluster::Connection;
use partita_bench::park_for;
use partita_load::history::{Keys, stable_partition};

use super::{Load, TABLE, json, lock};

/// The rows that nothing changes before the three places.
const PLACES: [u64; 3] = [10, 100, 190];

/// The pause after a row in each place: a scan is to have few of them.
const PAUSE: Duration = Duration::from_millis(150);

/// Inserts the next row into each place.
pub(super) fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let number = lock(&load.chain).len() as u64;
    for partition in partitions(load) {
        let body = json(&partition, &row(number), number);
        let request = Request {
            content_type: "application/json",
            body: body.as_bytes(),
            ..Request::new("POST", TABLE)
        };
        let answer = connection.send_until_answered(&request, || load.is_over());
        let Some((_, answer)) = answer else {
            return Ok(());
        };
        // After an unknown outcome, it may exist.
        ensure!(matches!(answer.status, 201 | 409), "{}", answer.text());
    }
    lock(&load.chain).push(Instant::now());
    park_for(PAUSE);
    Ok(())
}

fn partitions(load: &Load) -> [String; 3] {
    PLACES.map(|place| format!("{}-c{}", stable_partition(place), load.round))
}

fn row(number: u64) -> String {
    format!("{number:06}")
}

/// Checks what a snapshot has that was asked for at `since`.
pub(in super::super) fn check(
    load: &Load,
    rows: &HashSet<&Keys>,
    since: Instant,
) -> anyhow::Result<()> {
    let inserted = lock(&load.chain).clone();
    let partitions = partitions(load);
    for (number, at) in inserted.iter().enumerate() {
        let keys = |partition: &String| (partition.clone(), row(number as u64));
        let has = partitions
            .each_ref()
            .map(|partition| rows.contains(&keys(partition)));
        ensure!(
            *at >= since || has == [true; 3],
            "a snapshot lacks row {number}, which was inserted before it: {has:?}"
        );
        ensure!(
            has.is_sorted_by(|before, after| before >= after),
            "a snapshot has row {number} without one that was inserted before it: {has:?}"
        );
    }
    Ok(())
}
