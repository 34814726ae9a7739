use super::*;

const STYLES: [Style; 5] = [
    Style::Nothing,
    Style::Everything,
    Style::Moment,
    Style::Ordered,
    Style::Mixed,
];

/// A folder, and the disk that a journal of it describes.
struct Trial {
    folder: tempfile::TempDir,
    disk: Disk,
    syncs: u64,
}

impl Trial {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path()).unwrap();
        let mut trial = Self {
            folder,
            disk,
            syncs: 0,
        };
        trial.open(1, "", false);
        trial
    }

    fn path(&self, name: &str) -> String {
        let root = self.folder.path().to_str().unwrap();
        if name.is_empty() {
            root.to_owned()
        } else {
            format!("{root}/{name}")
        }
    }

    fn apply(&mut self, record: Record) {
        self.disk.apply(record).unwrap();
    }

    fn open(&mut self, inode: u64, name: &str, created: bool) {
        let path = self.path(name);
        self.apply(Record::Opened {
            inode,
            created,
            truncated: false,
            path,
        });
    }

    fn write(&mut self, inode: u64, offset: u64, data: &[u8]) {
        let data = data.to_vec();
        self.apply(Record::Wrote {
            inode,
            offset,
            data,
        });
    }

    fn rename(&mut self, from: &str, to: &str) {
        let (from, to) = (self.path(from), self.path(to));
        self.apply(Record::Renamed { from, to });
    }

    fn sync(&mut self, inode: u64, succeeded: bool) {
        self.syncs += 1;
        let sync = self.syncs;
        self.apply(Record::SyncBegan { sync });
        self.apply(Record::SyncEnded {
            inode,
            sync,
            succeeded,
        });
    }

    /// The files after a power cut, by name.
    fn cut(&self, style: Style, seed: u64) -> BTreeMap<String, Vec<u8>> {
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let left = self.disk.cut(style, &mut Random::new(seed));
        left.store().unwrap();
        assert_eq!(left.differences().unwrap(), Vec::<String>::new());
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                (name, std::fs::read(entry.path()).unwrap())
            })
            .collect()
    }
}

/// A new file with data, neither of which is synced.
fn unsynced_file(name: &str, data: &[u8]) -> Trial {
    let mut trial = Trial::new();
    trial.open(2, name, true);
    trial.write(2, 0, data);
    trial
}

/// A new file with synced data and a synced name.
fn synced_file() -> Trial {
    let mut trial = unsynced_file("a", b"synced");
    trial.sync(2, true);
    trial.sync(1, true);
    trial
}

#[test]
fn synced_data_and_names_survive_every_cut() {
    let mut trial = synced_file();
    trial.open(3, "b", true);
    trial.write(3, 0, b"lost");
    for style in STYLES {
        for seed in 0..20 {
            assert_eq!(trial.cut(style, seed)["a"], b"synced", "{style:?} {seed}");
        }
    }
    assert!(!trial.cut(Style::Nothing, 0).contains_key("b"));
    assert_eq!(trial.cut(Style::Everything, 0)["b"], b"lost");
}

#[test]
fn a_name_needs_a_sync_of_its_folder() {
    let mut trial = unsynced_file("a", b"data");
    trial.sync(2, true);
    assert!(trial.cut(Style::Nothing, 0).is_empty());
    trial.sync(1, true);
    assert_eq!(trial.cut(Style::Nothing, 0)["a"], b"data");
}

#[test]
fn a_rename_can_survive_without_its_data() {
    let mut trial = unsynced_file("new", b"data");
    trial.rename("new", "a");
    trial.sync(1, true);
    let left = trial.cut(Style::Nothing, 0);
    assert_eq!(left, BTreeMap::from([("a".to_owned(), Vec::new())]));
}

#[test]
fn a_rename_happens_as_a_whole() {
    let mut trial = synced_file();
    trial.open(3, "new", true);
    trial.write(3, 0, b"newer!");
    trial.sync(3, true);
    trial.sync(1, true);
    trial.rename("new", "a");
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        let left = trial.cut(Style::Mixed, seed);
        let is_old = left["a"] == b"synced" && left["new"] == b"newer!";
        let is_new = left["a"] == b"newer!" && left.len() == 1;
        assert!(is_old || is_new, "{left:?}");
        seen.insert(is_new);
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_removal_without_a_sync_can_be_undone() {
    let mut trial = synced_file();
    let path = trial.path("a");
    trial.apply(Record::Removed { path });
    assert_eq!(trial.cut(Style::Nothing, 0)["a"], b"synced");
    assert!(trial.cut(Style::Everything, 0).is_empty());
    trial.sync(1, true);
    assert!(trial.cut(Style::Nothing, 0).is_empty());
}

#[test]
fn a_write_can_be_torn_but_shows_no_other_bytes() {
    let mut trial = synced_file();
    trial.write(2, 6, &vec![b'x'; 10_000]);
    let mut lengths = BTreeSet::new();
    for style in [Style::Moment, Style::Ordered, Style::Mixed] {
        for seed in 0..60 {
            let left = trial.cut(style, seed);
            let bytes = &left["a"];
            assert_eq!(bytes[..6], *b"synced");
            assert!(bytes[6..].iter().all(|byte| matches!(byte, b'x' | 0)));
            lengths.insert(bytes.len());
        }
    }
    assert!(lengths.len() > 10, "{lengths:?}");
}

#[test]
fn a_write_after_the_sync_began_is_not_kept_by_it() {
    let mut trial = synced_file();
    trial.apply(Record::SyncBegan { sync: 90 });
    trial.write(2, 0, b"SYNCED");
    trial.apply(Record::SyncEnded {
        inode: 2,
        sync: 90,
        succeeded: true,
    });
    assert_eq!(trial.cut(Style::Nothing, 0)["a"], b"synced");
}

#[test]
fn a_successful_sync_does_not_keep_what_a_failed_one_lost() {
    let mut trial = synced_file();
    trial.write(2, 0, b"SYNCED");
    trial.sync(2, false);
    trial.sync(2, true);
    assert_eq!(trial.cut(Style::Nothing, 0)["a"], b"synced");
    trial.write(2, 0, b"SYNCED");
    trial.sync(2, true);
    assert_eq!(trial.cut(Style::Nothing, 0)["a"], b"SYNCED");
}

#[test]
fn a_change_past_the_journal_is_noticed() {
    let trial = synced_file();
    let left = trial.disk.cut(Style::Nothing, &mut Random::new(0));
    left.store().unwrap();
    assert_eq!(left.differences().unwrap().len(), 0);
    std::fs::write(trial.folder.path().join("a"), b"sYnced").unwrap();
    std::fs::write(trial.folder.path().join("b"), b"").unwrap();
    let differences = left.differences().unwrap().join(", ");
    assert!(
        differences.contains("a differs from the journal at byte 1"),
        "{differences}"
    );
    assert!(
        differences.contains("b is not in the journal"),
        "{differences}"
    );
}
