//! The world of a golden script: a controller, and the store that holds its records.

use crate::balance::{BalanceAction, BalanceSettings, Balancer, Observed, SplitPoint};
use crate::controller::{
    Action, Event, JobId, Limits, Outcome, Removed, Request, State, StoreAction, step,
};
use crate::error::ChangeRefused;
use crate::host::{ChangeFailed, Leftover};
use crate::map::{ChangeRecord, MapError, MapRecord};
use bytes::Bytes;
use partita_model::{TableId, TableSpace};
use partita_range::RangeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long writes wait for each change.
const TRANSIT: Duration = Duration::from_millis(5);

pub(super) struct World {
    state: State,
    limits: Limits,
    /// The newest record in the store.
    stored: Option<MapRecord>,
    /// The record that each job wants stored: by itself, or by the host with a change.
    saving: HashMap<JobId, MapRecord>,
    began: Instant,
    output: Vec<String>,
}

impl World {
    pub(super) fn new() -> Self {
        let limits = Limits::default();
        Self {
            state: State::new(limits),
            limits,
            stored: None,
            saving: HashMap::new(),
            began: Instant::now(),
            output: Vec::new(),
        }
    }

    pub(super) fn take_output(&mut self) -> Vec<String> {
        std::mem::take(&mut self.output)
    }

    /// Runs one line of a script.
    pub(super) fn command(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let words: Vec<&str> = words.collect();
        match name {
            "kill" => self.state = State::new(self.limits),
            "limit" => {
                self.limits.ranges_per_host_max = words[0].parse().unwrap();
                self.state = State::new(self.limits);
            }
            "balance" => {
                let settings = BalanceSettings {
                    split_bytes: 100,
                    ..BalanceSettings::default()
                };
                self.state.balance_with(Balancer::new(settings));
            }
            "record" => self.output.push(record_text(self.state.record())),
            "stored" => {
                let stored = self.stored.as_ref().map_or("nothing".into(), record_text);
                self.output.push(stored);
            }
            _ => {
                let event = self
                    .asked(name, &words)
                    .unwrap_or_else(|| self.event(name, &words));
                for action in step(&mut self.state, event) {
                    self.note(action);
                }
            }
        }
    }

    fn asked(&self, name: &str, words: &[&str]) -> Option<Event> {
        let request = match name {
            "split" => Request::Split {
                range: range(words[1]),
                at: words.get(2).map(|at| key(at)),
            },
            "merge" => Request::Merge {
                left: range(words[1]),
                right: range(words[2]),
            },
            "freeze" => Request::Freeze {
                range: range(words[1]),
                time: Duration::from_secs(1),
            },
            "lock" => Request::LockChanges,
            "delete-replaced" => Request::DeleteReplaced,
            "release-pins" => Request::ReleasePins,
            _ => return None,
        };
        let job = job(words);
        Some(Event::Asked { job, request })
    }

    fn event(&mut self, name: &str, words: &[&str]) -> Event {
        let is = |word: &str| words.contains(&word);
        let refused = || ChangeRefused::Failed("the store failed".into());
        let result = || if is("fails") { Err(refused()) } else { Ok(()) };
        match name {
            "found" => Event::Found {
                record: self.stored.clone(),
                databases: ranges(words),
            },
            "opened" => Event::Opened,
            "released" => Event::Released { job: job(words) },
            "surveyed" => Event::Surveyed {
                job: job(words),
                kept: Ok(words[1..]
                    .iter()
                    .map(|kept| kept.parse().unwrap())
                    .collect()),
            },
            "split-key" => Event::SplitKeyFound {
                job: job(words),
                key: match words[1] {
                    "none" => Err(ChangeRefused::NoSplitKey(RangeId(1))),
                    at => Ok(key(at)),
                },
            },
            "flushed" => Event::Flushed {
                job: job(words),
                result: result(),
            },
            "saved" => self.saved(job(words), is("fails")),
            "changed" => self.changed(job(words), words.get(1).copied()),
            "thawed" => Event::Thawed {
                job: job(words),
                result: result(),
            },
            "removed" => Event::Removed {
                job: job(words),
                removed: Removed {
                    gone: ranges(&words[1..]),
                    late: is("late"),
                },
            },
            "listed" => Event::Listed {
                job: job(words),
                databases: Some(ranges(&words[1..])),
            },
            "removable" => Event::Removable {
                job: job(words),
                databases: Some(ranges(&words[1..])),
            },
            "pins-released" => Event::PinsReleased {
                job: job(words),
                complete: !is("fails"),
            },
            "pins-suspected" => Event::PinsSuspected,
            "observed" => self.observed(words),
            "balanced" => Event::Balanced {
                now: self.time(words[0]),
                result: result(),
            },
            "broken" => Event::Broken { job: job(words) },
            other => panic!("no command {other}"),
        }
    }

    fn saved(&mut self, job: JobId, fails: bool) -> Event {
        let record = self.saving.remove(&job).expect("the job saves a record");
        let result = if fails {
            Err(MapError::Conflict(record.version))
        } else {
            self.stored = Some(record);
            Ok(())
        };
        Event::Saved { job, result }
    }

    fn changed(&mut self, job: JobId, how: Option<&str>) -> Event {
        let decision = self.saving.remove(&job).expect("the job changes ranges");
        let failed = |leftover| {
            let why = ChangeRefused::Failed("the store failed".into());
            Err(ChangeFailed { why, leftover })
        };
        let result = match how {
            None => {
                self.stored = Some(decision);
                Ok(TRANSIT)
            }
            Some("fails") => failed(Leftover::Closed),
            Some(_) => failed(Leftover::Unfinished),
        };
        Event::Changed { job, result }
    }

    /// `observed TIME RANGE:BYTES …`
    fn observed(&self, words: &[&str]) -> Event {
        let observed = words[1..].iter().map(|word| {
            let (id, bytes) = word.split_once(':').unwrap();
            Observed {
                id: range(id),
                bytes: bytes.parse().unwrap(),
                rate: 0.0,
                cores: 0.0,
                split_point: SplitPoint::Unknown,
                detaching: false,
            }
        });
        Event::Observed {
            now: self.time(words[0]),
            ranges: observed.collect(),
        }
    }

    /// Seconds since the script began.
    fn time(&self, seconds: &str) -> Instant {
        self.began + Duration::from_secs(seconds.trim_end_matches('s').parse().unwrap())
    }

    /// Writes an action down.
    fn note(&mut self, action: Action) {
        let text = match action {
            Action::Open { ranges } => {
                let ids: Vec<RangeId> = ranges.iter().map(|range| range.id).collect();
                format!("open {}", list(&ids))
            }
            Action::Started(Ok(())) => "started".to_owned(),
            Action::Started(Err(why)) => format!("not started: {why}"),
            Action::Save {
                job,
                record,
                reason,
            } => {
                let text = format!("{job}: save ({reason:?}) {}", record_text(&record));
                self.saving.insert(job, record);
                text
            }
            Action::Survey { job, ranges } => format!("{job}: survey {}", list(&ranges)),
            Action::FindSplitKey { job, range } => format!("{job}: find a split key of {range}"),
            Action::Flush { job, ranges } => format!("{job}: flush {}", list(&ranges)),
            Action::Change {
                job,
                change,
                decision,
            } => {
                let (change, record) = (change_text(&change.record), record_text(&decision));
                self.saving.insert(job, decision);
                format!("{job}: change ({change}), decided by {record}")
            }
            Action::Replace { old, new } => {
                let new: Vec<RangeId> = new.iter().map(|range| range.id).collect();
                format!("replace {} by {}", list(&old), list(&new))
            }
            Action::Detach { range } => format!("detach {range}"),
            Action::Freeze { job, range, time } => format!("{job}: freeze {range} for {time:?}"),
            Action::Store { job, action } => format!("{job}: {}", store_text(&action)),
            Action::GrantLock { job } => format!("{job}: holds the change lock"),
            Action::Balance(action) => format!("balance: {}", balance_text(&action)),
            Action::Answer { job, answer } => format!("{job}: {}", answer_text(answer)),
        };
        self.output.push(text);
    }
}

fn job(words: &[&str]) -> JobId {
    JobId(words[0].parse().unwrap())
}

fn range(word: &str) -> RangeId {
    RangeId(word.parse().unwrap())
}

/// The words that are numbers.
fn ranges(words: &[&str]) -> Vec<RangeId> {
    let numbers = words.iter().filter_map(|word| word.parse().ok());
    numbers.map(RangeId).collect()
}

/// The start of a partition; `m/r` is a key inside it.
fn key(name: &str) -> Bytes {
    let space = TableSpace::new("account", TableId(1));
    match name.split_once('/') {
        Some((partition, row)) => space.entity(partition, row),
        None => space.partition(name),
    }
}

/// The name of a partition's start, which has one letter.
fn key_name(start: &Bytes) -> String {
    let names = ('a'..='z').map(|letter| letter.to_string());
    let mut names = names.filter(|name| key(name) == *start);
    names.next().expect("scripts use one letter a partition")
}

fn list(ids: &[RangeId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(" ")
}

fn record_text(record: &MapRecord) -> String {
    let ranges = record.ranges.iter().map(|range| {
        let start = match range.start.is_empty() {
            true => String::new(),
            false => format!("@{}", key_name(&range.start)),
        };
        format!(" {}{start}", range.id)
    });
    let mut text = format!("v{}:{}", record.version, ranges.collect::<String>());
    if let Some(change) = &record.change {
        text.push_str(&format!(", begun: {}", change_text(change)));
    }
    if !record.pending_deletion.is_empty() {
        text.push_str(&format!(
            ", pending deletion: {:?}",
            record.pending_deletion
        ));
    }
    text
}

fn change_text(change: &ChangeRecord) -> String {
    match change {
        ChangeRecord::Split {
            range,
            at,
            left,
            right,
        } => format!("split {range} at {} into {left} {right}", key_name(at)),
        ChangeRecord::Merge { left, right, into } => format!("merge {left} {right} into {into}"),
    }
}

fn store_text(action: &StoreAction) -> String {
    match action {
        StoreAction::Remove(databases) => format!("remove {}", list(databases)),
        StoreAction::RemoveNew(databases) => format!("remove the new {}", list(databases)),
        StoreAction::ListDatabases => "list the databases".to_owned(),
        StoreAction::FindRemovable(databases) => {
            format!("find out which can be removed of {}", list(databases))
        }
        StoreAction::ReleasePins => "release untracked pins".to_owned(),
    }
}

fn balance_text(action: &BalanceAction) -> String {
    match action {
        BalanceAction::SplitBySize(range) => format!("split {range} by size"),
        BalanceAction::SplitByLoad(range, at) => format!("split {range} at {}", key_name(at)),
        BalanceAction::Merge(left, right) => format!("merge {left} {right}"),
    }
}

fn answer_text(answer: Result<Outcome, ChangeRefused>) -> String {
    match answer {
        Ok(Outcome::Split(split)) => {
            let (left, right, at) = (split.left, split.right, key_name(&split.at));
            format!("split at {at} into {left} {right}")
        }
        Ok(Outcome::Merged(merged)) => format!("merged into {}", merged.into),
        Ok(Outcome::Done) => "done".to_owned(),
        Err(why) => format!("refused: {why}"),
    }
}
