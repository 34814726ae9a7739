use futures::future::BoxFuture;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use partita_rt::DataDir;
use partita_rt::data_dir::ClosedDataDir;

use super::*;
use crate::conformance::{FIRST, commit, put};
use crate::slate::{Settings, SlateEngineSet};
use crate::{Engine, EngineSet, NoMeter};

/// A directory with one database of two data files.
async fn written() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let set = SlateEngineSet::new(data, Settings::default())
        .await
        .unwrap();
    let engine: Arc<dyn Engine> = set.open(FIRST).await.unwrap();
    for part in ["a", "b"] {
        for row in 0..300 {
            let value = format!("{part}{row}-").repeat(100);
            commit(&*engine, put(format!("{part}{row:04}"), value))
                .await
                .unwrap();
        }
        engine.flush().await.unwrap();
    }
    set.close().await;
    directory
}

async fn verify(directory: &FilePath) -> CheckedDatabase {
    let closed = ClosedDataDir::open(directory).unwrap();
    let mut verifier = Verifier::new(closed.store().unwrap(), &NoMeter);
    verifier.database(FIRST).await.unwrap()
}

/// The files below a folder of the database.
fn files(directory: &FilePath, folder: &str) -> Vec<PathBuf> {
    let folder = directory.join("store").join("range-1").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn in_directory(directory: &FilePath, file: &FilePath) -> String {
    file.strip_prefix(directory)
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

/// Changes a file, returns the faults, and puts the file back.
async fn faults_of(
    directory: &FilePath,
    file: &FilePath,
    change: impl FnOnce(&FilePath),
) -> Vec<FileFault> {
    let intact = fs::read(file).unwrap();
    change(file);
    let faults = verify(directory).await.faults;
    fs::write(file, intact).unwrap();
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_database_has_no_faults_and_every_byte_is_read() {
    struct Counter(AtomicU64);
    impl Meter for Counter {
        fn read(&self, bytes: u64) -> BoxFuture<'_, ()> {
            self.0.fetch_add(bytes, Ordering::Relaxed);
            Box::pin(std::future::ready(()))
        }
    }
    let directory = written().await;
    let path = directory.path();
    let checked = verify(path).await;
    assert_eq!(checked.faults, []);
    assert!(checked.flushed_up_to.unwrap() > WalId(0));
    let data = files(path, "compacted");
    assert_eq!(data.len(), 2);
    let bytes: u64 = data
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .sum();
    for file in data {
        assert!(checked.files.contains(&in_directory(path, &file)));
    }
    let counter = Counter(AtomicU64::new(0));
    let closed = ClosedDataDir::open(path).unwrap();
    let mut verifier = Verifier::new(closed.store().unwrap(), &counter);
    verifier.database(FIRST).await.unwrap();
    // The checks count all bytes but the last ten of each of the two files.
    assert_eq!(counter.0.load(Ordering::Relaxed), bytes - 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_at_every_place_of_a_data_file_is_found() {
    let directory = written().await;
    let path = directory.path();
    let data = files(path, "compacted");
    let (file, other) = (&data[0], fs::read(&data[1]).unwrap());
    let name = in_directory(path, file);
    let bytes = fs::metadata(file).unwrap().len() as usize;
    let places = (0..20)
        .map(|part| part * bytes / 20)
        .chain(bytes - 120..bytes);
    for place in places {
        let faults = faults_of(path, file, |file| {
            let mut content = fs::read(file).unwrap();
            content[place] ^= 4;
            fs::write(file, content).unwrap();
        });
        let faults = faults.await;
        assert_eq!(faults.len(), 1, "byte {place}: {faults:?}");
        assert_eq!(faults[0].file, name);
        assert!(matches!(
            faults[0].kind,
            FileKind::Data { is_live: true, .. }
        ));
    }
    for kept in [0, 5, bytes / 2, bytes - 1] {
        let cut = |file: &FilePath| {
            fs::write(file, &fs::read(file).unwrap()[..kept]).unwrap();
        };
        let faults = faults_of(path, file, cut).await;
        assert_eq!(faults.len(), 1, "cut to {kept}: {faults:?}");
    }
    let faults = faults_of(path, file, |file| fs::remove_file(file).unwrap()).await;
    assert_eq!(faults[0].problem, "it is missing");
    let faults = faults_of(path, file, |file| fs::write(file, other).unwrap()).await;
    assert_eq!(faults.len(), 1, "exchanged: {faults:?}");
    assert_eq!(verify(path).await.faults, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_of_manifests_and_of_the_witness_is_found() {
    let directory = written().await;
    let path = directory.path();
    let manifests = files(path, "manifest");
    let (newest, oldest) = (manifests.last().unwrap(), &manifests[0]);
    let flip = |file: &FilePath| {
        let mut content = fs::read(file).unwrap();
        content[20] ^= 1;
        fs::write(file, content).unwrap();
    };
    let remove = |file: &FilePath| fs::remove_file(file).unwrap();
    for change in [flip as fn(&FilePath), remove] {
        let faults = faults_of(path, newest, change).await;
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].file, in_directory(path, newest));
        assert_eq!(faults[0].kind, FileKind::Manifest);
    }
    let faults = faults_of(path, oldest, flip).await;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].kind, FileKind::OldManifest { is_needed: false });
    let witness = path.join("store/range-1").join(WITNESS);
    let faults = faults_of(path, &witness, flip).await;
    assert_eq!(faults[0].kind, FileKind::Witness);
    assert_eq!(verify(path).await.faults, []);
}

/// Otherwise an older state of the database would be served, without its newest rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_without_its_newest_manifest_does_not_open() {
    let directory = written().await;
    let path = directory.path();
    let newest = files(path, "manifest").pop().unwrap();
    fs::remove_file(&newest).unwrap();
    let data = Arc::new(DataDir::open(path).unwrap());
    let set = SlateEngineSet::new(data, Settings::default())
        .await
        .unwrap();
    let Err(error) = set.open(FIRST).await else {
        panic!("it opened");
    };
    let (file, problem) = named(&error);
    assert_eq!(file.unwrap(), in_directory(path, &newest));
    assert!(problem.contains("is missing"), "{problem}");
    set.close().await;
}
