//! An object store in memory that is slow, fails, and answers wrongly, as its random numbers say.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, ObjectStore, PutResult, Result};
use parking_lot::Mutex;
use partita_rt::store_layer::{Layer, Layered, Listing, Paths, Put};

use crate::AppendFault;

/// How often faults happen, of a hundred requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    /// Each request takes up to this time before its effect, and again after it.
    pub(super) delay_max: Duration,
    /// The request fails and has no effect.
    pub(super) error_before: u32,
    /// The request has its effect, and then fails.
    pub(super) error_after: u32,
    /// A PUT fails and has its effect later.
    pub(super) late: u32,
    /// A PUT has its effect a second time, later.
    pub(super) twice: u32,
    /// A PUT is never answered.
    pub(super) unanswered: u32,
    /// A PUT that loses is answered with an error of the server.
    pub(super) losers_fail: bool,
    /// A list has one object a page.
    pub(super) pages_of_one: bool,
}

/// The store. Clones share it.
#[derive(Clone)]
pub(super) struct FaultyStore(Arc<Inner>);

struct Inner {
    objects: InMemory,
    random: Mutex<fastrand::Rng>,
    weather: Mutex<Weather>,
    next_fault: Mutex<Option<AppendFault>>,
    /// How many PUTs, GETs, lists and deletions were made.
    requests: Mutex<Requests>,
}

/// Counts of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Requests {
    pub(super) puts: usize,
    pub(super) gets: usize,
    pub(super) lists: usize,
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

impl FaultyStore {
    pub(super) fn new(seed: u64, weather: Weather) -> Self {
        Self(Arc::new(Inner {
            objects: InMemory::new(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            weather: Mutex::new(weather),
            next_fault: Mutex::new(None),
            requests: Mutex::default(),
        }))
    }

    /// A store without faults.
    pub(super) fn calm() -> Self {
        Self::new(0, Weather::default())
    }

    pub(super) fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::new(Layered(self.clone()))
    }

    /// The objects, without faults.
    pub(super) fn objects(&self) -> &InMemory {
        &self.0.objects
    }

    pub(super) fn set_weather(&self, weather: Weather) {
        *self.0.weather.lock() = weather;
    }

    pub(super) fn requests(&self) -> Requests {
        *self.0.requests.lock()
    }

    /// Refuses the next PUT of a group.
    pub(super) fn fail_next_put(&self, fault: AppendFault) {
        *self.0.next_fault.lock() = Some(fault);
    }

    fn weather(&self) -> Weather {
        *self.0.weather.lock()
    }

    fn happens(&self, percent: u32) -> bool {
        percent > 0 && self.0.random.lock().u32(0..100) < percent
    }

    async fn delay(&self, longest: Duration) {
        let micros = longest.as_micros() as u64;
        if micros > 0 {
            let micros = self.0.random.lock().u64(0..=micros);
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
    }

    /// Delays a request that reads, and perhaps fails it.
    async fn begin(&self) -> Result<()> {
        let weather = self.weather();
        self.delay(weather.delay_max).await;
        if self.happens(weather.error_before) {
            return Err(unavailable());
        }
        Ok(())
    }

    async fn put_now(&self, location: &Path, put: Put) -> Result<PutResult> {
        let Put { payload, options } = put;
        self.0.objects.put_opts(location, payload, options).await
    }

    /// Puts the object again after a while.
    fn put_later(&self, location: &Path, put: Put) {
        let (store, location) = (self.clone(), location.clone());
        let delay = 8 * self.weather().delay_max;
        tokio::runtime::Handle::current().spawn(async move {
            store.delay(delay).await;
            let _ = store.put_now(&location, put).await;
        });
    }
}

fn unavailable() -> Error {
    Error::Generic {
        store: "faulty",
        source: "503".into(),
    }
}

fn refused(location: &Path) -> Error {
    Error::PermissionDenied {
        path: location.to_string(),
        source: "403".into(),
    }
}

#[async_trait]
impl Layer for FaultyStore {
    fn below(&self) -> &dyn ObjectStore {
        &self.0.objects
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.requests.lock().gets += 1;
        self.begin().await?;
        self.0.objects.get_opts(location, options).await
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        self.0.requests.lock().puts += 1;
        let fault = self.0.next_fault.lock().take();
        if let Some(fault) = fault {
            if fault == AppendFault::Durable {
                self.put_now(location, put).await?;
            }
            return Err(refused(location));
        }
        let weather = self.weather();
        self.begin().await?;
        if self.happens(weather.late) {
            self.put_later(location, put);
            return Err(unavailable());
        }
        if self.happens(weather.twice) {
            self.put_later(location, put.clone());
        }
        let result = self.put_now(location, put).await;
        self.delay(weather.delay_max).await;
        if self.happens(weather.unanswered) {
            std::future::pending::<()>().await;
        }
        let fails = self.happens(weather.error_after) || (weather.losers_fail && result.is_err());
        if fails { Err(unavailable()) } else { result }
    }

    fn delete(&self, locations: Paths) -> Paths {
        let store = self.clone();
        let delayed = locations.then(move |location| {
            let store = store.clone();
            async move {
                store.delay(store.weather().delay_max).await;
                location
            }
        });
        self.0.objects.delete_stream(delayed.boxed())
    }

    fn list(&self, prefix: Option<&Path>, after: Option<&Path>) -> Listing {
        self.0.requests.lock().lists += 1;
        let (store, prefix) = (self.clone(), prefix.cloned());
        let pages = stream::unfold(Some(after.cloned()), move |after| {
            let (store, prefix) = (store.clone(), prefix.clone());
            async move {
                let after = after?;
                // Clients repeat the request of a single page, so only the first one fails.
                if after.is_some() {
                    store.delay(store.weather().delay_max).await;
                } else if let Err(error) = store.begin().await {
                    return Some((stream::iter(vec![Err(error)]), None));
                }
                let prefix = prefix.as_ref();
                let listing = match &after {
                    None => store.0.objects.list(prefix),
                    Some(after) => store.0.objects.list_with_offset(prefix, after),
                };
                let all: Vec<_> = listing.collect().await;
                if !store.weather().pages_of_one {
                    return Some((stream::iter(all), None));
                }
                let first = all.into_iter().next()?;
                let next = first.as_ref().ok().map(|it| Some(it.location.clone()));
                Some((stream::iter(vec![first]), next))
            }
        });
        pages.flatten().boxed()
    }
}
