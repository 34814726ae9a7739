//! The trash: removed databases keep their files for a while.
//!
//! A removal moves the files of a database to the folder `trash/<seconds>-range-<id>/`, where `<seconds>` is the Unix
//! time of the removal. Maintenance deletes them after [`AGE_MAX`], or after [`super::Settings::garbage_age`] if that
//! is shorter. Until then an operator can move the folder back: a removed clone keeps its checkpoints on its sources,
//! so its files stay complete. `docs/format/store.md` describes the folder.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use slatedb::object_store::path::Path;
use slatedb::object_store::{self, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::core::Core;
use super::names::{DATABASE_PREFIX, database_path};
use super::{admin, store_error};
use crate::{ChangeError, RangeId};

/// The folder of removed databases.
const TRASH: &str = "trash";

/// How long a removed database is kept at most. A database replaced by a split or merge is removed up to six minutes
/// after that change, and its space must be free within ten minutes of the change.
const AGE_MAX: Duration = Duration::from_secs(180);

/// A removed database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    folder: String,
    pub(super) range: RangeId,
    /// When the database was removed, in seconds since 1970.
    removed_at: i64,
}

/// Moves the files of a database to the trash. An interrupted move resumes with the next call.
pub(super) async fn move_database(core: &Core, range: RangeId) -> Result<(), ChangeError> {
    let (home, from) = (&core.context.home, database_path(range));
    let files = files(&home.store, &from).await?;
    if files.is_empty() {
        return Ok(());
    }
    let seconds = admin::clock(core).now().timestamp();
    let to = format!("{TRASH}/{seconds}-{from}");
    let is_renamed = home.rename_folder(from.clone(), to.clone()).await;
    if !is_renamed.map_err(store_error)? {
        move_files(&home.store, &files, &from, &to).await?;
    }
    let (bytes, files) = (bytes(&files), files.len());
    tracing::info!(%range, bytes, files, folder = to, "moved a removed database to the trash");
    Ok(())
}

/// Moves files one by one, for stores that cannot rename a folder.
async fn move_files(
    store: &Arc<dyn ObjectStore>,
    files: &[ObjectMeta],
    from: &str,
    to: &str,
) -> Result<(), ChangeError> {
    let from = Path::from(from);
    for file in files {
        let Some(parts) = file.location.prefix_match(&from) else {
            continue;
        };
        let moved = parts.fold(Path::from(to), |path, part| path.join(part));
        match store.rename(&file.location, &moved).await {
            // NotFound: garbage collection has deleted the file.
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(store_error(error)),
        }
    }
    Ok(())
}

/// Deletes the databases that have been in the trash long enough. If one cannot be deleted, the others still are.
pub(super) async fn sweep(core: &Core) -> Result<(), ChangeError> {
    let context = &core.context;
    let now = admin::clock(core).now().timestamp();
    let age = context.settings.garbage_age.min(AGE_MAX).as_secs();
    let age = i64::try_from(age).unwrap_or(i64::MAX);
    let mut result = Ok(());
    for entry in entries(&context.home.store).await? {
        if now.saturating_sub(entry.removed_at) >= age {
            result = result.and(delete(core, &entry).await);
        }
    }
    result
}

/// Deletes a removed database, and, if its manifest is readable, the checkpoints that it holds on its sources. An
/// interrupted deletion resumes with the next call.
async fn delete(core: &Core, entry: &Entry) -> Result<(), ChangeError> {
    let context = &core.context;
    let (store, folder) = (&context.home.store, &entry.folder);
    let files = files(store, folder).await?;
    let (bytes, count) = (bytes(&files), files.len());
    let admin = admin::admin_of(store, &admin::clock(core), folder);
    match admin.read_manifest(None).await {
        Ok(Some(_)) => {
            admin.delete_db(true).await.map_err(store_error)?;
        }
        Ok(None) => delete_files(store, files).await?,
        Err(error) => {
            tracing::warn!(%error, folder, "deleting a removed database whose manifest cannot be read");
            delete_files(store, files).await?;
        }
    }
    let emptied = context.home.remove_empty_folders(folder.clone()).await;
    emptied.map_err(store_error)?;
    let range = entry.range;
    tracing::info!(%range, bytes, files = count, folder, "deleted a removed database from the trash");
    Ok(())
}

async fn delete_files(
    store: &Arc<dyn ObjectStore>,
    files: Vec<ObjectMeta>,
) -> Result<(), ChangeError> {
    let locations = files.into_iter().map(|file| Ok(file.location));
    let deleting = store.delete_stream(futures::stream::iter(locations).boxed());
    deleting
        .try_for_each(async |_| Ok(()))
        .await
        .map_err(store_error)
}

/// The databases in the trash.
pub(super) async fn entries(store: &Arc<dyn ObjectStore>) -> Result<Vec<Entry>, ChangeError> {
    let listed = store.list_with_delimiter(Some(&Path::from(TRASH))).await;
    let folders = listed.map_err(store_error)?.common_prefixes;
    Ok(folders.iter().filter_map(entry).collect())
}

/// Parses `trash/<seconds>-range-<id>`.
fn entry(path: &Path) -> Option<Entry> {
    let (seconds, database) = path.filename()?.split_once('-')?;
    Some(Entry {
        folder: path.as_ref().to_owned(),
        range: RangeId(database.strip_prefix(DATABASE_PREFIX)?.parse().ok()?),
        removed_at: seconds.parse().ok()?,
    })
}

async fn files(store: &Arc<dyn ObjectStore>, folder: &str) -> Result<Vec<ObjectMeta>, ChangeError> {
    let listed = store.list(Some(&Path::from(folder)));
    listed.try_collect().await.map_err(store_error)
}

fn bytes(files: &[ObjectMeta]) -> u64 {
    files.iter().map(|file| file.size).sum()
}
