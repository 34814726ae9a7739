//! A simulated disk: what a power cut must keep, and what it may keep.
//!
//! The disk is built from the journal of a program. It remembers which changes were synced:
//!
//! - the bytes of a file, by a sync of the file that began after the write;
//! - a name (a new file, a link, a rename, a removal), by a sync of its folder that began after the change; for a
//!   rename between two folders, by a sync of the new folder.
//!
//! This is what POSIX promises; file systems in use keep more. A failed sync promises nothing, and neither does a later
//! successful one for the writes before the failed one, as on Linux.
//!
//! [`Disk::cut`] makes another disk, as a power cut could leave it. It is a function of the disk, a [`Style`] and a seed.

mod file;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, bail};
use partita_load::Random;

use self::file::{DataChange, FileState, Pending};
use super::content::Content;
use super::journal::Record;

/// What a power cut keeps of the changes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Style {
    /// None.
    Nothing,
    /// All: as after a kill.
    Everything,
    /// All changes up to a moment, the last one torn: a disk that keeps the order of all writes.
    Moment,
    /// The oldest changes of names, and the oldest writes to each file, of which the last one is torn: a file system with
    /// a journal.
    Ordered,
    /// Some changes of names, and of each file some pages, or only its new length: a disk that keeps no order.
    Mixed,
}

/// Number of a file or folder.
type Node = usize;

#[derive(Clone, Debug)]
enum State {
    File(FileState),
    Folder(Folder),
}

#[derive(Clone, Debug, Default)]
struct Folder {
    synced: BTreeMap<String, Node>,
    now: BTreeMap<String, Node>,
}

/// A change of names that is not synced. A power cut keeps or drops it as a whole.
#[derive(Clone, Debug)]
struct NameChange {
    at: u64,
    /// The folder whose sync makes the change durable.
    folder: Node,
    edits: Vec<Edit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    folder: Node,
    name: String,
    node: Option<Node>,
}

/// The simulated disk with the watched folder; see the module.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    root: String,
    states: Vec<State>,
    names: Vec<NameChange>,
    of_inode: HashMap<u64, Node>,
    /// When each sync under way began.
    syncs: HashMap<u64, u64>,
    /// Number of changes so far.
    time: u64,
}

/// The node of the watched folder itself.
const ROOT: Node = 0;

impl Disk {
    /// A disk with an empty folder at this path. The folder itself outlives every power cut.
    pub(super) fn new(root: &Path) -> anyhow::Result<Self> {
        let root = root.to_str().context("the folder's path is not UTF-8")?;
        Ok(Self {
            root: root.to_owned(),
            states: vec![State::Folder(Folder::default())],
            names: Vec::new(),
            of_inode: HashMap::new(),
            syncs: HashMap::new(),
            time: 0,
        })
    }

    /// The numbers of changes that are not synced: of names, and of data.
    pub(super) fn pending(&self) -> (usize, usize) {
        let data = self.states.iter().map(|state| match state {
            State::File(file) => file.pending.len(),
            State::Folder(_) => 0,
        });
        (self.names.len(), data.sum())
    }

    /// Applies a record of the journal.
    ///
    /// # Errors
    /// When the record contradicts the records before it: then the library has missed a change.
    pub(super) fn apply(&mut self, record: Record) -> anyhow::Result<()> {
        self.time += 1;
        match record {
            Record::Opened {
                inode,
                created: true,
                path,
                ..
            } => {
                let node = self.add(State::File(FileState::default()));
                self.of_inode.insert(inode, node);
                self.set_name(&path, Some(node))?;
            }
            Record::Opened {
                inode,
                truncated,
                path,
                ..
            } => {
                let node = self.find(&path)?;
                self.of_inode.insert(inode, node);
                if truncated {
                    self.change(inode, DataChange::Resize { length: 0 });
                }
            }
            Record::Wrote {
                inode,
                offset,
                data,
            } => self.change(inode, DataChange::Write { offset, data }),
            Record::WroteZeros {
                inode,
                offset,
                length,
            } => self.change(inode, DataChange::Zeros { offset, length }),
            Record::Resized { inode, length } => {
                self.change(inode, DataChange::Resize { length });
            }
            Record::Renamed { from, to } => self.rename(&from, &to)?,
            Record::Linked { from, to } => {
                let node = self.find(&from)?;
                self.set_name(&to, Some(node))?;
            }
            Record::Removed { path } => {
                self.find(&path)?;
                self.set_name(&path, None)?;
            }
            Record::MadeDirectory { path } => {
                let node = self.add(State::Folder(Folder::default()));
                self.set_name(&path, Some(node))?;
            }
            Record::SyncBegan { sync } => {
                self.syncs.insert(sync, self.time);
            }
            Record::SyncEnded {
                inode,
                sync,
                succeeded,
            } => {
                let began = self.syncs.remove(&sync).context("a sync without a start")?;
                self.end_sync(inode, began, succeeded);
            }
        }
        Ok(())
    }

    /// A rename to another name of the same file does nothing.
    fn rename(&mut self, from: &str, to: &str) -> anyhow::Result<()> {
        let node = self.find(from)?;
        if self.now(to) == Some(node) {
            return Ok(());
        }
        let (removed, added) = (self.edit(from, None)?, self.edit(to, Some(node))?);
        self.change_names(added.folder, vec![removed, added])
    }

    fn add(&mut self, state: State) -> Node {
        self.states.push(state);
        self.states.len() - 1
    }

    /// The node with this path now.
    fn now(&self, path: &str) -> Option<Node> {
        let below = path.strip_prefix(&self.root)?;
        let mut node = ROOT;
        for part in below.split('/').filter(|part| !part.is_empty()) {
            let State::Folder(folder) = &self.states[node] else {
                return None;
            };
            node = *folder.now.get(part)?;
        }
        Some(node)
    }

    fn find(&self, path: &str) -> anyhow::Result<Node> {
        let node = self.now(path);
        node.with_context(|| format!("the journal names {path} before it was created"))
    }

    fn edit(&self, path: &str, node: Option<Node>) -> anyhow::Result<Edit> {
        let (parent, name) = path.rsplit_once('/').context("a path without a folder")?;
        Ok(Edit {
            folder: self.find(parent)?,
            name: name.to_owned(),
            node,
        })
    }

    fn set_name(&mut self, path: &str, node: Option<Node>) -> anyhow::Result<()> {
        let edit = self.edit(path, node)?;
        self.change_names(edit.folder, vec![edit])
    }

    fn change_names(&mut self, folder: Node, edits: Vec<Edit>) -> anyhow::Result<()> {
        for edit in &edits {
            let State::Folder(folder) = &mut self.states[edit.folder] else {
                bail!("{} is in a file", edit.name);
            };
            set(&mut folder.now, edit);
        }
        let at = self.time;
        self.names.push(NameChange { at, folder, edits });
        Ok(())
    }

    /// Changes a file's data. Ignores files that do not belong to the folder.
    fn change(&mut self, inode: u64, change: DataChange) {
        let node = self.of_inode.get(&inode);
        if let Some(State::File(file)) = node.map(|node| &mut self.states[*node]) {
            file.pending.push(Pending {
                at: self.time,
                change,
                failed: false,
            });
        }
    }

    fn end_sync(&mut self, inode: u64, began: u64, succeeded: bool) {
        let Some(&node) = self.of_inode.get(&inode) else {
            return;
        };
        match &mut self.states[node] {
            State::File(file) => file.end_sync(began, succeeded),
            State::Folder(_) if succeeded => self.sync_names(node, began),
            State::Folder(_) => {}
        }
    }

    fn sync_names(&mut self, folder: Node, began: u64) {
        let is_synced = |change: &NameChange| change.folder == folder && change.at < began;
        let (synced, mut left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.names)
            .into_iter()
            .partition(is_synced);
        for change in synced {
            for edit in &change.edits {
                if let State::Folder(folder) = &mut self.states[edit.folder] {
                    set(&mut folder.synced, edit);
                }
                // This change is synced, so a power cut can no longer restore an earlier change of the same name.
                let is_earlier = |left: &&mut NameChange| left.at < change.at;
                for earlier in left.iter_mut().filter(is_earlier) {
                    let is_same = |old: &Edit| (old.folder, &old.name) == (edit.folder, &edit.name);
                    earlier.edits.retain(|old| !is_same(old));
                }
            }
        }
        left.retain(|change| !change.edits.is_empty());
        self.names = left;
    }

    /// The disk as a power cut could leave it. All that is on the new disk counts as synced.
    pub(super) fn cut(&self, style: Style, random: &mut Random) -> Self {
        let moments = self.moments();
        let moment = match moments.len() {
            0 => 0,
            count => moments[random.below(count as u64) as usize],
        };
        let names = self.keep_names(style, moment, random);
        let mut left = Self {
            root: self.root.clone(),
            states: vec![State::Folder(Folder::default())],
            names: Vec::new(),
            of_inode: HashMap::new(),
            syncs: HashMap::new(),
            time: 0,
        };
        // Copies all that can be reached from the root. A file without a name is gone.
        let mut copied = HashMap::from([(ROOT, ROOT)]);
        let mut folders = vec![ROOT];
        while let Some(old) = folders.pop() {
            for (name, node) in &names[old] {
                let new = match (copied.get(node), &self.states[*node]) {
                    (Some(new), _) => *new,
                    (None, State::File(file)) => left.add(State::File(FileState {
                        synced: file.cut(style, moment, random),
                        pending: Vec::new(),
                    })),
                    (None, State::Folder(_)) => {
                        folders.push(*node);
                        left.add(State::Folder(Folder::default()))
                    }
                };
                copied.insert(*node, new);
                if let State::Folder(folder) = &mut left.states[copied[&old]] {
                    folder.synced.insert(name.clone(), new);
                    folder.now.insert(name.clone(), new);
                }
            }
        }
        left
    }

    /// The names in each folder after a power cut.
    fn keep_names(
        &self,
        style: Style,
        moment: u64,
        random: &mut Random,
    ) -> Vec<BTreeMap<String, Node>> {
        let kept = random.below(self.names.len() as u64 + 1) as usize;
        let synced = self.states.iter().map(|state| match state {
            State::Folder(folder) => folder.synced.clone(),
            State::File(_) => BTreeMap::new(),
        });
        let mut names: Vec<_> = synced.collect();
        for (number, change) in self.names.iter().enumerate() {
            let is_kept = match style {
                Style::Nothing => false,
                Style::Everything => true,
                Style::Moment => change.at <= moment,
                Style::Ordered => number < kept,
                Style::Mixed => random.chance(50),
            };
            for edit in change.edits.iter().filter(|_| is_kept) {
                set(&mut names[edit.folder], edit);
            }
        }
        names
    }

    /// The times of the changes that are not synced.
    fn moments(&self) -> Vec<u64> {
        let names = self.names.iter().map(|change| change.at);
        let data = self.states.iter().flat_map(|state| match state {
            State::File(file) => file.pending.iter().map(|pending| pending.at).collect(),
            State::Folder(_) => Vec::new(),
        });
        let moments: BTreeSet<u64> = names.chain(data).collect();
        moments.into_iter().collect()
    }

    /// Writes the synced files into the folder, which must be empty.
    pub(super) fn store(&self) -> anyhow::Result<()> {
        let mut places = HashMap::new();
        self.store_folder(ROOT, Path::new(&self.root), &mut places)
    }

    fn store_folder(
        &self,
        node: Node,
        place: &Path,
        places: &mut HashMap<Node, std::path::PathBuf>,
    ) -> anyhow::Result<()> {
        let State::Folder(folder) = &self.states[node] else {
            bail!("{} is a file", place.display());
        };
        for (name, node) in &folder.synced {
            let place = place.join(name);
            match &self.states[*node] {
                State::Folder(_) => {
                    std::fs::create_dir(&place)?;
                    self.store_folder(*node, &place, places)?;
                }
                State::File(file) => match places.get(node) {
                    Some(first) => std::fs::hard_link(first, &place)?,
                    None => {
                        file.synced.store(&place)?;
                        places.insert(*node, place);
                    }
                },
            }
        }
        Ok(())
    }

    /// How the real folder differs from the one that the journal describes. A difference means that the library did not
    /// record a change.
    pub(super) fn differences(&self) -> anyhow::Result<Vec<String>> {
        let mut differences = Vec::new();
        self.compare_folder(ROOT, Path::new(&self.root), &mut differences)?;
        Ok(differences)
    }

    fn compare_folder(
        &self,
        node: Node,
        place: &Path,
        differences: &mut Vec<String>,
    ) -> anyhow::Result<()> {
        let State::Folder(folder) = &self.states[node] else {
            differences.push(format!("{} is a file in the journal", place.display()));
            return Ok(());
        };
        let mut real = BTreeSet::new();
        for entry in std::fs::read_dir(place)? {
            let name = entry?.file_name();
            real.insert(name.to_string_lossy().into_owned());
        }
        for name in folder.now.keys().filter(|name| !real.contains(*name)) {
            differences.push(format!("{} is missing", place.join(name).display()));
        }
        for name in &real {
            let place = place.join(name);
            let Some(&node) = folder.now.get(name) else {
                differences.push(format!("{} is not in the journal", place.display()));
                continue;
            };
            if place.is_dir() {
                self.compare_folder(node, &place, differences)?;
                continue;
            }
            let State::File(file) = &self.states[node] else {
                differences.push(format!("{} is a folder in the journal", place.display()));
                continue;
            };
            let expected = file.now();
            if let Some(at) = Content::load(&place)?.difference(&expected) {
                let place = place.display();
                differences.push(format!("{place} differs from the journal at byte {at}"));
            }
        }
        Ok(())
    }
}

fn set(names: &mut BTreeMap<String, Node>, edit: &Edit) {
    match edit.node {
        Some(node) => drop(names.insert(edit.name.clone(), node)),
        None => drop(names.remove(&edit.name)),
    }
}

#[cfg(test)]
mod tests;
