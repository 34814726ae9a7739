//! Deletes logs of processes that are gone.
//!
//! A sealed log is *collected* once the databases have flushed all its records. First an object says so, then the groups
//! are deleted: a reader that misses a group finds that object. The seals stay for [`SEAL_AGE`], so that a PUT of the
//! dead writer, or a writer that was only paused, meets its seal. After that everything is deleted, the object that says
//! "collected" last.

use std::time::{Duration, SystemTime};

use super::fault;
use super::life::Life;
use super::listing::Listing;
use super::object::{self, Header, Kind};
use super::requests::Requests;
use super::sealer;
use crate::OpenWalError;

/// How long the seals of a collected log are kept: longer than any process or request is paused.
const SEAL_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Collects a log. All its records must be in the files of the databases, and it must be sealed.
pub(super) async fn collect(requests: &Requests, life: Life) -> Result<(), OpenWalError> {
    let path = life.collected_path();
    let header = Header {
        kind: Kind::Seal,
        life,
        number: u64::MAX,
        nonce: partita_rt::random::u64(),
        floor: 0,
        created_below: 0,
        parts: 0,
    };
    let object = object::encode_seal(&header, "collected");
    let created = requests.create(&path, object.into(), header.nonce).await;
    created.map_err(|error| error.into_open_error(&path))?;
    let listing = sealer::list(requests, life).await?;
    let groups = listing.groups().map(|number| life.path(number)).collect();
    requests.delete(groups).await.map_err(fault::store_failed)?;
    tracing::info!(%life, "collected a log");
    Ok(())
}

/// Whether a collected log is so old that its seals are not needed.
pub(super) fn is_expired(listing: &Listing, now: SystemTime) -> bool {
    let age = listing.newest.map(|newest| now.duration_since(newest));
    listing.is_collected && age.is_some_and(|age| age.is_ok_and(|age| age >= SEAL_AGE))
}

/// Deletes everything of a collected log.
pub(super) async fn expire(requests: &Requests, life: Life) -> Result<(), OpenWalError> {
    let listing = sealer::list(requests, life).await?;
    let objects = listing.seals().chain(listing.groups());
    let objects = objects.map(|number| life.path(number)).collect();
    requests
        .delete(objects)
        .await
        .map_err(fault::store_failed)?;
    let last = vec![life.collected_path()];
    requests.delete(last).await.map_err(fault::store_failed)
}
