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

#[test]
fn an_unknown_format_is_refused() {
    for (text, found) in [
        ("format = 2\n", "2"),
        ("# only a comment\n", "no number"),
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
