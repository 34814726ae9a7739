//! The identity of an object store, in the object `partita.json`. It is put once, by the first server.
//!
//! A store has a random id. The record also says whether its log is in the same store: a server that looks for the log
//! in the wrong place would find none, and start without the newest writes. A separate store of the log has a record
//! with the same id, `partita-log.json`.

use futures::StreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions};
use partita_rt::{place, random};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The record of the store of the files.
const RECORD: &str = "partita.json";
/// The record of a separate store of the log.
const LOG_RECORD: &str = "partita-log.json";
/// The folder of the log.
const LOG_FOLDER: &str = "log";
/// The format version that this binary writes and reads.
const FORMAT: u32 = 1;

/// Why a store is not the expected one.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The record has another format.
    #[error("{0} has format {1}, but this version of partita reads format {FORMAT}")]
    UnknownFormat(&'static str, u32),
    /// The record cannot be read.
    #[error("{0} is damaged")]
    Damaged(&'static str, #[source] serde_json::Error),
    /// The record is missing, although it was just put.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The log of the store is elsewhere, and no setting says where.
    #[error("its log is in another store: add the --log-store that it was created with")]
    LogElsewhere,
    /// The log of the store is in the store itself.
    #[error("its log is in the store itself: remove --log-store")]
    LogHere,
    /// The log belongs to another store.
    #[error("--log-store has the log of another store")]
    OtherLog,
    /// A request failed.
    #[error("the store failed")]
    Store(#[from] object_store::Error),
}

/// Where the log of a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LogPlace {
    Here,
    Elsewhere,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    format: u32,
    id: String,
    log: LogPlace,
}

#[derive(Debug, Serialize, Deserialize)]
struct LogRecord {
    format: u32,
    id: String,
}

/// The id of the store `files`, whose log is in `log` or, without one, in the store itself. Gives an id to a new store.
pub(super) async fn identify(
    files: &dyn ObjectStore,
    log: Option<&dyn ObjectStore>,
) -> Result<String, IdentityError> {
    let found = read::<Record>(files, RECORD).await?;
    let record = match found {
        Some(record) => record,
        None => create(files, log).await?,
    };
    check_format(RECORD, record.format)?;
    match (record.log, log) {
        (LogPlace::Here, None) => Ok(record.id),
        (LogPlace::Here, Some(_)) => Err(IdentityError::LogHere),
        (LogPlace::Elsewhere, None) => Err(IdentityError::LogElsewhere),
        (LogPlace::Elsewhere, Some(log)) => {
            let of_log = read::<LogRecord>(log, LOG_RECORD).await?;
            let of_log = of_log.ok_or(IdentityError::OtherLog)?;
            check_format(LOG_RECORD, of_log.format)?;
            match of_log.id == record.id {
                true => Ok(record.id),
                false => Err(IdentityError::OtherLog),
            }
        }
    }
}

/// Whether the store has no identity, and so no data.
pub(super) async fn is_new(files: &dyn ObjectStore) -> Result<bool, IdentityError> {
    Ok(place::read(files, RECORD).await?.is_none())
}

/// Creates the record of a new store, or reads the one that another server has created meanwhile.
async fn create(
    files: &dyn ObjectStore,
    log: Option<&dyn ObjectStore>,
) -> Result<Record, IdentityError> {
    let new = format!("{:016x}{:016x}", random::u64(), random::u64());
    let record = |id, log| Record {
        format: FORMAT,
        id,
        log,
    };
    let record = match log {
        None => record(new, LogPlace::Here),
        Some(log) => {
            // First the log: a server that was killed between the two continues with its id.
            let of_log = LogRecord {
                format: FORMAT,
                id: new.clone(),
            };
            let of_log = put_or_read(log, LOG_RECORD, &of_log).await?;
            let mut objects = log.list(Some(&Path::from(LOG_FOLDER)));
            if of_log.id != new && objects.next().await.is_some() {
                return Err(IdentityError::OtherLog);
            }
            record(of_log.id, LogPlace::Elsewhere)
        }
    };
    put_or_read(files, RECORD, &record).await
}

async fn read<T: DeserializeOwned>(
    store: &dyn ObjectStore,
    name: &'static str,
) -> Result<Option<T>, IdentityError> {
    let Some(bytes) = place::read(store, name).await? else {
        return Ok(None);
    };
    let record = serde_json::from_slice(&bytes);
    record
        .map(Some)
        .map_err(|error| IdentityError::Damaged(name, error))
}

/// Puts a record unless there is one, and returns the one that is there.
async fn put_or_read<T: Serialize + DeserializeOwned>(
    store: &dyn ObjectStore,
    name: &'static str,
    record: &T,
) -> Result<T, IdentityError> {
    let bytes = serde_json::to_vec(record).expect("a record is serializable");
    let options = PutOptions::from(PutMode::Create);
    match store
        .put_opts(&Path::from(name), bytes.into(), options)
        .await
    {
        Ok(_) => {}
        Err(
            object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. },
        ) => {}
        Err(error) => return Err(error.into()),
    }
    read(store, name).await?.ok_or(IdentityError::Missing(name))
}

fn check_format(name: &'static str, format: u32) -> Result<(), IdentityError> {
    match format {
        FORMAT => Ok(()),
        other => Err(IdentityError::UnknownFormat(name, other)),
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt as _;
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn a_store_keeps_its_id() {
        let (one, other) = (InMemory::new(), InMemory::new());
        let id = identify(&one, None).await.unwrap();
        assert_eq!(id.len(), 32);
        assert_eq!(identify(&one, None).await.unwrap(), id);
        assert_ne!(identify(&other, None).await.unwrap(), id);
        let log = InMemory::new();
        let refused = identify(&one, Some(&log)).await.unwrap_err();
        assert!(matches!(refused, IdentityError::LogHere), "{refused}");
    }

    #[tokio::test]
    async fn a_store_is_opened_with_its_own_log_only() {
        let (files, log) = (InMemory::new(), InMemory::new());
        let id = identify(&files, Some(&log)).await.unwrap();
        assert_eq!(identify(&files, Some(&log)).await.unwrap(), id);
        let refused = identify(&files, None).await.unwrap_err();
        assert!(matches!(refused, IdentityError::LogElsewhere), "{refused}");
        let refused = identify(&files, Some(&InMemory::new())).await.unwrap_err();
        assert!(matches!(refused, IdentityError::OtherLog), "{refused}");
        log.put(&Path::from("log/1/0"), "x".into()).await.unwrap();
        let refused = identify(&InMemory::new(), Some(&log)).await.unwrap_err();
        assert!(matches!(refused, IdentityError::OtherLog), "{refused}");
    }

    /// A server that is killed between the two records is continued by the next one.
    #[tokio::test]
    async fn a_half_created_store_is_completed() {
        let (files, log) = (InMemory::new(), InMemory::new());
        identify(&files, Some(&log)).await.unwrap();
        files.delete(&Path::from(RECORD)).await.unwrap();
        let id = identify(&files, Some(&log)).await.unwrap();
        let of_log = read::<LogRecord>(&log, LOG_RECORD).await.unwrap().unwrap();
        assert_eq!(of_log.id, id);
    }

    #[tokio::test]
    async fn a_record_of_a_later_version_is_refused() {
        let store = InMemory::new();
        let record = r#"{"format":2,"id":"x","log":"here"}"#;
        store.put(&Path::from(RECORD), record.into()).await.unwrap();
        let refused = identify(&store, None).await.unwrap_err();
        assert!(refused.to_string().contains("format 2"), "{refused}");
    }
}
