//! The kinds of files of a store, and the ways in which a file is damaged.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use partita_load::Random;

use super::store::{self, Store};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Stamp,
    LogHead,
    LogSegment,
    MapNewest,
    MapOlder,
    Serving,
    Snapshot,
    Heat,
    ManifestNewest,
    ManifestOlder,
    Witness,
    Compactions,
    DataFile,
    Trash,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stamp => "`partita.toml`",
            Self::LogHead => "`log/head`",
            Self::LogSegment => "Log segment",
            Self::MapNewest => "Newest version of the map",
            Self::MapOlder => "Older version of the map",
            Self::Serving => "Serving record",
            Self::Snapshot => "Snapshot",
            Self::Heat => "Heat history",
            Self::ManifestNewest => "Newest manifest",
            Self::ManifestOlder => "Older manifest",
            Self::Witness => "Number of the newest manifest",
            Self::Compactions => "State of compactions",
            Self::DataFile => "Data file",
            Self::Trash => "File in the trash",
        })
    }
}

/// The files of a store by kind.
pub(super) fn by_kind(store: &Store) -> anyhow::Result<BTreeMap<Kind, Vec<PathBuf>>> {
    let files = store::files(&store.directory)?;
    let mut kinds: BTreeMap<Kind, Vec<PathBuf>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        // In the order of names, the newest version is the last one in its folder.
        let next = files.get(at + 1);
        let is_newest = next.is_none_or(|next| next.parent() != file.parent());
        if let Some(kind) = kind(file, is_newest) {
            kinds.entry(kind).or_default().push(file.clone());
        }
    }
    Ok(kinds)
}

fn kind(file: &Path, is_newest: bool) -> Option<Kind> {
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    Some(match parts[..] {
        ["partita.toml"] => Kind::Stamp,
        ["log", "head"] => Kind::LogHead,
        ["log", _] => Kind::LogSegment,
        ["store", "map", _] if is_newest => Kind::MapNewest,
        ["store", "map", _] => Kind::MapOlder,
        ["store", "served", _] => Kind::Serving,
        ["store", "snapshots", _] => Kind::Snapshot,
        ["store", "heat", _] => Kind::Heat,
        ["store", "trash", ..] => Kind::Trash,
        ["store", _, "manifest", _] if is_newest => Kind::ManifestNewest,
        ["store", _, "manifest", _] => Kind::ManifestOlder,
        ["store", _, "newest-manifest"] => Kind::Witness,
        ["store", _, "compactions", _] => Kind::Compactions,
        ["store", _, "compacted", _] => Kind::DataFile,
        _ => return None,
    })
}

/// A way to damage a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Missing,
    CutToHalf,
    CutToNothing,
    FlippedBit,
    Zeroed,
    ZeroedPage,
    OlderVersion,
    OtherFile,
}

impl Way {
    /// All ways; a flipped bit is drawn more often, because its place varies.
    const ALL: [Self; 10] = [
        Self::Missing,
        Self::CutToHalf,
        Self::CutToNothing,
        Self::FlippedBit,
        Self::FlippedBit,
        Self::FlippedBit,
        Self::Zeroed,
        Self::ZeroedPage,
        Self::OlderVersion,
        Self::OtherFile,
    ];
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::CutToHalf => "cut to half",
            Self::CutToNothing => "cut to nothing",
            Self::FlippedBit => "one bit flipped",
            Self::Zeroed => "zeroed",
            Self::ZeroedPage => "4 KiB zeroed",
            Self::OlderVersion => "replaced by an older version",
            Self::OtherFile => "replaced by another file of its kind",
        })
    }
}

/// A damage to be done: the file, and its new content, or `None` to remove the file.
pub(super) struct Damage {
    pub(super) kind: Kind,
    pub(super) way: Way,
    pub(super) file: PathBuf,
    pub(super) content: Option<Vec<u8>>,
}

/// Chooses a file of a kind, and a way that changes it.
pub(super) fn choose(
    store: &Store,
    kind: Kind,
    files: &[PathBuf],
    random: &mut Random,
) -> anyhow::Result<Damage> {
    loop {
        let file = pick(files, random).context("a kind without files")?;
        let way = *pick(&Way::ALL, random).context("no way")?;
        let intact = fs::read(store.directory.join(file))?;
        let content = match way {
            Way::Missing => None,
            Way::CutToHalf => Some(intact.split_at(intact.len() / 2).0.to_vec()),
            Way::CutToNothing => Some(Vec::new()),
            Way::FlippedBit => Some(flipped(&intact, random)),
            Way::Zeroed => Some(vec![0; intact.len()]),
            Way::ZeroedPage => Some(zeroed_page(&intact, random)),
            Way::OlderVersion => fs::read(store.older.join(file)).ok(),
            Way::OtherFile => {
                let other = pick(files, random).context("a kind without files")?;
                Some(fs::read(store.directory.join(other))?)
            }
        };
        // There is no older version, or the file would stay as it is: choose again.
        if content.as_ref() == Some(&intact) || (content.is_none() && way != Way::Missing) {
            continue;
        }
        return Ok(Damage {
            kind,
            way,
            file: file.clone(),
            content,
        });
    }
}

fn pick<'a, T>(of: &'a [T], random: &mut Random) -> Option<&'a T> {
    of.get(random.below(of.len().max(1) as u64) as usize)
}

/// The number of bytes before the trailing zeros of a preallocated file. Damage is done there, because most damage of
/// the zeros is harmless.
fn used(content: &[u8]) -> usize {
    content
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(1, |last| last + 1)
}

fn flipped(intact: &[u8], random: &mut Random) -> Vec<u8> {
    let mut content = intact.to_vec();
    let place = random.below(used(intact) as u64) as usize;
    if let Some(byte) = content.get_mut(place) {
        *byte ^= 1 << random.below(8);
    }
    content
}

fn zeroed_page(intact: &[u8], random: &mut Random) -> Vec<u8> {
    const PAGE: usize = 4096;
    let mut content = intact.to_vec();
    let page = random.below(used(intact).div_ceil(PAGE) as u64) as usize;
    content
        .iter_mut()
        .skip(page * PAGE)
        .take(PAGE)
        .for_each(|byte| *byte = 0);
    content
}
