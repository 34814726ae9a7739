//! Errors of the object store and of objects, as errors of an open.

use std::io;

use object_store::path::Path;

use super::object::Fault;
use crate::OpenWalError;

/// The store failed for too long, or refused a request.
pub(super) fn store_failed(error: object_store::Error) -> OpenWalError {
    OpenWalError::Io(io::Error::other(error))
}

/// An object cannot be read.
pub(super) fn unreadable(path: &Path, fault: Fault) -> OpenWalError {
    match fault {
        Fault::Damaged(what) => damaged(path, what),
        Fault::Version(found) => OpenWalError::UnknownVersion {
            path: path.to_string(),
            found,
        },
    }
}

/// An object is damaged.
pub(super) fn damaged(path: &Path, what: &'static str) -> OpenWalError {
    OpenWalError::Damaged {
        path: path.to_string(),
        what,
    }
}

/// An object that existed is missing.
pub(super) fn missing(path: &Path, what: &'static str) -> OpenWalError {
    OpenWalError::Missing {
        path: path.to_string(),
        what,
    }
}
