//! Answers most looks for a newer manifest without the store.
//!
//! An open database looks for its next manifest every few seconds, its compactor for the next manifest and the next state of
//! compactions. Each look reads the next number, which is missing while nothing happens. Over an object store each of these
//! reads costs money. But a database is written by the process that has it open. So [`Polls`] remembers the newest numbers
//! that this process has written, and [`PolledStore`] answers that the next one is missing. The rules:
//!
//! - Nothing is known when a database is opened. Its first write locks all earlier writers out.
//! - Nothing is known while an object is written, nor after a failed write, which may have been executed or may still be,
//!   until an object of the same or of a greater number is written.
//! - Every write of this process counts, whatever part of it writes.
//! - Another process may write all the same: one that locks this process out, or one that removes the pin of a snapshot.
//!   The former makes the next write of this process fail. Both are found when the last look at the store is older than a
//!   limit, which is less than the age at which replaced manifests are deleted. Neither takes away files that this process
//!   still answers from: only compactions replace those, and the other process compacts only after it has locked this one out.
//! - A compactor of an earlier owner may write after this database and before its own compactor has locked it out. The number
//!   that the own compactor then writes is greater, so the database reads that manifest.
//! - Only the looks of an open database and of its compactor are answered so. Garbage collection, pins and checks, which
//!   list manifests, read the store.
//!
//! Each look of SlateDB, and each manifest that it writes, also reads a *boundary*: the number up to which garbage collection
//! may have deleted manifests. Partita's garbage collection writes none (`boundary_files_enabled`), so [`OwnWrites`] answers
//! that there is none.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use partita_rt::Clock;
use partita_rt::store_layer::{Layer, Listing, Put};
use slatedb::object_store::path::Path;
use slatedb::object_store::{Error, GetOptions, GetResult, ObjectStore, PutResult, Result};

use super::manifest_store::{Kind, Sealed};

/// The newest numbers that this process has written, of the databases that it has open.
#[derive(Debug)]
pub(super) struct Polls {
    open: Mutex<Open>,
    clock: Arc<dyn Clock>,
}

/// The databases that are open.
#[derive(Debug, Default)]
struct Open {
    /// By their folders.
    databases: HashMap<String, Database>,
    /// The number of databases that were opened so far.
    openings: u64,
}

/// An open database.
#[derive(Debug)]
struct Database {
    /// Which opening it is of.
    opening: u64,
    manifests: Newest,
    compactions: Newest,
}

/// What is known of the objects of one kind.
#[derive(Debug, Default)]
struct Newest {
    known: Option<Known>,
    /// The number of writes under way.
    writing: usize,
    /// The greatest number of a failed write.
    doubtful: u64,
}

/// The next number is missing.
#[derive(Clone, Copy, Debug)]
struct Known {
    newest: u64,
    /// When that was found, on the clock that counts the time that the machine sleeps. `None` makes the next look read the
    /// store.
    found: Option<Duration>,
}

impl Polls {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            open: Mutex::default(),
            clock,
        }
    }

    /// Begins to remember the numbers of the database in `folder`, which is being opened, until the returned value is
    /// dropped. Forgets those of an earlier opening.
    pub(super) fn begin(self: &Arc<Self>, folder: String) -> Polled {
        let mut open = self.open.lock();
        open.openings += 1;
        let opening = open.openings;
        let database = Database {
            opening,
            manifests: Newest::default(),
            compactions: Newest::default(),
        };
        open.databases.insert(folder.clone(), database);
        Polled {
            polls: Arc::clone(self),
            folder,
            opening,
        }
    }

    /// Notes that an object is about to be written.
    pub(super) fn begin_write<'p>(&'p self, object: &'p Sealed) -> WriteUnderWay<'p> {
        let opening = self.with(object, |database, kind| {
            database.newest(kind).writing += 1;
            database.opening
        });
        WriteUnderWay {
            polls: self,
            object,
            opening,
            is_written: false,
        }
    }

    /// Whether an object is missing, unless another process has written it within `age`.
    fn is_missing(&self, object: &Sealed, age: Duration) -> bool {
        let now = self.clock.boot();
        let is_missing = self.with(object, |database, kind| {
            let newest = database.newest(kind);
            let known = newest.known.filter(|_| newest.writing == 0);
            known.is_some_and(|known| {
                let found = known.found.filter(|_| object.number > known.newest);
                found.is_some_and(|found| now.saturating_sub(found) < age)
            })
        });
        is_missing == Some(true)
    }

    /// Notes whether the store had an object.
    fn note_look(&self, object: &Sealed, is_there: bool) {
        let now = self.clock.boot();
        self.with(object, |database, kind| {
            let newest = database.newest(kind);
            newest.known = newest.known.and_then(|known| {
                if object.number <= known.newest {
                    return Some(known);
                }
                let found = match object.number == known.newest + 1 {
                    true => Some(now),
                    false => known.found,
                };
                (!is_there).then_some(Known { found, ..known })
            });
        });
    }

    fn with<T>(&self, object: &Sealed, act: impl FnOnce(&mut Database, Kind) -> T) -> Option<T> {
        let mut open = self.open.lock();
        let database = open.databases.get_mut(&object.folder)?;
        Some(act(database, object.kind))
    }

    /// Makes the next look for objects of one kind read the store.
    fn expire(&self, folder: &str, kind: Kind) {
        let mut open = self.open.lock();
        let database = open.databases.get_mut(folder);
        if let Some(known) = database.and_then(|database| database.newest(kind).known.as_mut()) {
            known.found = None;
        }
    }
}

impl Database {
    fn newest(&mut self, kind: Kind) -> &mut Newest {
        match kind {
            Kind::Manifest => &mut self.manifests,
            Kind::Compactions => &mut self.compactions,
        }
    }
}

/// A database whose numbers are remembered, until this is dropped.
#[derive(Debug)]
pub(super) struct Polled {
    polls: Arc<Polls>,
    folder: String,
    opening: u64,
}

impl Drop for Polled {
    fn drop(&mut self) {
        let databases = &mut self.polls.open.lock().databases;
        let database = databases.get(&self.folder);
        if database.is_some_and(|database| database.opening == self.opening) {
            databases.remove(&self.folder);
        }
    }
}

/// An object that is being written. The write has failed if this is dropped before [`Self::written`].
#[derive(Debug)]
pub(super) struct WriteUnderWay<'p> {
    polls: &'p Polls,
    object: &'p Sealed,
    /// `None` if the database was not open when the write began.
    opening: Option<u64>,
    is_written: bool,
}

impl WriteUnderWay<'_> {
    /// Notes that the object was written.
    pub(super) fn written(mut self) {
        self.is_written = true;
    }
}

impl Drop for WriteUnderWay<'_> {
    fn drop(&mut self) {
        let found = self.polls.clock.boot();
        let (number, is_written) = (self.object.number, self.is_written);
        self.polls.with(self.object, |database, kind| {
            if Some(database.opening) != self.opening {
                return;
            }
            let newest = database.newest(kind);
            newest.writing -= 1;
            if !is_written {
                newest.doubtful = newest.doubtful.max(number);
                newest.known = None;
            } else if number >= newest.doubtful {
                let before = newest.known.map_or(0, |known| known.newest);
                newest.known = Some(Known {
                    newest: before.max(number),
                    found: Some(found),
                });
            }
        });
    }
}

/// The store of all databases: notes what this process writes.
#[derive(Debug)]
pub(super) struct OwnWrites {
    store: Arc<dyn ObjectStore>,
    polls: Arc<Polls>,
}

impl OwnWrites {
    pub(super) fn new(store: Arc<dyn ObjectStore>, polls: Arc<Polls>) -> Self {
        Self { store, polls }
    }
}

#[async_trait]
impl Layer for OwnWrites {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        let Put { payload, options } = put;
        let object = Sealed::parse(location);
        let writing = object.as_ref().map(|object| self.polls.begin_write(object));
        let put = self.store.put_opts(location, payload, options).await?;
        if let Some(writing) = writing {
            writing.written();
        }
        Ok(put)
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if location.extension() == Some("boundary") {
            return Err(missing(location));
        }
        self.store.get_opts(location, options).await
    }
}

fn missing(location: &Path) -> Error {
    Error::NotFound {
        path: location.to_string(),
        source: "this process has not written it".into(),
    }
}

/// The store of an open database, or of its compactor.
#[derive(Debug)]
pub(super) struct PolledStore {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) polls: Arc<Polls>,
    /// How old the last look at the store may be when a look for a manifest is answered without it.
    pub(super) manifest_age: Duration,
    /// The same for a state of compactions.
    pub(super) compactions_age: Duration,
}

#[async_trait]
impl Layer for PolledStore {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(object) = Sealed::parse(location) else {
            return self.store.get_opts(location, options).await;
        };
        let age = match object.kind {
            Kind::Manifest => self.manifest_age,
            Kind::Compactions => self.compactions_age,
        };
        if self.polls.is_missing(&object, age) {
            return Err(missing(location));
        }
        let found = self.store.get_opts(location, options).await;
        match &found {
            Ok(_) => self.polls.note_look(&object, true),
            Err(Error::NotFound { .. }) => self.polls.note_look(&object, false),
            Err(_) => {}
        }
        found
    }

    /// A listed object must be found, whatever process has written it.
    fn list(&self, prefix: Option<&Path>, after: Option<&Path>) -> Listing {
        if let Some((folder, kind)) = prefix.and_then(|prefix| Kind::of_folder(prefix.as_ref())) {
            self.polls.expire(folder, kind);
        }
        match after {
            None => self.store.list(prefix),
            Some(after) => self.store.list_with_offset(prefix, after),
        }
    }
}

#[cfg(test)]
mod tests;
