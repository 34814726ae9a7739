//! Absolute paths; symbolic links are not resolved.

use std::ffi::{CString, c_int};

/// Maximum length of a path that is read from `/proc`, in bytes.
const PATH_MAX: usize = 4_096;

/// The absolute path of a path that a call was given, relative to an open folder or the working folder.
pub(crate) fn absolute(dir: c_int, path: &[u8]) -> Option<Vec<u8>> {
    if path.first() == Some(&b'/') {
        return Some(normal(path));
    }
    let mut joined = match dir {
        libc::AT_FDCWD => link(c"/proc/self/cwd".to_owned())?,
        dir => of_fd(dir)?,
    };
    joined.push(b'/');
    joined.extend_from_slice(path);
    Some(normal(&joined))
}

/// The path of an open file; a deleted one has ` (deleted)` at the end.
pub(crate) fn of_fd(fd: c_int) -> Option<Vec<u8>> {
    link(CString::new(format!("/proc/self/fd/{fd}")).ok()?)
}

/// The target of a symbolic link.
fn link(path: CString) -> Option<Vec<u8>> {
    let mut target = vec![0; PATH_MAX];
    let (bytes, length) = (target.as_mut_ptr(), target.len());
    // SAFETY: the path ends with a zero, and `bytes` has room for `length` bytes.
    let count = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            bytes,
            length,
        )
    };
    target.truncate(usize::try_from(count).ok()?);
    Some(target)
}

/// The path without empty parts, `.` and `..`.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut normal = Vec::with_capacity(path.len());
    for part in parts {
        normal.push(b'/');
        normal.extend_from_slice(part);
    }
    normal
}
