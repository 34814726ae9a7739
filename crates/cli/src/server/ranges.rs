//! `partita ranges`: the partition map, with sizes, rates and epochs.

use super::bound;
use crate::args::admin_port::flag_for;
use crate::prelude::*;
use partita_tools::admin::AdminPort;
use partita_wire::admin::{Missing, Range, Ranges};

/// List the ranges: first keys, sizes, rates, epochs, and shared files
#[derive(clap::Args)]
pub(crate) struct RangesCommand {
    #[command(flatten)]
    output: OutputArgs,
}

/// The place of the column with the server, in a cluster.
const SERVER_COLUMN: usize = 3;

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
            let admin = flag_for(&port);
            notes(ranges, &admin).iter().for_each(|note| message(note));
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
    let bytes = match is_estimated(range) {
        true => Field::AboutBytes(range.layout.bytes),
        false => Field::Bytes(range.layout.bytes),
    };
    let server = range
        .server
        .as_ref()
        .map(|name| ("server", Field::text(name)));
    // The last columns are left out on a narrow terminal.
    let columns = [
        ("range", Field::id(range.id)),
        ("from", Field::text(&start)),
        ("before", Field::text(&end)),
        ("bytes", bytes),
        ("requests", Field::Rate(requests)),
        ("p99_us", Field::Latency(window.latency.p99_us)),
        ("state", Field::text(state(range))),
        ("cores", Field::Cores(cores)),
        ("files", Field::count(range.layout.files)),
        ("epoch", Field::id(range.epoch)),
        ("shared_with", Field::count(range.layout.sources)),
        ("lineage", Field::count(range.layout.lineage)),
        ("p50_us", Field::Latency(window.latency.p50_us)),
    ];
    let mut columns = Vec::from(columns);
    if let Some(server) = server {
        columns.insert(SERVER_COLUMN, server);
    }
    output.record(&columns)
}

/// The state of a range in a word or two.
pub(super) fn state(range: &Range) -> &'static str {
    match (range.frozen, range.layout.sources) {
        (true, _) => "in transit",
        (false, 0) => "serving",
        (false, _) => "serving, rewriting",
    }
}

/// The size of a range with its unit; an estimate begins with a tilde.
pub(super) fn size_text(range: &Range) -> String {
    let tilde = if is_estimated(range) { "~" } else { "" };
    format!("{tilde}{}", bytes(range.layout.bytes))
}

/// Whether the size of a range is an estimate. After a split, both ranges read the files of the old one, and the server
/// estimates their parts.
fn is_estimated(range: &Range) -> bool {
    range.layout.sources > 0
}

/// Says which servers of a cluster did not answer, and why names are missing or may be old.
pub(super) fn missing(missing: &Missing) -> Vec<String> {
    let silent = missing.silent.as_ref().map(|servers| {
        let servers = servers.join(", ");
        format!("no answer from {servers}: their ranges are missing here")
    });
    let unread = missing.names_unread.as_ref().map(|reason| {
        format!("the names of tables and queues cannot be read now, so the last known ones are shown: {reason}")
    });
    silent.into_iter().chain(unread).collect()
}

fn notes(ranges: &Ranges, admin: &str) -> Vec<String> {
    let change = ranges.change.as_ref().map(ToString::to_string);
    let orphans = ranges.orphans.len() as u64;
    let orphans = (orphans > 0).then(|| {
        many(
            orphans,
            "database of a replaced range is kept until nothing reads its files",
            "databases of replaced ranges are kept until nothing reads their files",
        )
    });
    let sharing = ranges.ranges.iter().filter(|range| is_estimated(range));
    let sharing: Vec<String> = sharing.map(|range| range.id.to_string()).collect();
    let estimated = sharing.first().map(|first| {
        let noun = if sharing.len() == 1 { "range" } else { "ranges" };
        let all = sharing.join(", ");
        format!(
            "the size of {noun} {all} is estimated until the shared files are rewritten; to do it now: partita admin compact {first}{admin}"
        )
    });
    let missing = missing(&ranges.missing);
    change
        .into_iter()
        .chain(orphans)
        .chain(estimated)
        .chain(missing)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::lines_of_table;
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let json = include_str!("../../../wire/src/admin/golden/ranges.json");
        let mut ranges: Ranges = serde_json::from_str(json).unwrap();
        for range in &mut ranges.ranges {
            range.requests_per_second = Some(123_456.7);
            range.layout.sources = 1;
        }
        for width in [60, 80, 120] {
            let lines = lines_of_table(width, |output| {
                let mut all = ranges.ranges.iter();
                all.try_for_each(|range| write_range(range, output))
            });
            assert!(lines.len() > 1 && lines[0].trim_start().starts_with("range"));
            assert!(lines.iter().all(|line| line.width() <= width), "{lines:#?}");
        }
    }

    /// B22: right after a split, the size of a half is an estimate, and said to be one.
    #[test]
    fn b22_the_size_of_a_range_that_shares_files_is_estimated() {
        let json = include_str!("../../../wire/src/admin/golden/ranges.json");
        let mut ranges: Ranges = serde_json::from_str(json).unwrap();
        for range in &mut ranges.ranges {
            range.layout.sources = 0;
        }
        let before = notes(&ranges, "").len();
        let id = ranges.ranges[0].id;
        ranges.ranges[0].layout.sources = 1;
        ranges.ranges[0].layout.bytes = 36_805_018;
        assert_eq!(size_text(&ranges.ranges[0]), "~35.1 MiB");
        let notes = notes(&ranges, "");
        assert_eq!(notes.len(), before + 1);
        assert!(
            notes[before].starts_with(&format!("the size of range {id} is estimated"))
                && notes[before].ends_with(&format!("partita admin compact {id}")),
            "{notes:?}"
        );
    }
}
