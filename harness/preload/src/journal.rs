//! The journal: every change of the watched files and every sync, in the order in which they happened.
//!
//! A change is made and its record appended under one lock. So a killed process leaves at most one change without a
//! record, and the last record may be incomplete.
//!
//! A record has a head of 33 bytes, with numbers in little endian, and then its paths or data.
//! `harness/src/powercut/journal.rs` reads it:
//!
//! | kind (1) | first number (8) | second (8) | third (8) | bytes of first text (4) | bytes of second (4) |
//! | --- | --- | --- | --- | --- | --- |
//! | 1 opened | inode | 1 created, 2 truncated | | path | |
//! | 2 wrote | inode | offset | | data | |
//! | 3 wrote zeros | inode | offset | length | | |
//! | 4 resized | inode | length | | | |
//! | 5 renamed | | | | old path | new path |
//! | 6 linked | | | | existing path | new path |
//! | 7 removed, a file or a folder | | | | path | |
//! | 8 made a folder | | | | path | |
//! | 9 a sync began | number of the sync | | | | |
//! | 10 a sync ended | inode | number of the sync | 1 succeeded | | |

/// A change or a sync.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    Opened {
        inode: u64,
        created: bool,
        truncated: bool,
        path: Vec<u8>,
    },
    Wrote {
        inode: u64,
        offset: u64,
        data: &'a [u8],
    },
    Resized {
        inode: u64,
        length: u64,
    },
    Renamed {
        from: Vec<u8>,
        to: Vec<u8>,
    },
    Linked {
        from: Vec<u8>,
        to: Vec<u8>,
    },
    Removed {
        path: Vec<u8>,
    },
    MadeDirectory {
        path: Vec<u8>,
    },
    SyncBegan {
        sync: u64,
    },
    SyncEnded {
        inode: u64,
        sync: u64,
        succeeded: bool,
    },
}

impl Record<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Opened {
                inode,
                created,
                truncated,
                path,
            } => {
                let flags = u64::from(*created) + 2 * u64::from(*truncated);
                encode(1, [*inode, flags, 0], path, b"")
            }
            Self::Wrote {
                inode,
                offset,
                data,
            } if data.iter().all(|byte| *byte == 0) => {
                encode(3, [*inode, *offset, data.len() as u64], b"", b"")
            }
            Self::Wrote {
                inode,
                offset,
                data,
            } => encode(2, [*inode, *offset, 0], data, b""),
            Self::Resized { inode, length } => encode(4, [*inode, *length, 0], b"", b""),
            Self::Renamed { from, to } => encode(5, [0; 3], from, to),
            Self::Linked { from, to } => encode(6, [0; 3], from, to),
            Self::Removed { path } => encode(7, [0; 3], path, b""),
            Self::MadeDirectory { path } => encode(8, [0; 3], path, b""),
            Self::SyncBegan { sync } => encode(9, [*sync, 0, 0], b"", b""),
            Self::SyncEnded {
                inode,
                sync,
                succeeded,
            } => encode(10, [*inode, *sync, u64::from(*succeeded)], b"", b""),
        }
    }
}

fn encode(kind: u8, numbers: [u64; 3], first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(33 + first.len() + second.len());
    bytes.push(kind);
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for text in [first, second] {
        // The conversion succeeds: Linux writes less than 2 GiB per call.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    bytes.extend_from_slice(first);
    bytes.extend_from_slice(second);
    bytes
}
