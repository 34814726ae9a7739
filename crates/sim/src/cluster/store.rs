//! Failures of the object store, as one server sees it.
//!
//! Requests for the log fail as its client sees them: it repeats them itself. The client of the files repeats a failed
//! request, so a put-if-absent whose first answer was lost finds its own object.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ListResult, ObjectStore, PutResult, Result};
use partita_rt::store_layer::{Layer, Layered, Listing, Paths, Put};

use super::scenario::up_to;
use crate::world::store::SimulatedStore;

/// The folder of the log.
const LOG: &str = "log";

/// The pause before a client of files repeats a request.
const RETRY_PAUSE: Duration = Duration::from_millis(300);

/// How the link of a server to the store fails. It survives the server.
#[derive(Debug)]
pub(super) struct Failures {
    random: Mutex<fastrand::Rng>,
    now: Mutex<Weather>,
}

/// What happens to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weather {
    /// The percentage of requests that fail. Half of those that write are executed.
    pub(super) failing: u32,
    /// Requests take up to this time longer.
    pub(super) slower: Duration,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Served,
    Refused,
    AnswerLost,
}

impl Failures {
    pub(super) fn new(random: fastrand::Rng) -> Self {
        Self {
            random: Mutex::new(random),
            now: Mutex::default(),
        }
    }

    pub(super) fn set(&self, weather: Weather) {
        *lock(&self.now) = weather;
    }

    async fn fate(&self) -> Fate {
        let weather = *lock(&self.now);
        if weather == Weather::default() {
            return Fate::Served;
        }
        let (latency, fate) = {
            let mut random = lock(&self.random);
            let fate = match random.u32(..100) < weather.failing {
                true if random.bool() => Fate::Refused,
                true => Fate::AnswerLost,
                false => Fate::Served,
            };
            (up_to(&mut random, weather.slower), fate)
        };
        tokio::time::sleep(latency).await;
        fate
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(what: &'static str) -> object_store::Error {
    object_store::Error::Generic {
        store: "simulated",
        source: what.into(),
    }
}

/// A store that fails sometimes.
#[derive(Debug)]
pub(super) struct FailingStore {
    pub(super) store: Layered<SimulatedStore>,
    pub(super) failures: std::sync::Arc<Failures>,
}

/// Whether a request is one for the log, whose client does not repeat it.
fn is_log(location: &Path) -> bool {
    location
        .parts()
        .next()
        .is_some_and(|part| part.as_ref() == LOG)
}

#[async_trait]
impl Layer for FailingStore {
    fn below(&self) -> &dyn ObjectStore {
        &self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        loop {
            if self.failures.fate().await == Fate::Served {
                return self.store.get_opts(location, options).await;
            }
            if is_log(location) {
                return Err(failed("a read failed"));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        loop {
            let Put { payload, options } = put.clone();
            match self.failures.fate().await {
                Fate::Served => return self.store.put_opts(location, payload, options).await,
                Fate::Refused => {}
                Fate::AnswerLost => drop(self.store.put_opts(location, payload, options).await),
            }
            if is_log(location) {
                return Err(failed("a write was not answered"));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    fn delete(&self, locations: Paths) -> Paths {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>, after: Option<&Path>) -> Listing {
        match after {
            None => self.store.list(prefix),
            Some(after) => self.store.list_with_offset(prefix, after),
        }
    }

    async fn list_folder(&self, prefix: Option<&Path>) -> Result<ListResult> {
        while self.failures.fate().await != Fate::Served {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        self.store.list_with_delimiter(prefix).await
    }
}
