//! A disk that fails on request, for tests.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, OsDisk};
use crate::AppendFault;

/// The disk of the machine, with injected faults. Clones share the faults.
#[derive(Clone, Debug, Default)]
pub struct FaultyDisk {
    faults: Arc<Mutex<Faults>>,
}

#[derive(Debug, Default)]
struct Faults {
    full: bool,
    lazy: bool,
    next_sync: Option<AppendFault>,
    /// The last write of a record that is not synced yet: its file, offset and length.
    last_write: Option<(u64, u64, usize)>,
    syncs: usize,
}

impl FaultyDisk {
    /// Makes the sync of the next group fail.
    pub fn fail_next_sync(&self, fault: AppendFault) {
        self.faults.lock().next_sync = Some(fault);
    }

    /// A disk that skips syncs, for single-process tests that would otherwise sync thousands of times.
    pub fn lazy() -> Self {
        let disk = Self::default();
        disk.faults.lock().lazy = true;
        disk
    }

    /// With `true`, creating files fails until the next call with `false`.
    pub fn set_full(&self, full: bool) {
        self.faults.lock().full = full;
    }

    /// The number of file syncs.
    pub fn sync_count(&self) -> usize {
        self.faults.lock().syncs
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path, bytes: u64) -> io::Result<File> {
        if self.faults.lock().full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        OsDisk.create(path, bytes)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        // Offset 0 is the header of a new segment; faults are for records.
        if offset > 0 {
            self.faults.lock().last_write = Some((inode(file)?, offset, bytes.len()));
        }
        OsDisk.write_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let inode = inode(file)?;
        let fault = {
            let mut faults = self.faults.lock();
            faults.syncs += 1;
            // The sync of a recycled file as a new segment is not the sync of a record.
            let record = faults.last_write.take_if(|write| write.0 == inode);
            record.and_then(|record| Some((faults.next_sync.take()?, record)))
        };
        let Some((fault, (_, offset, count))) = fault else {
            return match self.faults.lock().lazy {
                true => Ok(()),
                false => OsDisk.sync(file),
            };
        };
        match fault {
            AppendFault::Durable => {}
            AppendFault::Lost => OsDisk.write_at(file, &vec![0; count], offset)?,
            AppendFault::Torn => {
                let kept = count / 2;
                OsDisk.write_at(file, &vec![0; count - kept], offset + kept as u64)?;
            }
        }
        Err(io::Error::other("planted"))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        if self.faults.lock().lazy {
            Ok(())
        } else {
            OsDisk.sync_directory(directory)
        }
    }
}

fn inode(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.ino())
}
