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
    /// The last record write that is not synced yet: the inode of its file, its offset and its length.
    last_write: Option<(u64, u64, usize)>,
    syncs: usize,
    head_writes: usize,
    /// How many calls the process still completes before it is killed.
    calls_left: Option<usize>,
    killed: bool,
}

/// What a simulated kill does to a call.
enum Call {
    Done,
    /// The process is killed during the call: a write writes half of its bytes, other calls complete.
    Killed,
    /// The process was killed earlier: the call does nothing.
    NotMade,
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

    /// The number of file syncs, without those of the head.
    pub fn sync_count(&self) -> usize {
        self.faults.lock().syncs
    }

    /// The number of updates of the head, each with a sync.
    pub fn head_write_count(&self) -> usize {
        self.faults.lock().head_writes
    }

    /// Simulates a kill: the process completes this many calls and is killed during the next one, of which a write
    /// writes only half of its bytes. Later calls do nothing. Syncs of a directory do not count as calls, and always
    /// complete.
    pub fn kill_after(&self, calls: usize) {
        let mut faults = self.faults.lock();
        (faults.calls_left, faults.killed) = (Some(calls), false);
    }

    /// Ends a simulated kill: another process begins.
    pub fn restart(&self) {
        let mut faults = self.faults.lock();
        (faults.calls_left, faults.killed) = (None, false);
    }

    fn call(&self) -> Call {
        let mut faults = self.faults.lock();
        match faults.calls_left {
            _ if faults.killed => Call::NotMade,
            None => Call::Done,
            Some(0) => {
                faults.killed = true;
                Call::Killed
            }
            Some(left) => {
                faults.calls_left = Some(left - 1);
                Call::Done
            }
        }
    }

    /// Runs a call other than a write: it is done as a whole, even if the process is killed during it, or not at all.
    fn whole<T>(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.call() {
            Call::Done => make(),
            Call::Killed => make().and(Err(killed())),
            Call::NotMade => Err(killed()),
        }
    }

    /// Writes all bytes, or half of them if the process is killed during the call.
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.call() {
            Call::Done => OsDisk.write_at(file, bytes, offset),
            Call::Killed => {
                let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
                OsDisk.write_at(file, half, offset).and(Err(killed()))
            }
            Call::NotMade => Err(killed()),
        }
    }
}

fn killed() -> io::Error {
    io::Error::other("the process was killed")
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path, bytes: u64) -> io::Result<File> {
        if self.faults.lock().full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.whole(|| OsDisk.create(path, bytes))
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        // Faults apply only to records, and at offset 0 is the header of a new segment.
        if offset > 0 {
            self.faults.lock().last_write = Some((inode(file)?, offset, bytes.len()));
        }
        self.write(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let inode = inode(file)?;
        let fault = {
            let mut faults = self.faults.lock();
            faults.syncs += 1;
            // A recycled file is also synced when it becomes a new segment. That is not the sync of a record.
            let record = faults.last_write.take_if(|write| write.0 == inode);
            record.and_then(|record| Some((faults.next_sync.take()?, record)))
        };
        let Some((fault, (_, offset, count))) = fault else {
            let lazy = self.faults.lock().lazy;
            return self.whole(|| if lazy { Ok(()) } else { OsDisk.sync(file) });
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
        self.whole(|| OsDisk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.whole(|| OsDisk.remove(path))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        if self.faults.lock().lazy {
            Ok(())
        } else {
            OsDisk.sync_directory(directory)
        }
    }

    fn write_head(&self, file: &File, slot: &[u8], offset: u64) -> io::Result<()> {
        self.write(file, slot, offset)?;
        let lazy = {
            let mut faults = self.faults.lock();
            faults.head_writes += 1;
            faults.lazy
        };
        if lazy { Ok(()) } else { OsDisk.sync(file) }
    }
}

fn inode(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.ino())
}
