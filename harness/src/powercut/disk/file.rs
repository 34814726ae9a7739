//! The content of one file: what was synced, what was not, and what a power cut keeps of it.

use partita_load::Random;

use super::Style;
use crate::powercut::content::{Content, PAGE};

/// Bytes of a sector: a torn write ends at a sector's end, because a disk writes sectors as a whole.
const SECTOR: u64 = 512;

#[derive(Clone, Debug, Default)]
pub(super) struct FileState {
    pub(super) synced: Content,
    pub(super) pending: Vec<Pending>,
}

/// A change of a file that is not synced.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) at: u64,
    pub(super) change: DataChange,
    /// A sync of this change failed, so no later sync keeps it.
    pub(super) failed: bool,
}

#[derive(Clone, Debug)]
pub(super) enum DataChange {
    Write { offset: u64, data: Vec<u8> },
    Zeros { offset: u64, length: u64 },
    Resize { length: u64 },
}

/// Which changes of a file a power cut keeps.
enum Keep {
    All,
    /// The changes up to this moment; the last one may be torn.
    UpTo(u64),
    /// The first changes, up to a random one, which may be torn.
    Prefix,
    /// A random choice of the changed pages.
    Pages,
    /// No data; but if the file has grown, its new length.
    Length,
    None,
}

impl Keep {
    fn any(random: &mut Random) -> Self {
        match random.below(6) {
            0 => Self::All,
            1 => Self::None,
            2 => Self::Length,
            3 => Self::Prefix,
            _ => Self::Pages,
        }
    }
}

impl FileState {
    pub(super) fn end_sync(&mut self, began: u64, succeeded: bool) {
        let pending = std::mem::take(&mut self.pending);
        for mut change in pending {
            if change.at > began {
                self.pending.push(change);
            } else if !succeeded {
                change.failed = true;
                self.pending.push(change);
            } else if !change.failed {
                apply(&mut self.synced, &change.change);
            }
        }
    }

    /// The content that the program sees.
    pub(super) fn now(&self) -> Content {
        let mut content = self.synced.clone();
        for pending in &self.pending {
            apply(&mut content, &pending.change);
        }
        content
    }

    /// The content after a power cut.
    pub(super) fn cut(&self, style: Style, moment: u64, random: &mut Random) -> Content {
        let keep = match style {
            Style::Nothing => Keep::None,
            Style::Everything => Keep::All,
            Style::Moment => Keep::UpTo(moment),
            Style::Ordered => Keep::Prefix,
            Style::Mixed => Keep::any(random),
        };
        self.keep(&keep, random)
    }

    fn keep(&self, keep: &Keep, random: &mut Random) -> Content {
        let mut content = self.synced.clone();
        let first = match keep {
            Keep::All => self.pending.len(),
            Keep::UpTo(moment) => self.pending.partition_point(|change| change.at <= *moment),
            Keep::Prefix => random.below(self.pending.len() as u64 + 1) as usize,
            Keep::Pages => {
                for pending in &self.pending {
                    apply_pages(&mut content, &pending.change, random);
                }
                return content;
            }
            Keep::Length => {
                let length = self.now().len();
                if length > content.len() {
                    content.resize(length);
                }
                return content;
            }
            Keep::None => 0,
        };
        let is_torn = matches!(keep, Keep::UpTo(_) | Keep::Prefix);
        for (number, pending) in self.pending.iter().take(first).enumerate() {
            match &pending.change {
                DataChange::Write { offset, data } if is_torn && number + 1 == first => {
                    let mut count = random.below(data.len() as u64 + 1);
                    if random.chance(50) {
                        // Rounds down, so that the write ends at a sector's end, counted from the start of the file.
                        count = count.saturating_sub((offset + count) % SECTOR);
                    }
                    content.write(*offset, &data[..count as usize]);
                }
                change => apply(&mut content, change),
            }
        }
        content
    }
}

fn apply(content: &mut Content, change: &DataChange) {
    match change {
        DataChange::Write { offset, data } => content.write(*offset, data),
        DataChange::Zeros { offset, length } => content.zero(*offset, *length),
        DataChange::Resize { length } => content.resize(*length),
    }
}

/// Applies a change, or a part of its pages.
fn apply_pages(content: &mut Content, change: &DataChange, random: &mut Random) {
    let DataChange::Write { offset, data } = change else {
        if random.chance(50) {
            apply(content, change);
        }
        return;
    };
    let mut rest = data.as_slice();
    let mut at = *offset;
    while !rest.is_empty() {
        let count = rest.len().min((PAGE - at % PAGE) as usize);
        let (page, after) = rest.split_at(count);
        if random.chance(50) {
            content.write(at, page);
        }
        at += count as u64;
        rest = after;
    }
}
