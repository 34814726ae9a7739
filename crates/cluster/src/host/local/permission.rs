//! Who allows a host to serve ranges, and to decide their changes.

use crate::coordinator::Coordinator;
use std::sync::Arc;

/// Who allows a host to serve ranges, and to decide their changes.
#[derive(Clone)]
pub enum Permission {
    /// The coordinator of this process, which has the store for itself.
    Coordinator(Arc<dyn Coordinator>),
    /// The lease of this process in a cluster: the function says whether it is valid now. Each range has its own
    /// activation.
    Lease(Arc<dyn Fn() -> bool + Send + Sync>),
}

impl Permission {
    /// Whether the host may decide a change now.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            Self::Coordinator(_) => true,
            Self::Lease(is_valid) => is_valid(),
        }
    }

    /// Whether other processes may write the partition map, too.
    pub(super) const fn is_shared(&self) -> bool {
        matches!(self, Self::Lease(_))
    }
}
