use std::fs;

use object_store::ObjectStoreExt;
use object_store::path::Path as ObjectPath;

use super::*;

#[tokio::test]
async fn a_new_directory_is_stamped_and_holds_objects() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a").join("b");
    let data = DataDir::open(&path).unwrap();
    assert_eq!(data.path(), path);
    assert!(data.log_path().is_dir());
    assert!(
        fs::read_to_string(path.join("partita.toml"))
            .unwrap()
            .ends_with("\nformat = 1\n")
    );

    let name = ObjectPath::from("x/y");
    data.store().put(&name, "bytes".into()).await.unwrap();
    drop(data);
    let again = DataDir::open(&path).unwrap();
    assert_eq!(
        again
            .store()
            .get(&name)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap(),
        "bytes"
    );
}

#[test]
fn a_second_open_fails_until_the_first_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let first = DataDir::open(directory.path()).unwrap();
    let refused = DataDir::open(directory.path()).unwrap_err();
    assert!(
        matches!(&refused, Error::Locked { holder: Some(pid), .. } if *pid == std::process::id())
    );
    assert!(
        refused
            .to_string()
            .contains("is in use by another process (process id ")
    );
    drop(first);
    DataDir::open(directory.path()).unwrap();
}

/// The directory itself is locked too, so removing or replacing the file `lock` does not admit a second process.
#[test]
fn a_removed_or_replaced_lock_file_admits_no_second_process() {
    let directory = tempfile::tempdir().unwrap();
    let first = DataDir::open(directory.path()).unwrap();
    let lock = directory.path().join("lock");
    let refused = || {
        let refused = DataDir::open(directory.path()).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    };
    fs::remove_file(&lock).unwrap();
    refused();
    assert!(!lock.exists(), "a refused process creates nothing");
    fs::write(&lock, "17\n").unwrap();
    refused();
    drop(first);
    DataDir::open(directory.path()).unwrap();
}

/// Earlier versions of Partita lock only the file `lock`.
#[test]
fn a_lock_of_an_earlier_version_is_respected() {
    let directory = tempfile::tempdir().unwrap();
    drop(DataDir::open(directory.path()).unwrap());
    let file = fs::File::open(directory.path().join("lock")).unwrap();
    file.try_lock().unwrap();
    let refused = DataDir::open(directory.path()).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    drop(file);
    DataDir::open(directory.path()).unwrap();
}

#[test]
fn a_renamed_directory_stays_locked_and_its_old_name_is_free() {
    let parent = tempfile::tempdir().unwrap();
    let (path, moved) = (parent.path().join("data"), parent.path().join("moved"));
    let first = DataDir::open(&path).unwrap();
    fs::rename(&path, &moved).unwrap();
    let second = DataDir::open(&path).unwrap();
    for used in [&path, &moved] {
        let refused = DataDir::open(used).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    }
    drop((first, second));
    DataDir::open(&moved).unwrap();
}

/// Without the sync of its parent, a power cut can lose a new directory with acknowledged writes.
#[test]
fn every_directory_with_a_new_name_is_synced() {
    let parent = tempfile::tempdir().unwrap();
    let base = parent.path().to_owned();
    let (first, data) = (base.join("a"), base.join("a").join("data"));
    sync::recorded::take();
    drop(DataDir::open(&data).unwrap());
    let synced = sync::recorded::take();
    assert_eq!(synced[..2], [base.clone(), first.clone()]);
    assert!(synced[2..].contains(&data), "{synced:?}");
    drop(DataDir::open(&data).unwrap());
    assert_eq!(sync::recorded::take(), [data], "nothing else is new");

    // The process was killed after the directory was created and before its parent was synced.
    let bare = first.join("bare");
    fs::create_dir(&bare).unwrap();
    drop(DataDir::open(&bare).unwrap());
    assert!(sync::recorded::take().contains(&first));

    let build = Building::begin(&base.join("b").join("restored")).unwrap();
    drop(build.open().unwrap());
    assert!(sync::recorded::take().contains(&base));
    build.finish().unwrap();
    assert_eq!(sync::recorded::take(), [base.join("b")]);
}

#[test]
fn an_unknown_format_is_refused() {
    for (text, found) in [
        ("format = 2\n", "2"),
        ("# only a comment\n", "(not a number)"),
        ("format = \"1\"\n", "\"1\""),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("partita.toml"), text).unwrap();
        let refused = DataDir::open(directory.path()).unwrap_err();
        assert!(
            matches!(&refused, Error::UnknownFormat { found: version, .. } if version == found),
            "{refused}"
        );
    }
}

#[test]
fn data_without_a_stamp_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("store")).unwrap();
    assert!(matches!(
        DataDir::open(directory.path()).unwrap_err(),
        Error::NotStamped { .. }
    ));
}

#[test]
fn files_of_other_programs_do_not_block_opening() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("__azurite_db_table__.json"), "{}").unwrap();
    DataDir::open(directory.path()).unwrap();
}

#[test]
fn only_partial_files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    drop(DataDir::open(directory.path()).unwrap());
    let folder = directory.path().join("store").join("compacted");
    fs::create_dir(&folder).unwrap();
    for name in ["a.sst", "a.sst#1", "b#77", "c#", "d#x", "#9"] {
        fs::write(folder.join(name), "x").unwrap();
    }
    drop(DataDir::open(directory.path()).unwrap());
    let mut left: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["a.sst", "c#", "d#x"]);
}
