//! The world of a golden script: a controller, and the store that holds its records.

use crate::balance::{BalanceAction, BalanceSettings, Balancer, Observed, SplitPoint};
use crate::controller::{
    Action, ChangeRequest, Event, JobId, Outcome, RANGES_MAX, Removed, Request, State, Task,
    TaskResult, step,
};
use crate::error::ChangeRefused;
use crate::host::{ChangeFailed, Leftover};
use crate::map::{ChangeRecord, MapError, MapRecord, RangeSpec};
use bytes::Bytes;
use partita_model::{TableId, TableSpace};
use partita_range::RangeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time that writes wait for each change.
const TRANSIT: Duration = Duration::from_millis(5);

pub(super) struct World {
    state: State,
    ranges_max: usize,
    /// The newest record in the store.
    stored: Option<MapRecord>,
    /// The record that each job is storing, in a save or in a change.
    saving: HashMap<JobId, MapRecord>,
    began: Instant,
    output: Vec<String>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            state: State::new(RANGES_MAX),
            ranges_max: RANGES_MAX,
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
            "kill" => self.state = State::new(self.ranges_max),
            "limit" => {
                self.ranges_max = words[0].parse().unwrap();
                self.state = State::new(self.ranges_max);
            }
            "balance" => {
                let settings = BalanceSettings {
                    split_bytes: 100,
                    ..BalanceSettings::default()
                };
                self.state.balance_with(Balancer::new(settings));
            }
            "unchecked" => self.stored.as_mut().expect("a stored record").format = 1,
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
            "split" => Request::Change(ChangeRequest::Split {
                range: range(words[1]),
                at: words.get(2).map(|at| key(at)),
            }),
            "merge" => Request::Change(ChangeRequest::Merge {
                left: range(words[1]),
                right: range(words[2]),
            }),
            "freeze" => Request::Freeze {
                range: range(words[1]),
                time: Duration::from_secs(1),
            },
            "lock" => Request::LockChanges,
            "delete-replaced" => Request::DeleteReplaced,
            "release-pins" => Request::ReleasePins,
            _ => return None,
        };
        Some(Event::Asked(job(words), request))
    }

    fn event(&mut self, name: &str, words: &[&str]) -> Event {
        let is = |word: &str| words.contains(&word);
        let result = || if is("fails") { Err(refused()) } else { Ok(()) };
        match name {
            "found" => Event::Found {
                record: self.stored.clone(),
                databases: ranges(words),
            },
            "released" => Event::Released(job(words)),
            "opened" => Event::TaskEnded(JobId::START, TaskResult::Opened),
            "pins-suspected" => Event::PinsSuspected,
            "observed" => self.observed(words),
            "balanced" => Event::Balanced {
                now: self.time(words[0]),
                result: result(),
            },
            "broken" => Event::Broken(job(words)),
            _ => Event::TaskEnded(job(words), self.task_result(name, words)),
        }
    }

    fn task_result(&mut self, name: &str, words: &[&str]) -> TaskResult {
        let is = |word: &str| words.contains(&word);
        let result = || if is("fails") { Err(refused()) } else { Ok(()) };
        match name {
            "surveyed" => {
                let kept = words[1..].iter().map(|kept| kept.parse().unwrap());
                TaskResult::Surveyed(Ok(kept.collect()))
            }
            "split-key" => TaskResult::SplitKeyFound(match words[1] {
                "none" => Err(ChangeRefused::NoSplitKey(RangeId(1))),
                at => Ok(key(at)),
            }),
            "flushed" => TaskResult::Flushed(result()),
            "saved" => self.saved(job(words), is("fails")),
            "changed" => self.changed(job(words), words.get(1).copied()),
            "thawed" => TaskResult::Thawed(result()),
            "removed" => TaskResult::Removed(Removed {
                gone: ranges(&words[1..]),
                late: is("late"),
            }),
            "listed" => TaskResult::Listed(Some(ranges(&words[1..]))),
            "removable" => TaskResult::Removable(Some(ranges(&words[1..]))),
            "pins-released" => TaskResult::PinsReleased {
                complete: !is("fails"),
            },
            other => panic!("no command {other}"),
        }
    }

    fn saved(&mut self, job: JobId, fails: bool) -> TaskResult {
        let record = self.saving.remove(&job).expect("the job saves a record");
        let result = if fails {
            Err(MapError::Conflict(record.version))
        } else {
            self.stored = Some(record);
            Ok(())
        };
        TaskResult::Saved(result)
    }

    fn changed(&mut self, job: JobId, how: Option<&str>) -> TaskResult {
        let decision = self.saving.remove(&job).expect("the job changes ranges");
        let failed = |leftover| {
            let why = refused();
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
        TaskResult::Changed(result)
    }

    /// The event of the command `observed TIME RANGE:BYTES …`.
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
            servers: 1,
        }
    }

    /// Seconds since the script began.
    fn time(&self, seconds: &str) -> Instant {
        self.began + Duration::from_secs(seconds.trim_end_matches('s').parse().unwrap())
    }

    /// Appends an action to the output.
    fn note(&mut self, action: Action) {
        let text = match action {
            Action::Run(job, task) => match *task {
                Task::Open(ranges) => format!("open {}", spec_list(&ranges)),
                task => {
                    let text = format!("{job}: {}", task_text(&task));
                    if let Task::Save(record, _) | Task::Change(_, record) = task {
                        self.saving.insert(job, record);
                    }
                    text
                }
            },
            Action::Started(Ok(())) => "started".to_owned(),
            Action::Started(Err(why)) => format!("not started: {why}"),
            Action::Announce => {
                let ranges: Vec<RangeSpec> = self.state.record().specs().collect();
                format!("announce {}", spec_list(&ranges))
            }
            Action::Detach(range) => format!("detach {range}"),
            Action::GrantLock(job) => format!("{job}: holds the change lock"),
            Action::Balance(action) => format!("balance: {}", balance_text(&action)),
            Action::Answer(job, answer) => format!("{job}: {}", answer_text(answer)),
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

/// The range ids among the words.
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

/// The one-letter name of a partition's start.
fn key_name(start: &Bytes) -> String {
    let names = ('a'..='z').map(|letter| letter.to_string());
    let mut names = names.filter(|name| key(name) == *start);
    names
        .next()
        .expect("a partition name in a script has one letter")
}

fn list(ids: &[RangeId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(" ")
}

fn spec_list(ranges: &[RangeSpec]) -> String {
    let ids: Vec<RangeId> = ranges.iter().map(|range| range.id).collect();
    list(&ids)
}

fn refused() -> ChangeRefused {
    ChangeRefused::Failed("the store failed".into())
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

fn task_text(task: &Task) -> String {
    match task {
        Task::Open(ranges) => format!("open {}", spec_list(ranges)),
        Task::Save(record, reason) => format!("save ({reason:?}) {}", record_text(record)),
        Task::Survey(ranges) => format!("survey {}", list(ranges)),
        Task::FindSplitKey(range) => format!("find a split key of {range}"),
        Task::Flush(ranges) => format!("flush {}", list(ranges)),
        Task::Change(change, decision) => {
            let (change, record) = (change_text(&change.record), record_text(decision));
            format!("change ({change}), decided by {record}")
        }
        Task::Freeze(range, time) => format!("freeze {range} for {time:?}"),
        Task::Remove(databases) => format!("remove {}", list(databases)),
        Task::RemoveNew(databases) => format!("remove the new {}", list(databases)),
        Task::ListDatabases => "list the databases".to_owned(),
        Task::FindRemovable(databases) => {
            format!("find removable databases among {}", list(databases))
        }
        Task::ReleasePins => "release untracked pins".to_owned(),
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
