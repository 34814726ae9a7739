//! `partita ranges`: the partition map, with sizes, rates and epochs.

use super::bound;
use crate::prelude::*;
use partita_tools::admin::AdminPort;
use partita_wire::admin::{Range, Ranges};

/// List the ranges: first keys, sizes, rates, epochs, and shared files
#[derive(clap::Args)]
pub(crate) struct RangesCommand {
    #[command(flatten)]
    output: OutputArgs,
}

impl AdminPortCommand for RangesCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let page = port.ranges().await?;
        let ranges = &page.document;
        self.output
            .write_document(&page.text, Shape::Rows, |output| {
                let mut ranges = ranges.ranges.iter();
                ranges.try_for_each(|range| write_range(range, output))
            })?;
        if !self.output.is_json() {
            notes(ranges).iter().for_each(|note| message(note));
        }
        let found = ranges.ranges.len() as u64;
        let (version, found_text) = (ranges.map_version, many(found, "range", "ranges"));
        let end = format!("{found_text} in version {version} of the map");
        progress.finish(&end, Outcome::of_count(found))
    }
}

fn write_range(range: &Range, output: &mut Output) -> Result<(), CommandError> {
    let start = bound(range.start.as_ref(), "");
    let end = bound(range.end.as_ref(), "");
    let window = range.last_window.clone().unwrap_or_default();
    let requests = range.requests_per_second.unwrap_or_default();
    let cores = range.cores.unwrap_or_default();
    let state = match (range.frozen, range.layout.sources) {
        (true, _) => "in transit",
        (false, 0) => "serving",
        (false, _) => "serving, rewriting",
    };
    output.record(&[
        ("Range", Field::count(range.id)),
        ("Epoch", Field::count(range.epoch)),
        ("From", Field::text(&start)),
        ("Before", Field::text(&end)),
        ("Bytes", Field::Bytes(range.layout.bytes)),
        ("Files", Field::count(range.layout.files)),
        ("SharedWith", Field::count(range.layout.sources)),
        ("Lineage", Field::count(range.layout.lineage)),
        ("Requests", Field::tenths(requests)),
        ("Cores", Field::double(cores)),
        ("P50Us", Field::Latency(window.latency.p50_us)),
        ("P99Us", Field::Latency(window.latency.p99_us)),
        ("State", Field::text(state)),
    ])
}

fn notes(ranges: &Ranges) -> Vec<String> {
    let change = ranges.change.as_ref().map(ToString::to_string);
    let orphans = ranges.orphans.len() as u64;
    let orphans = (orphans > 0).then(|| {
        many(
            orphans,
            "database of a replaced range is kept until nothing reads its files",
            "databases of replaced ranges are kept until nothing reads their files",
        )
    });
    change.into_iter().chain(orphans).collect()
}
