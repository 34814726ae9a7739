//! The object store of all databases, which detects damaged and missing manifests.
//!
//! A manifest decides which files and which part of the WAL a database reads. SlateDB's manifests have no checksum, and
//! the highest number in the folder is the newest one. So a flipped bit could hide rows, and without the newest
//! manifests an older state would be served. This store adds:
//! - a checksum trailer, the *seal*, at the end of each manifest and each state of compactions: a checksum of the
//!   object's name and bytes, which is verified and removed when the object is read;
//! - a small object for each database, the *witness*: the number of its newest manifest, and the numbers from which on
//!   all manifests and all states of compactions have a seal.
//!
//! SlateDB ignores bytes after a manifest, so earlier versions of the server read sealed manifests. Manifests of earlier
//! versions have no seal and are read.
//!
//! The witness is written after the manifest. After a kill between the two it is one manifest behind. So its number is
//! a lower bound. `docs/format/store.md` describes the bytes.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Buf, Bytes};
use futures::StreamExt;
use futures::stream;
use parking_lot::Mutex;
use partita_rt::store_layer::{Layer, Put};
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    Error, GetOptions, GetResult, GetResultPayload, ObjectStore, ObjectStoreExt, PutPayload,
    PutResult, Result,
};
use slatedb_common::retry::NonRetryable;

use super::checked_store::Unreadable;
use super::damage::path_in_directory;
use super::names::DATABASE_PREFIX;

/// The last bytes of a seal, which mark that an object has one. The checksum of four bytes precedes them.
const SEAL: [u8; 8] = *b"PARTSEAL";

/// The name of the witness in the folder of its database.
pub(super) const WITNESS: &str = "newest-manifest";

const WITNESS_MAGIC: [u8; 8] = *b"PARTWITN";
const WITNESS_VERSION: u32 = 1;

/// How many witnesses are kept in memory.
const WITNESSES_MAX: usize = 1024;

/// The store of all databases.
#[derive(Debug)]
pub(super) struct ManifestStore {
    store: Arc<dyn ObjectStore>,
    /// The witnesses of the databases that this process writes, by the folder of the database.
    witnesses: Mutex<HashMap<String, Pending>>,
}

/// The content of a witness: which manifests a database must have, and which must have a seal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Witness {
    /// The newest manifest has at least this number.
    pub(super) newest: u64,
    /// From this number on, manifests have a seal; 0 if there is none yet.
    sealed_manifests: u64,
    /// From this number on, states of compactions have a seal; 0 if there is none yet.
    sealed_compactions: u64,
}

/// The witness of a database in memory, while it is written to the store.
#[derive(Debug, Default)]
struct Pending {
    wanted: Witness,
    /// Whether the stored witness was read and merged into `wanted`.
    is_loaded: bool,
    /// Whether a call is writing it. Other calls only change `wanted`; that call writes their changes too.
    is_writing: bool,
}

/// An object that gets a seal: a manifest or a state of compactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    /// The folder of the database.
    pub(super) folder: String,
    pub(super) kind: Kind,
    pub(super) number: u64,
}

/// What has a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A manifest.
    Manifest,
    /// A state of compactions.
    Compactions,
}

impl Sealed {
    /// Parses `…range-N/manifest/00000000000000000042.manifest` and the same for compactions.
    pub(super) fn parse(path: &Path) -> Option<Self> {
        let (folder, file) = path.as_ref().rsplit_once('/')?;
        let (folder, kind) = Kind::of_folder(folder)?;
        let (number, suffix) = file.split_once('.')?;
        let is_known = suffix == kind.name() && folder.contains(DATABASE_PREFIX);
        let number = number.parse().ok()?;
        is_known.then(|| Self {
            folder: folder.to_owned(),
            kind,
            number,
        })
    }

    /// The checksum of the object with this content. It covers the database, kind and number, so that exchanged objects
    /// are found. It does not cover the folder of the trash, because a database may be moved there.
    fn checksum<'b>(&self, content: impl Iterator<Item = &'b [u8]>) -> [u8; 4] {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(database(&self.folder).as_bytes());
        hasher.update(self.kind.name().as_bytes());
        hasher.update(&self.number.to_le_bytes());
        for part in content {
            hasher.update(part);
        }
        hasher.finalize().to_le_bytes()
    }

    fn seal(&self, content: &PutPayload) -> Bytes {
        let checksum = self.checksum(content.iter().map(|part| &**part));
        [&checksum[..], &SEAL[..]].concat().into()
    }

    /// The content without its seal; `None` if it has no seal.
    ///
    /// # Errors
    /// What is wrong with the seal or the content.
    fn open(&self, object: &Bytes) -> std::result::Result<Option<Bytes>, &'static str> {
        let Some(rest) = object.strip_suffix(&SEAL) else {
            return Ok(None);
        };
        let damaged = "its content does not match its checksum";
        let (content, checksum) = rest.split_last_chunk::<4>().ok_or(damaged)?;
        if self.checksum(std::iter::once(content)) != *checksum {
            return Err(damaged);
        }
        Ok(Some(object.slice(..content.len())))
    }
}

/// The name of the database in a folder: the folder, or its last part in the trash.
fn database(folder: &str) -> &str {
    let at = folder.rfind(DATABASE_PREFIX).unwrap_or_default();
    folder.get(at..).unwrap_or_default()
}

impl Kind {
    /// The folder of the database, and what is in `folder` of it.
    pub(super) fn of_folder(folder: &str) -> Option<(&str, Self)> {
        let (database, name) = folder.rsplit_once('/')?;
        let kind = match name {
            "manifest" => Self::Manifest,
            "compactions" => Self::Compactions,
            _ => return None,
        };
        Some((database, kind))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Compactions => "compactions",
        }
    }
}

impl Witness {
    /// The witness of the database in `folder`. The checksum covers the name of the database.
    fn encode(&self, folder: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(40);
        bytes.extend(WITNESS_MAGIC);
        bytes.extend(WITNESS_VERSION.to_le_bytes());
        for number in [self.newest, self.sealed_manifests, self.sealed_compactions] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(Self::checksum(folder, &bytes));
        bytes
    }

    fn checksum(folder: &str, content: &[u8]) -> [u8; 4] {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(database(folder).as_bytes());
        hasher.update(content);
        hasher.finalize().to_le_bytes()
    }

    /// `None` if the bytes are damaged, of another database, or of an unknown version.
    fn decode(folder: &str, bytes: &[u8]) -> Option<Self> {
        let (content, checksum) = bytes.split_last_chunk::<4>()?;
        if Self::checksum(folder, content) != *checksum {
            return None;
        }
        let mut rest = content.strip_prefix(&WITNESS_MAGIC)?;
        if rest.try_get_u32_le().ok()? != WITNESS_VERSION {
            return None;
        }
        let witness = Self {
            newest: rest.try_get_u64_le().ok()?,
            sealed_manifests: rest.try_get_u64_le().ok()?,
            sealed_compactions: rest.try_get_u64_le().ok()?,
        };
        rest.is_empty().then_some(witness)
    }

    fn include(&mut self, object: &Sealed) {
        let first = match object.kind {
            Kind::Manifest => &mut self.sealed_manifests,
            Kind::Compactions => &mut self.sealed_compactions,
        };
        if *first == 0 {
            *first = object.number;
        }
        if object.kind == Kind::Manifest {
            self.newest = self.newest.max(object.number);
        }
    }

    /// Merges in the stored, older witness of the same database.
    fn include_stored(&mut self, stored: Self) {
        let first = |a: u64, b: u64| if b == 0 { a } else { b };
        self.newest = self.newest.max(stored.newest);
        self.sealed_manifests = first(self.sealed_manifests, stored.sealed_manifests);
        self.sealed_compactions = first(self.sealed_compactions, stored.sealed_compactions);
    }

    /// Whether an object must have a seal, so that one without it is damaged.
    fn demands_seal(&self, object: &Sealed) -> bool {
        let first = match object.kind {
            Kind::Manifest => self.sealed_manifests,
            Kind::Compactions => self.sealed_compactions,
        };
        first > 0 && object.number >= first
    }
}

/// The witness of the database in `folder`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundWitness {
    /// The database has no witness: only earlier versions of the server wrote it, or the process was killed before it
    /// wrote the first witness.
    Missing,
    /// The witness is damaged, of another database, or of an unknown version.
    Damaged,
    /// The witness is valid.
    Found(Witness),
}

/// Reads the witness of the database in `folder`.
///
/// # Errors
/// Those of the store.
pub(super) async fn witness(store: &dyn ObjectStore, folder: &str) -> Result<FoundWitness> {
    match store.get(&witness_path(folder)).await {
        Ok(found) => {
            let decoded = Witness::decode(folder, &found.bytes().await?);
            Ok(decoded.map_or(FoundWitness::Damaged, FoundWitness::Found))
        }
        Err(Error::NotFound { .. }) => Ok(FoundWitness::Missing),
        Err(error) => Err(error),
    }
}

fn witness_path(folder: &str) -> Path {
    Path::from(format!("{folder}/{WITNESS}"))
}

/// The path of a manifest of the database in `folder`.
pub(super) fn manifest_path(folder: &str, number: u64) -> Path {
    Path::from(format!("{folder}/manifest/{number:020}.manifest"))
}

/// The error of an object that must not be used.
pub(super) fn unusable(path: &Path, problem: &str) -> Error {
    let unreadable = Unreadable {
        file: path_in_directory(path),
        problem: problem.to_owned(),
    };
    Error::Generic {
        store: "partita",
        source: Box::new(NonRetryable(Box::new(unreadable))),
    }
}

impl ManifestStore {
    pub(super) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            store,
            witnesses: Mutex::default(),
        }
    }

    /// Updates the witness after an object was written. If that fails, the older witness stays, which is a valid lower
    /// bound.
    async fn note(&self, object: &Sealed) {
        let is_needed = {
            let mut witnesses = self.witnesses.lock();
            if witnesses.len() >= WITNESSES_MAX {
                // The others are read from the store again when they are needed.
                witnesses.retain(|_, pending| pending.is_writing);
            }
            let pending = witnesses.entry(object.folder.clone()).or_default();
            let before = pending.wanted;
            pending.wanted.include(object);
            let is_changed = !pending.is_loaded || pending.wanted != before;
            let is_needed = is_changed && !pending.is_writing;
            pending.is_writing |= is_needed;
            is_needed
        };
        if is_needed {
            let mut writing = Writing {
                owner: self,
                folder: &object.folder,
                is_done: false,
            };
            if let Err(error) = writing.run().await {
                let folder = &object.folder;
                tracing::warn!(%error, folder, "cannot write the number of a database's newest manifest");
            }
        }
    }

    /// Verifies an object and removes its seal.
    async fn open(&self, path: &Path, object: &Sealed, content: Bytes) -> Result<Bytes> {
        match object.open(&content) {
            Ok(Some(content)) => return Ok(content),
            Err(problem) => return Err(unusable(path, problem)),
            Ok(None) => {}
        }
        match witness(&*self.store, &object.folder).await? {
            FoundWitness::Found(witness) if witness.demands_seal(object) => Err(unusable(
                path,
                "its checksum is missing: it was truncated or overwritten",
            )),
            _ => Ok(content),
        }
    }
}

/// Writes the witness of a folder until the stored one equals `wanted`. Another call may write it once this one is done
/// or dropped.
struct Writing<'s> {
    owner: &'s ManifestStore,
    folder: &'s str,
    is_done: bool,
}

impl Writing<'_> {
    async fn run(&mut self) -> Result<()> {
        let store = &*self.owner.store;
        if !self.with(|pending| pending.is_loaded) {
            let found = witness(store, self.folder).await?;
            self.with(|pending| {
                if let FoundWitness::Found(stored) = found {
                    pending.wanted.include_stored(stored);
                }
                pending.is_loaded = true;
            });
        }
        let mut written = None;
        // Clears `is_writing` under the same lock under which it finds nothing to write, so that no change is missed.
        while let Some(next) = self.with(|pending| {
            pending.is_writing = written != Some(pending.wanted);
            pending.is_writing.then_some(pending.wanted)
        }) {
            let path = witness_path(self.folder);
            store.put(&path, next.encode(self.folder).into()).await?;
            written = Some(next);
        }
        self.is_done = true;
        Ok(())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Pending) -> T) -> T {
        let mut witnesses = self.owner.witnesses.lock();
        act(witnesses.entry(self.folder.to_owned()).or_default())
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.with(|pending| pending.is_writing = false);
        }
    }
}

#[async_trait]
impl Layer for ManifestStore {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        let Put { payload, options } = put;
        let Some(object) = Sealed::parse(location) else {
            return self.store.put_opts(location, payload, options).await;
        };
        let seal = object.seal(&payload);
        let sealed = payload.iter().cloned().chain([seal]).collect();
        let put = self.store.put_opts(location, sealed, options).await?;
        self.note(&object).await;
        Ok(put)
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let is_whole = options.range.is_none() && !options.head;
        let Some(object) = Sealed::parse(location).filter(|_| is_whole) else {
            return self.store.get_opts(location, options).await;
        };
        let found = self.store.get_opts(location, options).await?;
        let (mut meta, attributes) = (found.meta.clone(), found.attributes.clone());
        let extensions = found.extensions.clone();
        let content = self.open(location, &object, found.bytes().await?).await?;
        meta.size = content.len() as u64;
        Ok(GetResult {
            range: 0..meta.size,
            payload: GetResultPayload::Stream(
                stream::once(std::future::ready(Ok(content))).boxed(),
            ),
            meta,
            attributes,
            extensions,
        })
    }
}

#[cfg(test)]
mod tests {
    use partita_rt::store_layer::Layered;
    use slatedb::object_store::memory::InMemory;

    use super::*;

    fn manifest(number: u64) -> Path {
        manifest_path("range-7", number)
    }

    async fn stored(numbers: &[u64]) -> (Arc<InMemory>, Layered<ManifestStore>) {
        let inner = Arc::new(InMemory::new());
        let store = Layered(ManifestStore::new(Arc::clone(&inner) as _));
        for number in numbers {
            let content = format!("manifest {number}");
            store.put(&manifest(*number), content.into()).await.unwrap();
        }
        (inner, store)
    }

    async fn read(store: &dyn ObjectStore, path: &Path) -> std::result::Result<Bytes, String> {
        let found = store.get(path).await.map_err(|error| error.to_string())?;
        Ok(found.bytes().await.unwrap())
    }

    async fn newest(store: &InMemory) -> u64 {
        match witness(store, "range-7").await.unwrap() {
            FoundWitness::Found(witness) => witness.newest,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn every_flipped_bit_and_every_cut_of_a_manifest_is_noticed() {
        let (inner, store) = stored(&[1, 2]).await;
        let path = manifest(2);
        assert_eq!(read(&store, &path).await.unwrap(), "manifest 2");
        let sealed = read(&*inner, &path).await.unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            inner.put(&path, damaged.into()).await.unwrap();
            let refused = read(&store, &path).await.unwrap_err();
            assert!(refused.contains("store/range-7/manifest/"), "{refused}");
        }
        for bytes in 0..sealed.len() {
            inner
                .put(&path, sealed.slice(..bytes).into())
                .await
                .unwrap();
            let refused = read(&store, &path).await.unwrap_err();
            assert!(refused.contains("is damaged"), "{refused}");
        }
        let other = read(&*inner, &manifest(1)).await.unwrap();
        inner.put(&path, other.into()).await.unwrap();
        read(&store, &path).await.unwrap_err();
    }

    #[tokio::test]
    async fn manifests_of_earlier_versions_are_read() {
        let inner = Arc::new(InMemory::new());
        inner.put(&manifest(4), "old".into()).await.unwrap();
        let store = Layered(ManifestStore::new(Arc::clone(&inner) as _));
        assert_eq!(read(&store, &manifest(4)).await.unwrap(), "old");
        store.put(&manifest(5), "new".into()).await.unwrap();
        assert_eq!(read(&store, &manifest(4)).await.unwrap(), "old");
        inner.put(&manifest(5), "new".into()).await.unwrap();
        read(&store, &manifest(5)).await.unwrap_err();
    }

    #[tokio::test]
    async fn the_witness_has_the_newest_manifest_also_after_a_restart() {
        let (inner, store) = stored(&[1, 2, 3]).await;
        assert_eq!(newest(&inner).await, 3);
        let other = Path::from("range-7/compacted/a.sst");
        store.put(&other, "rows".into()).await.unwrap();
        assert_eq!(read(&*inner, &other).await.unwrap(), "rows");
        let restarted = Layered(ManifestStore::new(Arc::clone(&inner) as _));
        restarted.put(&manifest(4), "4".into()).await.unwrap();
        assert_eq!(newest(&inner).await, 4);
        inner.put(&manifest(1), "1".into()).await.unwrap();
        read(&restarted, &manifest(1)).await.unwrap_err();
        let FoundWitness::Found(witness) = witness(&*inner, "range-7").await.unwrap() else {
            panic!("no witness");
        };
        let bytes = witness.encode("range-7");
        assert_eq!(Witness::decode("trash/1-range-7", &bytes), Some(witness));
        assert_eq!(Witness::decode("range-8", &bytes), None);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Witness::decode("range-7", &damaged), None);
        }
    }

    #[tokio::test]
    async fn a_database_in_the_trash_keeps_its_seals() {
        let (inner, store) = stored(&[1]).await;
        let moved = Path::from("trash/1700000000-range-7/manifest/00000000000000000001.manifest");
        inner.rename(&manifest(1), &moved).await.unwrap();
        assert_eq!(read(&store, &moved).await.unwrap(), "manifest 1");
    }
}
