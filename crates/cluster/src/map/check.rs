//! Checks a stored map, and compares it with the databases and records that belong to it, before a start changes
//! anything.
//!
//! The newest version of the map decides which databases are served and which are deleted. So it must be proven to be
//! the newest: no serving record, database, WAL record or removed database may be newer than it. It must be undamaged,
//! which its checksum shows. And the databases must be those that it lists, with keys inside their ranges.
//! `docs/format/map.md` lists the faults, and why no crash causes one.

use super::contents::{KeptVersion, StoreContents};
use super::finding::{Fault, Finding, Severity, Trace, bounds_text, keys_text};
use super::range_spec::RangeSpec;
use super::record::MapRecord;
use super::serving::ServingRecord;
use super::store::VERSIONS_KEPT;
use partita_engine::{KeyRange, StoredFiles};
use partita_range::{Bounds, FLUSH_MARKER_KEY, RangeId};
use std::ops::Bound;

/// The result of [`check`].
#[derive(Debug, Clone, Default)]
pub struct StoreCheck {
    /// The newest version of the map; `None` in a new store, or if it cannot be read.
    pub newest: Option<MapRecord>,
    /// The faults, those of the map first.
    pub findings: Vec<Finding>,
    /// The missing serving records of served ranges. A start writes them.
    pub serving_missing: Vec<ServingRecord>,
    /// The ranges whose serving record is outdated. A start deletes the record.
    pub serving_outdated: Vec<RangeId>,
}

impl StoreCheck {
    /// The findings of a severity.
    pub fn findings_of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.severity() == severity)
    }

    fn add(&mut self, finding: Finding) {
        // Adds one finding per object: several databases and records can show that the same version is missing.
        if self.findings.iter().all(|it| it.object != finding.object) {
            self.findings.push(finding);
        }
    }
}

/// Checks the contents of a store. Changes nothing.
#[must_use]
pub fn check(contents: &StoreContents) -> StoreCheck {
    let mut checked = StoreCheck::default();
    check_versions(&mut checked, &contents.map.versions);
    let Some(newest) = checked.newest.clone() else {
        if contents.map.versions.is_empty()
            && let Some((_, trace)) = contents.traces().next()
        {
            checked.add(Finding::of_map(Fault::NoMap(trace)));
        }
        return checked;
    };
    check_traces(&mut checked, &newest, contents);
    check_serving(&mut checked, &newest, contents);
    check_databases(&mut checked, &newest, contents);
    checked
}

/// Checks that the newest version is readable and follows the version before it. Faults of older versions are warnings.
fn check_versions(checked: &mut StoreCheck, versions: &[KeptVersion]) {
    let Some((newest, older)) = versions.split_last() else {
        return;
    };
    match &newest.record {
        Ok(record) => checked.newest = Some(record.clone()),
        Err(reason) => {
            let fault = Fault::NewestUnreadable(reason.clone());
            checked.add(Finding::of_version(newest.version, fault));
        }
    }
    for kept in older {
        if let Err(reason) = &kept.record {
            let fault = Fault::OldUnreadable(reason.clone());
            checked.add(Finding::of_version(kept.version, fault));
        }
    }
    for (before, kept) in versions.iter().zip(versions.iter().skip(1)) {
        let next = before.version + 1;
        // Only a gap among the last [`VERSIONS_KEPT`] versions is a fault: an interrupted deletion leaves gaps before
        // them.
        if kept.version > next && next + VERSIONS_KEPT >= newest.version {
            checked.add(Finding::of_version(next, Fault::OldMissing));
        }
        let is_newest = kept.version == newest.version;
        if let (Ok(before), Ok(record)) = (&before.record, &kept.record)
            && kept.version == next
            && !record.follows(before)
        {
            let fault = match is_newest {
                true => Fault::NewestForeign,
                false => Fault::OldForeign,
            };
            checked.add(Finding::of_version(kept.version, fault));
        }
    }
}

/// Checks that nothing in the store is newer than the newest version of the map: no serving record that names a later
/// version, no range whose id that version has not given out, and no serving record of a range that its undecided
/// change creates.
fn check_traces(checked: &mut StoreCheck, newest: &MapRecord, contents: &StoreContents) {
    let created = newest.created();
    for (range, trace) in contents.traces() {
        let version = match trace {
            Trace::Served(_, version) if version > newest.version => version,
            Trace::Served(..) | Trace::Serving(_) if created.contains(&range) => newest.version + 1,
            _ if range.0 >= newest.next_range => newest.version + 1,
            _ => continue,
        };
        let fault = Fault::VersionMissing(trace, newest.version);
        checked.add(Finding::of_version(version, fault));
    }
}

/// Checks that the serving records of served ranges agree with the map.
fn check_serving(checked: &mut StoreCheck, newest: &MapRecord, contents: &StoreContents) {
    for spec in newest.specs() {
        let mut serving = contents.map.serving.iter();
        let missing = match serving
            .find(|kept| kept.range == spec.id)
            .map(|it| &it.record)
        {
            Some(Ok(record)) => {
                check_facts(checked, &spec, &record.spec());
                continue;
            }
            Some(Err(reason)) => Fault::ServingUnreadable(reason.clone()),
            None if is_undecided(newest, contents) => Fault::UndecidedUnknown(newest.version + 1),
            None => Fault::ServingMissing,
        };
        let record = ServingRecord::new(&spec, newest.version);
        // Neither a new store nor a store of an earlier version has serving records.
        let is_new = is_untouched(newest, contents) || newest.is_unchecked();
        if !(is_new && missing == Fault::ServingMissing) {
            checked.add(Finding::of_serving(spec.id, missing));
        }
        checked.serving_missing.push(record);
    }
    for kept in &contents.map.serving {
        if kept.range.0 < newest.next_range && !newest.tracks(kept.range) {
            let fault = match contents.has_manifest(kept.range) {
                true => Fault::ServingForeign,
                false => Fault::ServingOutdated,
            };
            checked.add(Finding::of_serving(kept.range, fault));
            checked.serving_outdated.push(kept.range);
        }
    }
}

fn check_facts(checked: &mut StoreCheck, map: &RangeSpec, record: &RangeSpec) {
    if map != record {
        let facts = |spec: &RangeSpec| {
            let keys = bounds_text(&spec.bounds);
            format!("{keys}, epoch {}", spec.epoch.0)
        };
        let (record, facts_of_map) = (facts(record), facts(map));
        let fault = Fault::ServingDiffers {
            record,
            map: facts_of_map,
        };
        checked.add(Finding::of_serving(map.id, fault));
    }
}

/// Whether the start would delete databases because the newest version holds an undecided change. False for stores
/// without checksums, because they have no serving records that could show that the change was decided.
fn is_undecided(newest: &MapRecord, contents: &StoreContents) -> bool {
    let mut created = newest.created().into_iter();
    !newest.is_unchecked() && created.any(|range| contents.has_database(range))
}

/// Checks that every served range has a database, with keys inside the range only.
fn check_databases(checked: &mut StoreCheck, newest: &MapRecord, contents: &StoreContents) {
    for spec in newest.specs() {
        let mut databases = contents.ranges.databases.iter();
        let files = databases.find(|database| database.range == spec.id);
        let fault = match files.map(|database| &database.files) {
            None if is_untouched(newest, contents) => continue,
            Some(StoredFiles::NoManifest) if is_untouched(newest, contents) => continue,
            None => Fault::DatabaseMissing,
            Some(StoredFiles::NoManifest) => Fault::ManifestMissing,
            Some(StoredFiles::Unreadable(reason)) => Fault::ManifestUnreadable(reason.clone()),
            Some(StoredFiles::Keys(files)) => {
                match files.iter().find(|keys| !is_inside(keys, &spec.bounds)) {
                    None => continue,
                    Some(keys) => Fault::KeysOutside {
                        keys: keys_text(keys),
                        map: bounds_text(&spec.bounds),
                    },
                }
            }
        };
        checked.add(Finding::of_database(spec.id, fault));
    }
}

/// Whether this may be a new store whose first start was interrupted: it has one range, which was never served and has
/// no rows.
fn is_untouched(newest: &MapRecord, contents: &StoreContents) -> bool {
    newest.next_range == 2 && contents.map.serving.is_empty() && contents.ranges.logged.is_empty()
}

/// Whether the keys of a file are inside a range. The flush marker is in the files of all ranges.
fn is_inside(keys: &KeyRange, bounds: &Bounds) -> bool {
    let starts = match &keys.start {
        Bound::Included(first) if first == FLUSH_MARKER_KEY => true,
        Bound::Included(first) | Bound::Excluded(first) => *first >= bounds.start,
        Bound::Unbounded => bounds.start.is_empty(),
    };
    let ends = match (&keys.end, &bounds.end) {
        (_, None) => true,
        (Bound::Included(last), Some(end)) => last < end,
        (Bound::Excluded(last), Some(end)) => last <= end,
        (Bound::Unbounded, Some(_)) => false,
    };
    starts && ends
}
