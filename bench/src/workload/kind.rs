//! Which workloads there are and what a right answer to each looks like.

use std::str::FromStr;

use anyhow::bail;

/// One of the fixed workloads of the README's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// Get one of 100,000 prepared entities by its keys, at random.
    PointGet,
    /// Insert one entity, over 1,000 partitions.
    InsertMany,
    /// Insert one entity, always into the same partition.
    InsertOne,
    /// Insert 100 entities as one entity group transaction.
    Batch,
    /// Read a partition of 1,000 entities as one page.
    Page,
}

impl WorkloadKind {
    /// All, in the order of the table.
    pub const ALL: [Self; 5] = [
        Self::PointGet,
        Self::InsertMany,
        Self::InsertOne,
        Self::Batch,
        Self::Page,
    ];

    /// The name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointGet => "get",
            Self::InsertMany => "insert-many",
            Self::InsertOne => "insert-one",
            Self::Batch => "batch",
            Self::Page => "page",
        }
    }

    /// The name in the printed table.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::PointGet => "point get",
            Self::InsertMany => "durable insert, many partitions",
            Self::InsertOne => "durable insert, one partition",
            Self::Batch => "batches of 100 inserts",
            Self::Page => "1,000-entity pages",
        }
    }

    /// Entities in one request or its answer.
    #[must_use]
    pub fn entities(self) -> u64 {
        match self {
            Self::PointGet | Self::InsertMany | Self::InsertOne => 1,
            Self::Batch => 100,
            Self::Page => 1_000,
        }
    }

    /// Whether it changes the table.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::InsertMany | Self::InsertOne | Self::Batch)
    }

    /// The table it works on.
    #[must_use]
    pub fn table(self) -> &'static str {
        match self {
            Self::PointGet | Self::Page => "benchread",
            Self::InsertMany => "benchmany",
            Self::InsertOne => "benchone",
            Self::Batch => "benchbatch",
        }
    }

    /// The status of a right answer.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::PointGet | Self::Page => 200,
            Self::InsertMany | Self::InsertOne => 204,
            Self::Batch => 202,
        }
    }

    /// The least body of a right answer, bytes. It tells a whole page from an empty one, and a batch done from a
    /// batch refused, whose answer has a single part.
    #[must_use]
    pub fn body_bytes_min(self) -> u64 {
        match self {
            Self::PointGet => 1_000,
            Self::InsertMany | Self::InsertOne => 0,
            Self::Batch => 100 * 100,
            Self::Page => 1_000 * 1_000,
        }
    }
}

impl FromStr for WorkloadKind {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|kind| kind.name() == text) {
            Some(kind) => Ok(kind),
            None => {
                bail!("no workload {text:?}; there are get, insert-many, insert-one, batch, page")
            }
        }
    }
}
