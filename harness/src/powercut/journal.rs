//! Reads the journal of a program that ran with the library of `harness/preload`, which describes the format.

use anyhow::{Context, bail};

/// Bytes of a record before its texts.
const HEAD: usize = 33;

/// A change of the watched files, or a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Opened {
        inode: u64,
        created: bool,
        truncated: bool,
        path: String,
    },
    Wrote {
        inode: u64,
        offset: u64,
        data: Vec<u8>,
    },
    WroteZeros {
        inode: u64,
        offset: u64,
        length: u64,
    },
    Resized {
        inode: u64,
        length: u64,
    },
    Renamed {
        from: String,
        to: String,
    },
    Linked {
        from: String,
        to: String,
    },
    Removed {
        path: String,
    },
    MadeDirectory {
        path: String,
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

/// The records of a journal. The last record may be incomplete, because the program was killed; it is left out.
pub(super) fn read(mut bytes: &[u8]) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    while let Some((record, rest)) = split(bytes)? {
        records.push(record);
        bytes = rest;
    }
    Ok(records)
}

fn split(bytes: &[u8]) -> anyhow::Result<Option<(Record, &[u8])>> {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else {
        return Ok(None);
    };
    let number = |at: usize| {
        let bytes = head[1 + 8 * at..9 + 8 * at].try_into();
        bytes.map_or(0, u64::from_le_bytes)
    };
    let length = |at: usize| {
        let bytes = head[25 + 4 * at..29 + 4 * at].try_into();
        bytes.map_or(0, u32::from_le_bytes) as usize
    };
    let Some((first, rest)) = rest.split_at_checked(length(0)) else {
        return Ok(None);
    };
    let Some((second, rest)) = rest.split_at_checked(length(1)) else {
        return Ok(None);
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).context("a path is not UTF-8");
    let [a, b, c] = [0, 1, 2].map(number);
    let record = match head[0] {
        1 => Record::Opened {
            inode: a,
            created: b & 1 != 0,
            truncated: b & 2 != 0,
            path: text(first)?,
        },
        2 => Record::Wrote {
            inode: a,
            offset: b,
            data: first.to_vec(),
        },
        3 => Record::WroteZeros {
            inode: a,
            offset: b,
            length: c,
        },
        4 => Record::Resized {
            inode: a,
            length: b,
        },
        5 => Record::Renamed {
            from: text(first)?,
            to: text(second)?,
        },
        6 => Record::Linked {
            from: text(first)?,
            to: text(second)?,
        },
        7 => Record::Removed { path: text(first)? },
        8 => Record::MadeDirectory { path: text(first)? },
        9 => Record::SyncBegan { sync: a },
        10 => Record::SyncEnded {
            inode: a,
            sync: b,
            succeeded: c == 1,
        },
        kind => bail!("the journal has a record of the unknown kind {kind}"),
    };
    Ok(Some((record, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u8, numbers: [u64; 3], first: &[u8], second: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for text in [first, second] {
            bytes.extend_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
        }
        [&bytes, first, second].concat()
    }

    #[test]
    fn reads_up_to_the_record_that_the_kill_cut_short() {
        let all = [
            bytes(1, [7, 1, 0], b"/a", b""),
            bytes(2, [7, 3, 0], b"abc", b""),
            bytes(5, [0; 3], b"/a", b"/b"),
        ]
        .concat();
        let records = read(&all).unwrap();
        assert_eq!(records.len(), 3);
        let wrote = Record::Wrote {
            inode: 7,
            offset: 3,
            data: b"abc".to_vec(),
        };
        assert_eq!(records[1], wrote);
        for cut in 0..all.len() {
            let part = read(&all[..cut]).unwrap();
            assert!(part.len() < 3 && part == records[..part.len()]);
        }
        assert!(read(&bytes(11, [0; 3], b"", b"")).is_err());
    }
}
