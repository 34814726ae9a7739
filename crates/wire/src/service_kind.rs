//! The storage services, and their names in credentials and hosts.

/// A storage service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServiceKind {
    /// Tables of entities.
    Table,
    /// Queues of messages.
    Queue,
    /// Containers of blobs.
    Blob,
}

impl ServiceKind {
    /// Its letter in `ss` of an account SAS.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Table => "t",
            Self::Queue => "q",
            Self::Blob => "b",
        }
    }

    /// Its label in hosts (`account.table.core.windows.net`) and in the resource that a service SAS signs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Queue => "queue",
            Self::Blob => "blob",
        }
    }
}
