//! Checks that an object store does what a server needs of it, before the server trusts it with data.
//!
//! A store that ignores the condition of a put-if-absent looks healthy until two servers write the same object. Some
//! stores that speak S3 do so. The probe makes two creates race, and refuses the store unless exactly one of them wins.
//! Partita makes no other conditional request: nothing is ever overwritten on a condition.

use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt as _;
use futures::future::join;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
};

use crate::Clock;

/// The folder of the probes. Each has an object of its own, which it deletes.
const FOLDER: &str = "probe";

/// The contents of the racing objects, of the same length.
const CONTENTS: [&str; 3] = ["first ", "second", "third "];

/// What a probe has found out about a fit store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// How far the clock of this machine is ahead of the store's, in seconds; negative if it is behind. The store's
    /// times have whole seconds.
    pub clock_ahead_seconds: i64,
}

/// Why a store cannot be used by a server.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The store does not do what a server needs. Data in it could be lost.
    #[error("the store is not fit for a server: {0}")]
    Unfit(&'static str),
    /// A request failed.
    #[error("the store failed")]
    Store(#[from] Error),
}

/// The outcome of a put-if-absent.
enum Put {
    Created,
    Exists,
    Failed(Error),
}

/// Probes a store with a few small requests.
///
/// # Errors
/// [`ProbeError`].
pub async fn probe(store: &dyn ObjectStore, clock: &dyn Clock) -> Result<Probed, ProbeError> {
    let name = format!("{FOLDER}/{:016x}", crate::random::u64());
    let path = Path::from(name);
    let probed = probe_with(store, clock, &path).await;
    if probed.is_err() {
        // The error is more important than a small object that stays.
        let _ = store.delete(&path).await;
    }
    probed
}

async fn probe_with(
    store: &dyn ObjectStore,
    clock: &dyn Clock,
    path: &Path,
) -> Result<Probed, ProbeError> {
    let [first, second, third] = CONTENTS;
    let winner = match join(create(store, path, first), create(store, path, second)).await {
        (Put::Created, Put::Created) => {
            return Err(ProbeError::Unfit(
                "of two creates of one object both succeeded, so it ignores the condition `If-None-Match: *`",
            ));
        }
        (Put::Created, _) => Some(first),
        (_, Put::Created) => Some(second),
        // The answer of the winner was lost.
        (Put::Exists, _) | (_, Put::Exists) => None,
        (Put::Failed(error), Put::Failed(_)) => return Err(error.into()),
    };
    let created = store.get(path).await?.bytes().await?;
    let is_one = created == first || created == second;
    if !is_one || winner.is_some_and(|winner| created != winner) {
        return Err(ProbeError::Unfit(
            "an object does not have the content of the create that succeeded",
        ));
    }
    match create(store, path, third).await {
        Put::Exists => {}
        Put::Created => {
            return Err(ProbeError::Unfit(
                "a create of an object that exists succeeded, so it ignores the condition `If-None-Match: *`",
            ));
        }
        Put::Failed(error) => return Err(error.into()),
    }
    if store.get(path).await?.bytes().await? != created {
        return Err(ProbeError::Unfit("a refused create changed the object"));
    }
    if part(store, path).await? != created.slice(1..4) {
        return Err(ProbeError::Unfit("it ignores the range of a GET"));
    }
    let modified = listed(store, path).await?.ok_or(ProbeError::Unfit(
        "a list does not show an object that was put before",
    ))?;
    let clock_ahead_seconds = seconds(clock.now()) - seconds(modified);
    store.delete(path).await?;
    if listed(store, path).await?.is_some() {
        return Err(ProbeError::Unfit(
            "a list shows an object that was deleted before",
        ));
    }
    match store.get(path).await {
        Err(Error::NotFound { .. }) => Ok(Probed {
            clock_ahead_seconds,
        }),
        Err(error) => Err(error.into()),
        Ok(_) => Err(ProbeError::Unfit(
            "a GET returns an object that was deleted before",
        )),
    }
}

async fn create(store: &dyn ObjectStore, path: &Path, content: &'static str) -> Put {
    let options = PutOptions::from(PutMode::Create);
    match store.put_opts(path, content.into(), options).await {
        Ok(_) => Put::Created,
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Put::Exists,
        Err(error) => Put::Failed(error),
    }
}

async fn part(store: &dyn ObjectStore, path: &Path) -> Result<Bytes, Error> {
    let options = GetOptions {
        range: Some(GetRange::Bounded(1..4)),
        ..GetOptions::default()
    };
    store.get_opts(path, options).await?.bytes().await
}

/// When the object was put, by the store's clock; `None` if a list does not show it.
async fn listed(store: &dyn ObjectStore, path: &Path) -> Result<Option<SystemTime>, Error> {
    let mut objects = store.list(Some(&Path::from(FOLDER)));
    while let Some(object) = objects.try_next().await? {
        if object.location == *path {
            return Ok(Some(object.last_modified.into()));
        }
    }
    Ok(None)
}

fn seconds(time: SystemTime) -> i64 {
    let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since_1970.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;
    use futures::StreamExt as _;
    use object_store::memory::InMemory;
    use object_store::{GetResult, PutResult, Result};

    use super::*;
    use crate::store_layer::{self, Layer, Layered, Listing, Paths};
    use crate::{ShiftedClock, SystemClock};

    /// What a store does wrong.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Fault {
        IgnoresPutIfAbsent,
        IgnoresItWhenObjectExists,
        LosersOverwrite,
        IgnoresRanges,
        ListsNothing,
        LosesDeletes,
    }

    #[derive(Debug)]
    struct Faulty {
        below: InMemory,
        fault: Fault,
    }

    #[async_trait]
    impl Layer for Faulty {
        fn below(&self) -> &dyn ObjectStore {
            &self.below
        }

        async fn put(&self, location: &Path, put: store_layer::Put) -> Result<PutResult> {
            let store_layer::Put {
                payload,
                mut options,
            } = put;
            let is_third = payload.iter().any(|bytes| bytes == CONTENTS[2]);
            let ignores = match self.fault {
                Fault::IgnoresPutIfAbsent => true,
                Fault::IgnoresItWhenObjectExists => is_third,
                _ => false,
            };
            if ignores {
                options.mode = PutMode::Overwrite;
            }
            let put = self.below.put_opts(location, payload.clone(), options);
            let put = put.await;
            if put.is_err() && self.fault == Fault::LosersOverwrite {
                self.below.put(location, payload).await?;
            }
            put
        }

        async fn get(&self, location: &Path, mut options: GetOptions) -> Result<GetResult> {
            if self.fault == Fault::IgnoresRanges {
                options.range = None;
            }
            self.below.get_opts(location, options).await
        }

        fn list(&self, prefix: Option<&Path>, _after: Option<&Path>) -> Listing {
            match self.fault {
                Fault::ListsNothing => futures::stream::empty().boxed(),
                _ => self.below.list(prefix),
            }
        }

        fn delete(&self, locations: Paths) -> Paths {
            match self.fault {
                Fault::LosesDeletes => locations,
                _ => self.below.delete_stream(locations),
            }
        }
    }

    #[tokio::test]
    async fn a_fit_store_is_accepted_and_left_empty() {
        let directory = tempfile::tempdir().unwrap();
        let shared = crate::Place::Directory(directory.path().to_owned());
        for store in [
            shared.store().unwrap(),
            std::sync::Arc::new(InMemory::new()),
        ] {
            let probed = probe(&*store, &SystemClock).await.unwrap();
            assert!(probed.clock_ahead_seconds.abs() <= 1, "{probed:?}");
            assert_eq!(store.list(None).count().await, 0);
        }
    }

    #[tokio::test]
    async fn a_clock_that_differs_is_found() {
        let ahead = ShiftedClock::ahead(Duration::from_secs(3_600));
        let probed = probe(&InMemory::new(), &ahead).await.unwrap();
        assert!((3_599..=3_601).contains(&probed.clock_ahead_seconds));
    }

    #[tokio::test]
    async fn a_store_that_is_not_fit_is_refused_with_the_reason() {
        for (fault, reason) in [
            (Fault::IgnoresPutIfAbsent, "both succeeded"),
            (Fault::IgnoresItWhenObjectExists, "that exists succeeded"),
            (Fault::LosersOverwrite, "content of the create"),
            (Fault::IgnoresRanges, "the range of a GET"),
            (Fault::ListsNothing, "does not show an object"),
            (Fault::LosesDeletes, "shows an object that was deleted"),
        ] {
            let store = Layered(Faulty {
                below: InMemory::new(),
                fault,
            });
            let refused = probe(&store, &SystemClock).await.unwrap_err();
            assert!(matches!(refused, ProbeError::Unfit(_)), "{fault:?}");
            assert!(refused.to_string().contains(reason), "{refused}");
        }
    }
}
