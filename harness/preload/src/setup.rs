//! The settings from the environment variables, and the state of the library.

use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::control::{self, Extent, Fault, Operation};
use crate::fail;
use crate::journal::Record;

/// The pause between two looks at the control file while it holds a call.
const HOLD_PAUSE: Duration = Duration::from_millis(20);

/// Set at the first call.
static SETUP: OnceLock<Option<Setup>> = OnceLock::new();

pub(crate) struct Setup {
    root: Vec<u8>,
    /// The device of the root. Files on other devices are not watched.
    device: libc::dev_t,
    journal: Option<c_int>,
    control: Option<CString>,
    /// Held while a change is made and recorded, so that the journal has the order of the changes.
    pub(crate) lock: Mutex<()>,
    syncs: AtomicU64,
    draws: AtomicU64,
}

/// The setup; `None` without `PRELOAD_ROOT`, or if that folder cannot be opened.
pub(crate) fn get() -> Option<&'static Setup> {
    SETUP.get_or_init(Setup::from_environment).as_ref()
}

impl Setup {
    fn from_environment() -> Option<Self> {
        let variable = |name| Some(std::env::var_os(name)?.into_vec());
        let root = variable("PRELOAD_ROOT")?;
        let file = |name| CString::new(variable(name)?).ok();
        let root_file = file("PRELOAD_ROOT")?;
        let folder = open_raw(&root_file, libc::O_RDONLY | libc::O_CLOEXEC)?;
        let device = status_of(folder)?.st_dev;
        close_raw(folder);
        let append = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC;
        Some(Self {
            root,
            device,
            journal: file("PRELOAD_JOURNAL").and_then(|path| open_raw(&path, append)),
            control: file("PRELOAD_CONTROL"),
            lock: Mutex::new(()),
            syncs: AtomicU64::new(0),
            draws: AtomicU64::new(0),
        })
    }

    /// Whether a path is below the root, or the root.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        path.strip_prefix(self.root.as_slice())
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
    }

    /// The inode of an open file or folder on the root's device.
    pub(crate) fn inode(&self, fd: c_int) -> Option<u64> {
        let before = crate::errno();
        let status = status_of(fd);
        fail(before);
        let status = status?;
        let kind = status.st_mode & libc::S_IFMT;
        let is_file = kind == libc::S_IFREG || kind == libc::S_IFDIR;
        (is_file && status.st_dev == self.device).then_some(status.st_ino)
    }

    pub(crate) const fn has_control(&self) -> bool {
        self.control.is_some()
    }

    /// The number of the next sync.
    pub(crate) fn next_sync(&self) -> u64 {
        self.syncs.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a change with `call`, and appends its record if it succeeded.
    pub(crate) fn change<'a>(
        &self,
        call: impl FnOnce() -> c_int,
        record: impl FnOnce(c_int) -> Record<'a>,
    ) -> c_int {
        let _alone = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let result = call();
        if result >= 0 {
            self.journal(&record(result));
        }
        result
    }

    /// Appends a record.
    pub(crate) fn append(&self, record: &Record<'_>) {
        let _alone = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.journal(record);
    }

    /// Appends a record; the caller holds the lock.
    pub(crate) fn journal(&self, record: &Record<'_>) {
        if let Some(fd) = self.journal {
            append_raw(fd, &record.encode());
        }
    }

    /// The fault that applies to an operation on a watched path. Counts it in the file whose path is `PRELOAD_CONTROL`
    /// followed by `.hits`.
    pub(crate) fn matches(
        &self,
        operation: Operation,
        path: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Fault> {
        let control = self.control.as_ref()?;
        let text = read_raw(control)?;
        let path = path().filter(|path| self.contains(path))?;
        let fault = control::fault(&text, operation, &path)?;
        if fault.extent == Extent::Hold {
            wait_while_held(control, operation, &path);
            return None;
        }
        if self.draw() >= fault.permille {
            return None;
        }
        let mut hits = control.as_bytes().to_vec();
        hits.extend_from_slice(b".hits");
        let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
        if let Some(fd) = CString::new(hits)
            .ok()
            .and_then(|hits| open_raw(&hits, flags))
        {
            let path = String::from_utf8_lossy(&path);
            let line = format!("{} {} {path}\n", operation.name(), fault.errno);
            append_raw(fd, line.as_bytes());
            close_raw(fd);
        }
        Some(fault)
    }

    /// As [`Setup::matches`]; also sets `errno` if the call fails.
    pub(crate) fn fails(
        &self,
        operation: Operation,
        path: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Fault> {
        let fault = self.matches(operation, path)?;
        fail(fault.errno);
        Some(fault)
    }

    /// Like [`Self::fails`], for a path that is known.
    pub(crate) fn fails_at(&self, operation: Operation, path: &[u8]) -> bool {
        self.fails(operation, || Some(path.to_vec())).is_some()
    }

    /// Seconds by which the wall clock is shifted.
    pub(crate) fn clock_shift(&self) -> i64 {
        let before = crate::errno();
        let text = self.control.as_ref().and_then(|control| read_raw(control));
        fail(before);
        text.map_or(0, |text| control::clock_shift(&text))
    }

    /// Sets the time of a changed file to the shifted clock: the kernel used the true time.
    pub(crate) fn touch(&self, fd: c_int) {
        let shift = self.clock_shift();
        if shift == 0 {
            return;
        }
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let wall = libc::CLOCK_REALTIME;
        // SAFETY: `now` is valid for writing.
        unsafe { libc::syscall(libc::SYS_clock_gettime, wall, &raw mut now) };
        now.tv_sec += shift;
        let times = [now, now];
        let no_path = std::ptr::null::<std::ffi::c_char>();
        // SAFETY: two times are valid for reading; without a path the call sets the times of `fd`.
        unsafe { libc::syscall(libc::SYS_utimensat, fd, no_path, times.as_ptr(), 0) };
    }

    /// A pseudorandom number below 1,000.
    fn draw(&self) -> u64 {
        let mut draw = self.draws.fetch_add(1, Ordering::Relaxed);
        draw = (draw ^ (draw >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        draw = (draw ^ (draw >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (draw ^ (draw >> 31)) % 1_000
    }
}

/// Waits until the control file no longer holds an operation on a path.
fn wait_while_held(control: &CStr, operation: Operation, path: &[u8]) {
    let is_held = || {
        let fault = read_raw(control).and_then(|text| control::fault(&text, operation, path));
        fault.is_some_and(|fault| fault.extent == Extent::Hold)
    };
    while is_held() {
        std::thread::park_timeout(HOLD_PAUSE);
    }
}

fn status_of(fd: c_int) -> Option<libc::stat> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the memory is valid for writing, and written if the call succeeds; `stat` has no invalid values.
    unsafe {
        let result = libc::fstat(fd, status.as_mut_ptr());
        (result == 0).then(|| status.assume_init())
    }
}

fn open_raw(path: &CStr, flags: c_int) -> Option<c_int> {
    let (dir, mode) = (libc::AT_FDCWD, 0o644);
    // SAFETY: the path ends with a zero.
    let fd = unsafe { libc::syscall(libc::SYS_openat, dir, path.as_ptr(), flags, mode) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

fn close_raw(fd: c_int) {
    // SAFETY: the caller has opened `fd`, and does not use it again.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Reads a short file.
fn read_raw(path: &CStr) -> Option<Vec<u8>> {
    let fd = open_raw(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let mut bytes = vec![0; control::LENGTH_MAX];
    // SAFETY: there is room for this many bytes.
    let count = unsafe { libc::syscall(libc::SYS_read, fd, bytes.as_mut_ptr(), bytes.len()) };
    close_raw(fd);
    bytes.truncate(usize::try_from(count).ok()?);
    Some(bytes)
}

/// Writes all bytes. A journal that cannot be written would hide changes, so the process ends.
fn append_raw(fd: c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are valid for reading.
        let count = unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => bytes = bytes.get(count..).unwrap_or_default(),
            _ => std::process::abort(),
        }
    }
}
