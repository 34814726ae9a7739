//! Requests to the object store: each with a deadline, and repeated until its outcome is known.
//!
//! A request that changes nothing is repeated after every error that may be temporary. A put-if-absent is ambiguous
//! after an error: the object may have been created, now or later. So the object is read, and unless it is there, the
//! same bytes are put again under the same name. The nonce in its header tells whose object it is.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, PutMode, PutOptions, PutPayload,
};
use tokio::time::{Instant, sleep, timeout};

use super::object::{Fault, HEADER_BYTES, Header};
use super::planted::{Rule, keeps};
use super::{Options, fault};
use crate::OpenWalError;

/// The first pause before a request is repeated.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
/// The longest pause before a request is repeated.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The slowest connection for which the deadlines leave enough time.
const SLOWEST_BYTES_A_SECOND: u64 = 1 << 20;

/// The maximum number of objects that one deletion names: the limit of S3.
const DELETED_AT_ONCE: usize = 1_000;

/// What an open needs of the store.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) options: Options,
}

/// The outcome of a put-if-absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Created {
    /// The object exists with the own bytes.
    Own,
    /// Another object has the name.
    Other(Header),
}

/// Why the outcome of a put-if-absent is not known.
#[derive(Debug)]
pub(super) enum CreateError {
    /// The store failed for too long, or refused the request. The object may be created even later.
    Store(Error),
    /// An object with this name is damaged.
    Damaged(Fault),
}

/// The pauses of one request, each longer than the one before.
struct Pauses {
    began: Instant,
    next: Duration,
    patience: Duration,
}

impl Pauses {
    fn new(patience: Duration) -> Self {
        Self {
            began: Instant::now(),
            next: PAUSE_FIRST,
            patience,
        }
    }

    /// Waits before the next try; returns the error when the patience is over.
    async fn after(&mut self, error: Error) -> Result<(), Error> {
        if self.began.elapsed() >= self.patience {
            return Err(error);
        }
        tracing::debug!(%error, "repeating a request of the log");
        sleep(self.next).await;
        self.next = PAUSE_MAX.min(self.next * 2);
        Ok(())
    }
}

/// Whether repeating the request cannot help.
fn is_final(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::AlreadyExists { .. }
            | Error::Precondition { .. }
            | Error::NotModified { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::InvalidPath { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::UnknownConfigurationKey { .. }
    )
}

/// Waits for an answer up to the deadline.
async fn within<T>(
    deadline: Duration,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match timeout(deadline, answer).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err(Error::Generic {
            store: "log",
            source: "the request timed out".into(),
        }),
    }
}

impl Requests {
    /// The deadline of a request that moves `bytes` bytes.
    fn deadline(&self, bytes: u64) -> Duration {
        let moving = bytes.saturating_mul(1_000) / SLOWEST_BYTES_A_SECOND;
        self.options.request_timeout + Duration::from_millis(moving)
    }

    /// Makes a request that changes nothing, or can be repeated. Repeats it while the error may be temporary.
    async fn repeat<T, F>(&self, request: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut pauses = Pauses::new(self.options.patience);
        loop {
            let error = match request().await {
                Ok(value) => return Ok(value),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => error,
            };
            pauses.after(error).await?;
        }
    }

    /// Lists the objects below `prefix`, in the order of their paths.
    pub(super) async fn list(&self, prefix: &Path) -> Result<Vec<ObjectMeta>, Error> {
        self.repeat(|| async move {
            let (mut listed, mut objects) = (self.store.list(Some(prefix)), Vec::new());
            // Each page has the deadline of a request.
            while let Some(object) = within(self.deadline(0), listed.try_next()).await? {
                objects.push(object);
            }
            Ok(objects)
        })
        .await
    }

    /// Reads a whole object of about `bytes` bytes; `None` if it is missing.
    pub(super) async fn get(&self, path: &Path, bytes: u64) -> Result<Option<Bytes>, Error> {
        self.get_with(path, bytes, GetOptions::default()).await
    }

    /// Reads the start of an object, which has its header; `None` if it is missing.
    pub(super) async fn get_header(&self, path: &Path) -> Result<Option<Bytes>, Error> {
        let start = GetRange::Bounded(0..HEADER_BYTES as u64);
        let options = GetOptions {
            range: Some(start),
            ..GetOptions::default()
        };
        self.get_with(path, 0, options).await
    }

    async fn get_with(
        &self,
        path: &Path,
        bytes: u64,
        options: GetOptions,
    ) -> Result<Option<Bytes>, Error> {
        let options = &options;
        let read = self.repeat(|| {
            within(self.deadline(bytes), async move {
                let found = self.store.get_opts(path, options.clone()).await?;
                found.bytes().await
            })
        });
        match read.await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates an object whose header has `nonce`, unless an object with its name exists. When dropped, the object may
    /// be created or not.
    pub(super) async fn create(
        &self,
        path: &Path,
        object: PutPayload,
        nonce: u64,
    ) -> Result<Created, CreateError> {
        let mut pauses = Pauses::new(self.options.patience);
        loop {
            let error = match self.put_once(path, object.clone()).await {
                Ok(()) => return Ok(Created::Own),
                Err(_) if !keeps(Rule::DurableBeforeAcknowledged) => return Ok(Created::Own),
                Err(error) => error,
            };
            let exists = matches!(
                error,
                Error::AlreadyExists { .. } | Error::Precondition { .. }
            );
            if exists && !keeps(Rule::NonceCompared) {
                return Ok(Created::Own);
            }
            if is_final(&error) && !exists {
                return Err(CreateError::Store(error));
            }
            // The object may exist although the store answered with an error: of an earlier try, or of another
            // process. It may also be missing although the store answered that it exists, while another PUT runs.
            let found = self.get_header(path).await.map_err(CreateError::Store)?;
            if let Some(found) = found {
                let found = Header::decode(&found).map_err(CreateError::Damaged)?;
                return Ok(if found.nonce == nonce {
                    Created::Own
                } else {
                    Created::Other(found)
                });
            }
            pauses.after(error).await.map_err(CreateError::Store)?;
        }
    }

    async fn put_once(&self, path: &Path, object: PutPayload) -> Result<(), Error> {
        let mode = if keeps(Rule::PutIfAbsent) {
            PutMode::Create
        } else {
            PutMode::Overwrite
        };
        let deadline = self.deadline(object.content_length() as u64);
        let put = self.store.put_opts(path, object, PutOptions::from(mode));
        within(deadline, put).await.map(drop)
    }

    /// Deletes objects, in their order. Missing objects are skipped.
    pub(super) async fn delete(&self, paths: Vec<Path>) -> Result<(), Error> {
        for paths in paths.chunks(DELETED_AT_ONCE) {
            self.repeat(|| async move {
                let named: BoxStream<'static, _> =
                    stream::iter(paths.to_vec()).map(Ok::<Path, Error>).boxed();
                let mut deleted = self.store.delete_stream(named);
                loop {
                    match within(self.deadline(0), deleted.try_next()).await {
                        Ok(Some(_)) | Err(Error::NotFound { .. }) => {}
                        Ok(None) => return Ok(()),
                        Err(error) => return Err(error),
                    }
                }
            })
            .await?;
        }
        Ok(())
    }
}

impl CreateError {
    /// The error of an open, in which `path` was created.
    pub(super) fn into_open_error(self, path: &Path) -> OpenWalError {
        match self {
            Self::Store(error) => fault::store_failed(error),
            Self::Damaged(fault) => fault::unreadable(path, fault),
        }
    }
}
