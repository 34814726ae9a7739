//! One process per directory.
//!
//! The operating system locks the file `lock` and releases it when the process ends, so a killed process leaves nothing
//! to clean up. The file holds the process id, which a second process shows in its error message.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::Error;

/// A held lock; released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the directory.
    pub(super) fn take(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| Error::io("open", &path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked {
                    path: directory.to_owned(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path, source)),
        }
        // Writing the process id may fail on a full disk; the lock works without it.
        let _ = note_holder(&mut file);
        Ok(Self { _file: file })
    }
}

fn note_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
