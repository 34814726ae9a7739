use std::ops::Range;
use std::path::PathBuf;

use bytes::Bytes;

use super::*;
use crate::DataDir;

/// A data directory with one data file.
struct World {
    directory: tempfile::TempDir,
    data: DataDir,
    name: Path,
}

impl World {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::open(directory.path()).unwrap();
        let name = Path::from("range-1/compacted/a.sst");
        data.store().put(&name, "0123456789".into()).await.unwrap();
        Self {
            directory,
            data,
            name,
        }
    }

    /// The file on the disk.
    fn file(&self) -> PathBuf {
        self.directory.path().join("store").join(self.name.as_ref())
    }

    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let store = self.data.store();
        store.get_range(&self.name, range).await
    }

    fn open_files(&self) -> usize {
        self.data.store.0.files.len()
    }
}

#[tokio::test]
async fn a_part_is_read_from_the_open_file() {
    let world = World::new().await;
    assert_eq!(world.read(2..5).await.unwrap(), "234");
    assert_eq!(world.open_files(), 1);
    // Without its name the file can be read only because it is open.
    std::fs::remove_file(world.file()).unwrap();
    assert_eq!(world.read(0..10).await.unwrap(), "0123456789");
}

#[tokio::test]
async fn reads_beyond_the_end_are_answered_like_those_of_a_directory() {
    let world = World::new().await;
    assert_eq!(world.read(8..12).await.unwrap(), "89");
    assert!(world.read(10..12).await.is_err());
    let options = GetOptions {
        range: Some(GetRange::Bounded(8..12)),
        ..GetOptions::default()
    };
    let found = world.data.store().get_opts(&world.name, options).await;
    let found = found.unwrap();
    assert_eq!((found.range, found.meta.size), (8..10, 10));
    let missing = Path::from("range-1/compacted/b.sst");
    let found = world.data.store().get_range(&missing, 0..1).await;
    assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
}

#[tokio::test]
async fn a_deleted_file_is_closed() {
    let world = World::new().await;
    world.read(0..1).await.unwrap();
    world.data.store().delete(&world.name).await.unwrap();
    assert_eq!(world.open_files(), 0);
    let read = world.read(0..1).await;
    assert!(matches!(read, Err(Error::NotFound { .. })), "{read:?}");
}

#[tokio::test]
async fn the_files_of_a_renamed_folder_are_closed() {
    let world = World::new().await;
    world.read(0..1).await.unwrap();
    let other = Path::from("range-10/compacted/a.sst");
    let store = world.data.store();
    store.put(&other, "x".into()).await.unwrap();
    store.get_range(&other, 0..1).await.unwrap();
    assert_eq!(world.open_files(), 2);
    assert!(world.data.rename_folder("range-1", "trash/1").unwrap());
    assert_eq!(world.open_files(), 1, "only the file of range 10");
    assert!(world.read(0..1).await.is_err());
}

#[tokio::test]
async fn an_overwritten_file_is_closed() {
    let world = World::new().await;
    world.read(0..1).await.unwrap();
    let store = world.data.store();
    store.put(&world.name, "abc".into()).await.unwrap();
    assert_eq!(world.read(0..3).await.unwrap(), "abc");
}

/// An operator may replace a damaged file while the server runs.
#[tokio::test]
async fn a_head_finds_that_a_file_was_replaced() {
    let world = World::new().await;
    world.read(0..1).await.unwrap();
    let new = world.directory.path().join("new");
    std::fs::write(&new, "restored").unwrap();
    std::fs::rename(new, world.file()).unwrap();
    assert_eq!(world.data.store().head(&world.name).await.unwrap().size, 8);
    assert_eq!(world.read(0..8).await.unwrap(), "restored");
    std::fs::remove_file(world.file()).unwrap();
    world.data.store().head(&world.name).await.unwrap_err();
    assert!(world.read(0..1).await.is_err());
}

#[tokio::test]
async fn a_file_that_was_cut_is_an_error() {
    let world = World::new().await;
    assert_eq!(world.read(0..10).await.unwrap(), "0123456789");
    let file = std::fs::File::options().write(true).open(world.file());
    file.unwrap().set_len(4).unwrap();
    assert_eq!(world.read(0..4).await.unwrap(), "0123");
    assert!(world.read(2..10).await.is_err());
    assert_eq!(world.data.store().head(&world.name).await.unwrap().size, 4);
}

#[tokio::test]
async fn the_number_of_open_files_is_bounded() {
    let world = World::new().await;
    world.data.keep_open(16);
    let store = world.data.store();
    for number in 0..200 {
        let name = Path::from(format!("range-1/compacted/{number}.sst"));
        store.put(&name, "x".into()).await.unwrap();
        assert_eq!(store.get_range(&name, 0..1).await.unwrap(), "x");
    }
    assert!(world.open_files() <= 16, "{} files", world.open_files());
    let object = Path::from("range-1/manifest/1.manifest");
    store.put(&object, "x".into()).await.unwrap();
    let before = world.open_files();
    store.get_range(&object, 0..1).await.unwrap();
    assert_eq!(world.open_files(), before, "only data files are kept open");
}
