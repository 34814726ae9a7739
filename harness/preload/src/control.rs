//! The control file: which calls fail, and how far the wall clock is shifted.
//!
//! ```text
//! clock SECONDS
//! fault OPERATION,OPERATION… ERRNO PERMILLE whole|half|after|hold PART
//! ```
//!
//! The first fault that names the operation of a call, and whose PART occurs in the path, makes PERMILLE of 1,000 such
//! calls fail with ERRNO. With `half`, a write of more than 512 bytes writes half of them and succeeds; a shorter write
//! fails. With `after`, a rename or link is made and then fails. With `hold`, a call waits until the file no longer says so,
//! and does not fail. The tests replace the file by a rename, so each call reads one whole version.

use std::ffi::c_int;

/// Maximum length of the control file, in bytes.
pub(crate) const LENGTH_MAX: usize = 2_048;

/// A call that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Open,
    /// Opening with the permission to create, and creating a folder.
    Create,
    Read,
    Write,
    Truncate,
    Sync,
    Rename,
    Link,
    Unlink,
}

impl Operation {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Unlink => "unlink",
        }
    }
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The call fails.
    Whole,
    /// A write writes half of its bytes.
    Half,
    /// A rename or link is made, and fails.
    After,
    /// The call waits while the fault lasts.
    Hold,
}

/// A fault that applies to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) errno: c_int,
    pub(crate) permille: u64,
    pub(crate) extent: Extent,
}

/// The seconds that the clock is shifted by.
pub(crate) fn clock_shift(text: &[u8]) -> i64 {
    lines(text)
        .find_map(|line| line.strip_prefix("clock ")?.trim().parse().ok())
        .unwrap_or_default()
}

/// The first fault in the control file `text` that applies to an operation on a path.
pub(crate) fn fault(text: &[u8], operation: Operation, path: &[u8]) -> Option<Fault> {
    lines(text).find_map(|line| {
        let mut words = line.strip_prefix("fault ")?.split(' ');
        let mut operations = words.next()?.split(',');
        let is_meant = operations.any(|name| name == operation.name());
        let errno = words.next()?.parse().ok()?;
        let permille = words.next()?.parse().ok()?;
        let extent = match words.next()? {
            "half" => Extent::Half,
            "after" => Extent::After,
            "hold" => Extent::Hold,
            _ => Extent::Whole,
        };
        let part = words.next()?.as_bytes();
        let is_there = path.windows(part.len().max(1)).any(|bytes| bytes == part);
        (is_meant && is_there).then_some(Fault {
            errno,
            permille,
            extent,
        })
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &str> {
    str::from_utf8(text).unwrap_or_default().lines()
}
