//! Data directories that lost files: the server refuses to start, names the missing files and deletes nothing. With the
//! files back, it serves again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::process::{Server, command_on, read, run};

/// A data directory whose range 1 was split, with rows written before and after the split.
struct World {
    home: tempfile::TempDir,
    rows: String,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut world = Self {
            home,
            rows: String::new(),
        };
        let (server, connection) = world.serve();
        let done = |line: &str| done(&server, &connection, line);
        done("table create people");
        for partition in 0..10 {
            done(&format!("entity insert people p{partition} old"));
        }
        done("admin split 1 --table people --at p5");
        for partition in 0..10 {
            done(&format!("entity insert people p{partition} new"));
        }
        world.rows = done("export people -");
        assert_eq!(world.rows.lines().count(), 20);
        let (code, _, talk) = server.end("-TERM");
        assert_eq!(code, 0, "{talk}");
        world
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn serve(&self) -> (Server, String) {
        let data = self.data();
        let mut server = Server::start_with_admin(&["--location", data.to_str().unwrap()]);
        let connection = server.line();
        (server, connection)
    }

    /// The stderr of a server that refuses to start and changes no file of the store.
    fn refused(&self) -> String {
        let before = files(&self.data().join("store"));
        let data = self.data();
        let ports = ["serve", "--table-port", "0", "--admin-port", "0"];
        let location = ["--location", data.to_str().unwrap()];
        let (code, _, talk) = run(&[&ports[..], &location[..]].concat());
        assert_ne!(code, 0);
        assert_eq!(files(&self.data().join("store")), before);
        talk
    }

    /// The exit code of `partita check`, its findings as JSON lines, and its messages.
    fn check(&self, flags: &[&str]) -> (i32, String, String) {
        let data = self.data();
        let check = [
            "check",
            "--output",
            "jsonl",
            "--data",
            data.to_str().unwrap(),
        ];
        run(&[&check[..], flags].concat())
    }

    /// The map, in order of its versions.
    fn versions(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.data().join("store/map"))
    }

    fn check_rows(&self) {
        let (server, connection) = self.serve();
        assert_eq!(done(&server, &connection, "export people -"), self.rows);
    }
}

/// The stdout of a command, which must succeed.
fn done(server: &Server, connection: &str, line: &str) -> String {
    let mut command = command_on(connection, line);
    let command = command.env("PARTITA_ADMIN", server.admin());
    let (code, data, talk) = read(command.output().unwrap());
    assert_eq!(code, 0, "{line}: {talk}");
    data
}

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn remove<'p>(paths: impl Iterator<Item = &'p PathBuf>) {
    for path in paths {
        std::fs::remove_file(path).unwrap();
    }
}

fn put_back(files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_start_without_the_newest_version_of_the_map_is_refused() {
    let world = World::new();
    let versions = world.versions();
    // The split is decided by version 3. The next version, if there is one, records that range 1 was deleted.
    let third = "00000000000000000003.json";
    let newest = versions.keys().skip_while(|path| !path.ends_with(third));
    assert!(newest.clone().count() > 0, "{:?}", versions.keys());
    remove(newest);
    let talk = world.refused();
    assert!(talk.contains(&format!("map/{third} is missing")), "{talk}");
    assert!(talk.contains("copy this version"), "{talk}");

    put_back(&versions);
    remove(versions.keys());
    let talk = world.refused();
    assert!(
        talk.contains("map/ has no version of the partition map"),
        "{talk}"
    );

    put_back(&versions);
    world.check_rows();
}

#[test]
fn a_damaged_map_is_refused() {
    let world = World::new();
    let versions = world.versions();
    let (newest, bytes) = versions.last_key_value().unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    // Changes the first key of a range. If the server started with this map, it would hide rows without a message.
    let key = text.find("\"start\": \"").unwrap() + "\"start\": \"".len();
    let key = key + text[key..].find("\"start\": \"").unwrap() + "\"start\": \"".len();
    let mut damaged = bytes.clone();
    damaged[key + 8] ^= 1;
    std::fs::write(newest, damaged).unwrap();
    let talk = world.refused();
    let name = newest.file_name().unwrap().to_str().unwrap();
    assert!(talk.contains(name) && talk.contains("checksum"), "{talk}");
    put_back(&versions);
    world.check_rows();
}

#[test]
fn a_missing_database_is_refused() {
    let world = World::new();
    let (database, aside) = (
        world.data().join("store/range-3"),
        world.home.path().join("aside"),
    );
    std::fs::rename(&database, &aside).unwrap();
    let talk = world.refused();
    assert!(talk.contains("range-3 is missing"), "{talk}");
    std::fs::rename(&aside, &database).unwrap();
    world.check_rows();
}

#[test]
fn a_check_of_a_sound_store_changes_nothing() {
    let world = World::new();
    let before = files(&world.data());
    let (code, found, talk) = world.check(&[]);
    assert_eq!(code, 0, "{found}{talk}");
    assert!(
        talk.contains("2 ranges") && talk.contains("the data is sound"),
        "{talk}"
    );
    assert!(!found.contains("\"damage\""), "{found}");
    assert_eq!(files(&world.data()), before);

    let (server, _) = world.serve();
    let (code, _, talk) = world.check(&[]);
    assert_eq!(code, 2);
    assert!(talk.contains("is in use by another process"), "{talk}");
    drop(server);
    let (code, _, talk) = run(&["check", "--data", "/nonexistent/data"]);
    assert_eq!(code, 2);
    assert!(talk.contains("/nonexistent/data"), "{talk}");
}

#[test]
fn a_check_names_a_changed_data_file_and_its_keys() {
    let world = World::new();
    let folder = world.data().join("store");
    let all = files(&folder);
    let mut data = all
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|it| it == "sst"));
    let (path, bytes) = data.next().unwrap();
    let mut damaged = bytes.clone();
    damaged[10] ^= 1;
    std::fs::write(path, damaged).unwrap();
    let (code, found, _) = world.check(&[]);
    assert_eq!(code, 1, "{found}");
    assert!(
        found.contains(path.file_name().unwrap().to_str().unwrap()),
        "{found}"
    );
    for text in [
        "\"severity\":\"damage\"",
        "does not match its checksum",
        "restore the file",
    ] {
        assert!(found.contains(text), "{found}");
    }
    // The replaced range 1 names the file too, but the damage is reported only once.
    assert!(!found.contains("\"severity\":\"warning\""), "{found}");
    std::fs::write(path, bytes).unwrap();
    world.check_rows();
}

#[test]
fn a_lost_map_is_rebuilt_on_request() {
    let world = World::new();
    remove(world.versions().keys());
    let (code, found, _) = world.check(&[]);
    assert_eq!(code, 1);
    assert!(
        found.contains("has no version of the partition map"),
        "{found}"
    );
    let (code, found, talk) = world.check(&["--rebuild-map"]);
    assert_eq!(code, 0, "{found}{talk}");
    assert!(talk.contains("wrote store/map/"), "{talk}");
    let (code, _, talk) = world.check(&["--rebuild-map"]);
    assert_eq!(code, 2);
    assert!(talk.contains("the map is not damaged"), "{talk}");
    world.check_rows();
}
