//! A library for `LD_PRELOAD` that intercepts the file calls and the clock of a program, for `cargo harness powercut`,
//! `diskfaults` and `clocks`.
//!
//! It replaces the functions of the C library that open, read, write, sync, rename and delete files, and the wall clock.
//! Each replacement makes the same system call, and in addition
//!
//! - appends what was changed and what was synced to a journal ([`journal`]);
//! - fails calls as the control file says, and shifts the wall clock ([`control`]).
//!
//! | variable | meaning |
//! | --- | --- |
//! | `PRELOAD_ROOT` | only files below this folder are watched; an absolute path without symbolic links |
//! | `PRELOAD_JOURNAL` | the journal, which must exist; without this variable no journal is written |
//! | `PRELOAD_CONTROL` | the control file, which must always exist and may be replaced at any time; without this variable no call fails and the clock is not shifted |
//!
//! Without the first variable every call goes to the kernel unchanged.
//!
//! The library does not see changes by a program that makes system calls directly, maps files for writing or uses
//! io_uring. So the power cut test compares the journal with the files: every byte of them must be explained.
//!
//! A file system in user space (FUSE) and a device mapper would do the same without `unsafe`, but need privileges and
//! modules that a container does not have. No crate offers this: the crates for `LD_PRELOAD` only look up the replaced
//! function, which this library does not need, because it makes the system call itself.

#![allow(
    unsafe_code,
    reason = "replaces functions of the C library, and makes system calls; each block says why it is sound"
)]

mod control;
mod journal;
mod paths;
mod setup;

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::sync::PoisonError;

use libc::{iovec, mode_t, off64_t, size_t, ssize_t, timespec};

use crate::control::{Extent, Operation};
use crate::journal::Record;
use crate::setup::Setup;

/// A fault with `half` fails writes of at most this many bytes, and halves longer ones.
const HALVED_MIN: usize = 512;

// SAFETY, of all functions below: callers follow the rules of the C library's function of the same name, so pointers are
// valid for the lengths that come with them, and strings end with a zero. The functions pass these arguments on to the
// kernel unchanged, or with a shorter length.

/// `open` and its relatives take the mode as a variable argument. In the calling conventions of Linux on x86-64 and
/// aarch64, a variable argument of an integer type is passed as a fixed one; if the caller passes no mode, the argument
/// has an arbitrary value, which the kernel does not read.
#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: see above.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: see above.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: see above.
    unsafe { open_at(dir, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: see above.
    unsafe { open_at(dir, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, bytes: *mut c_void, count: size_t) -> ssize_t {
    // SAFETY: see above.
    read_unless_failing(fd, || unsafe {
        libc::syscall(libc::SYS_read, fd, bytes, count)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: see above.
    read_unless_failing(fd, || unsafe {
        libc::syscall(libc::SYS_readv, fd, parts, count)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(
    fd: c_int,
    bytes: *mut c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: see above.
    let call = || unsafe { libc::syscall(libc::SYS_pread64, fd, bytes, count, offset) };
    read_unless_failing(fd, call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn preadv64v2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off64_t,
    flags: c_int,
) -> ssize_t {
    // The kernel takes the offset in two arguments; on 64-bit machines the first one holds all of it.
    // SAFETY: see above.
    let call =
        || unsafe { libc::syscall(libc::SYS_preadv2, fd, parts, count, offset, 0_i64, flags) };
    read_unless_failing(fd, call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: see above.
    unsafe { write_at(fd, bytes, count, None) }
}

/// Writes only the first part if the file is watched. Callers must expect such short writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if let Some(setup) = setup::get()
        && setup.inode(fd).is_some()
    {
        let count = usize::try_from(count).unwrap_or_default();
        // SAFETY: the caller passes `count` valid parts.
        let parts = unsafe { std::slice::from_raw_parts(parts, count) };
        let Some(first) = parts.iter().find(|part| part.iov_len > 0) else {
            return 0;
        };
        // SAFETY: see above.
        return unsafe { write_at(fd, first.iov_base, first.iov_len, None) };
    }
    // SAFETY: see above.
    status_size(unsafe { libc::syscall(libc::SYS_writev, fd, parts, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(
    fd: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: see above.
    unsafe { write_at(fd, bytes, count, Some(offset)) }
}

/// Not supported, so that the caller reads and writes the bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn copy_file_range(
    _from: c_int,
    _from_offset: *mut off64_t,
    _to: c_int,
    _to_offset: *mut off64_t,
    _count: size_t,
    _flags: c_uint,
) -> ssize_t {
    fail(libc::ENOSYS);
    -1
}

/// Not supported, so that the caller reads and writes the bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(
    _to: c_int,
    _from: c_int,
    _offset: *mut off64_t,
    _count: size_t,
) -> ssize_t {
    fail(libc::ENOSYS);
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, length: off64_t) -> c_int {
    // SAFETY: takes no pointer.
    let call = || status(unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) });
    let Some((setup, inode)) = setup::get().and_then(|setup| Some((setup, setup.inode(fd)?)))
    else {
        return call();
    };
    if setup
        .fails(Operation::Truncate, || paths::of_fd(fd))
        .is_some()
    {
        return -1;
    }
    setup.change(call, |_| Record::Resized {
        inode,
        length: length.cast_unsigned(),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fsync)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fdatasync)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let call = || {
        let (dir, flags) = (libc::AT_FDCWD, 0);
        // SAFETY: see above.
        status(unsafe { libc::syscall(libc::SYS_renameat2, dir, from, dir, to, flags) })
    };
    // SAFETY: see above.
    let paths = unsafe { (watched(libc::AT_FDCWD, from), watched(libc::AT_FDCWD, to)) };
    let record = |from, to| Record::Renamed { from, to };
    change_two(paths, Operation::Rename, call, record)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn linkat(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    let call =
        || status(unsafe { libc::syscall(libc::SYS_linkat, from_dir, from, to_dir, to, flags) });
    // SAFETY: see above.
    let paths = unsafe { (watched(from_dir, from), watched(to_dir, to)) };
    let record = |from, to| Record::Linked { from, to };
    change_two(paths, Operation::Link, call, record)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: see above.
    unsafe { remove(libc::AT_FDCWD, path, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { remove(dir, path, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: see above.
    unsafe { remove(libc::AT_FDCWD, path, libc::AT_REMOVEDIR) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: see above.
    let call = || status(unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode) });
    // SAFETY: see above.
    let Some((setup, path)) = (unsafe { watched(libc::AT_FDCWD, path) }) else {
        return call();
    };
    if setup.fails_at(Operation::Create, &path) {
        return -1;
    }
    setup.change(call, |_| Record::MadeDirectory { path })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: see above.
    let result = status(unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) });
    let is_wall = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE);
    if result == 0
        && is_wall
        && let Some(setup) = setup::get()
    {
        // SAFETY: the kernel has just written the time there.
        unsafe { (*time).tv_sec += setup.clock_shift() };
    }
    result
}

unsafe fn open_at(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    let call = || status(unsafe { libc::syscall(libc::SYS_openat, dir, path, flags, mode) });
    // SAFETY: as the caller's.
    let Some((setup, name)) = (unsafe { watched(dir, path) }) else {
        return call();
    };
    let creates = flags & libc::O_CREAT != 0;
    let operation = if creates {
        Operation::Create
    } else {
        Operation::Open
    };
    if setup.fails_at(operation, &name) {
        return -1;
    }
    let _alone = setup.lock.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as the caller's; tells whether the file exists.
    let existed = unsafe { libc::syscall(libc::SYS_faccessat, dir, path, libc::F_OK) } == 0;
    let fd = call();
    if fd >= 0
        && let Some(inode) = setup.inode(fd)
    {
        let created = creates && !existed;
        setup.journal(&Record::Opened {
            inode,
            created,
            truncated: existed && flags & libc::O_TRUNC != 0,
            path: name,
        });
        if created {
            setup.touch(fd);
        }
    }
    fd
}

unsafe fn write_at(
    fd: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: Option<off64_t>,
) -> ssize_t {
    let call = |count: size_t| {
        // SAFETY: as the caller's; `count` is at most what the caller passed.
        status_size(unsafe {
            match offset {
                Some(offset) => libc::syscall(libc::SYS_pwrite64, fd, bytes, count, offset),
                None => libc::syscall(libc::SYS_write, fd, bytes, count),
            }
        })
    };
    let Some((setup, inode)) = setup::get().and_then(|setup| Some((setup, setup.inode(fd)?)))
    else {
        return call(count);
    };
    let count = match setup.matches(Operation::Write, || paths::of_fd(fd)) {
        None => count,
        Some(fault) if fault.extent == Extent::Half && count > HALVED_MIN => count / 2,
        Some(fault) => {
            fail(fault.errno);
            return -1;
        }
    };
    let _alone = setup.lock.lock().unwrap_or_else(PoisonError::into_inner);
    let written = call(count);
    if let Ok(length) = usize::try_from(written)
        && length > 0
    {
        // SAFETY: `length` is at most `count`, and the kernel has read that many bytes there.
        let data = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
        // SAFETY: takes no pointer. After a write at the file's position, that is the end of the write.
        let end = || unsafe { libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) };
        let offset = offset.unwrap_or_else(|| end() - written as c_long);
        setup.journal(&Record::Wrote {
            inode,
            offset: offset.cast_unsigned(),
            data,
        });
        setup.touch(fd);
    }
    written
}

fn sync(fd: c_int, number: c_long) -> c_int {
    // SAFETY: takes no pointer.
    let call = || status(unsafe { libc::syscall(number, fd) });
    let Some((setup, inode)) = setup::get().and_then(|setup| Some((setup, setup.inode(fd)?)))
    else {
        return call();
    };
    let sync = setup.next_sync();
    setup.append(&Record::SyncBegan { sync });
    let result = match setup.fails(Operation::Sync, || paths::of_fd(fd)) {
        Some(_) => -1,
        None => call(),
    };
    let errno = errno();
    let succeeded = result == 0;
    setup.append(&Record::SyncEnded {
        inode,
        sync,
        succeeded,
    });
    fail(errno);
    result
}

unsafe fn remove(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller's.
    let call = || status(unsafe { libc::syscall(libc::SYS_unlinkat, dir, path, flags) });
    // SAFETY: as the caller's.
    let Some((setup, path)) = (unsafe { watched(dir, path) }) else {
        return call();
    };
    if setup.fails_at(Operation::Unlink, &path) {
        return -1;
    }
    setup.change(call, |_| Record::Removed { path })
}

/// The result of a system call that reads, or of a failing read.
fn read_unless_failing(fd: c_int, call: impl FnOnce() -> c_long) -> ssize_t {
    if fails_read(fd) {
        return -1;
    }
    status_size(call())
}

/// Whether the control file makes this read fail.
fn fails_read(fd: c_int) -> bool {
    let Some(setup) = setup::get().filter(|setup| setup.has_control()) else {
        return false;
    };
    setup.inode(fd).is_some() && setup.fails(Operation::Read, || paths::of_fd(fd)).is_some()
}

/// The setup, and the absolute path of a call inside the watched folder.
type Watched = (&'static Setup, Vec<u8>);

/// Makes and records a call with two paths. It fails, before or after it is made, if the setup says so for the second one.
fn change_two(
    paths: (Option<Watched>, Option<Watched>),
    operation: Operation,
    call: impl FnOnce() -> c_int,
    record: impl FnOnce(Vec<u8>, Vec<u8>) -> Record<'static>,
) -> c_int {
    let (Some((setup, from)), Some((_, to))) = paths else {
        return call();
    };
    let fault = setup.matches(operation, || Some(to.clone()));
    if let Some(fault) = fault.filter(|fault| fault.extent != Extent::After) {
        fail(fault.errno);
        return -1;
    }
    let result = setup.change(call, |_| record(from, to));
    match fault {
        Some(fault) if result == 0 => {
            fail(fault.errno);
            -1
        }
        _ => result,
    }
}

/// The absolute path of `path`, if files there are watched.
unsafe fn watched(dir: c_int, path: *const c_char) -> Option<Watched> {
    let setup = setup::get()?;
    if path.is_null() {
        return None;
    }
    // SAFETY: as the caller's: the path ends with a zero.
    let path = unsafe { CStr::from_ptr(path) };
    let path = paths::absolute(dir, path.to_bytes())?;
    setup.contains(&path).then_some((setup, path))
}

/// The result of a system call without a size.
fn status(result: c_long) -> c_int {
    c_int::try_from(result).unwrap_or(-1)
}

/// The result of a system call with a size.
fn status_size(result: c_long) -> ssize_t {
    ssize_t::try_from(result).unwrap_or(-1)
}

fn errno() -> c_int {
    // SAFETY: the C library returns a valid pointer to this thread's variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the number of this thread's last error.
fn fail(errno: c_int) {
    // SAFETY: the C library returns a valid pointer to this thread's variable.
    unsafe { *libc::__errno_location() = errno };
}
