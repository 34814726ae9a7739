//! The workloads, and the expected answer to each.

use clap::ValueEnum;

/// One of the fixed workloads of the README's table, in the table's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkloadKind {
    /// Get one of 100,000 prepared entities by its keys, at random
    #[value(name = "get")]
    PointGet,
    /// Insert one entity, over 1,000 partitions
    InsertMany,
    /// Insert one entity, always into the same partition
    InsertOne,
    /// Insert 100 entities as one entity group transaction
    Batch,
    /// Read a partition of 1,000 entities as one page
    Page,
}

impl WorkloadKind {
    /// The name on the command line and in JSON.
    pub fn name(self) -> String {
        crate::value_name(self)
    }

    /// The name in the printed table.
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
    pub fn entities(self) -> u64 {
        match self {
            Self::PointGet | Self::InsertMany | Self::InsertOne => 1,
            Self::Batch => 100,
            Self::Page => 1_000,
        }
    }

    /// Whether it changes the table.
    pub fn writes(self) -> bool {
        matches!(self, Self::InsertMany | Self::InsertOne | Self::Batch)
    }

    /// The table of the workload.
    pub fn table(self) -> &'static str {
        match self {
            Self::PointGet | Self::Page => "benchread",
            Self::InsertMany => "benchmany",
            Self::InsertOne => "benchone",
            Self::Batch => "benchbatch",
        }
    }

    /// The status of a correct answer.
    pub fn status(self) -> u16 {
        match self {
            Self::PointGet | Self::Page => 200,
            Self::InsertMany | Self::InsertOne => 204,
            Self::Batch => 202,
        }
    }

    /// The smallest body of a correct answer, bytes. An empty page and the answer to a refused batch, which has a
    /// single part, are smaller.
    pub fn body_bytes_min(self) -> u64 {
        match self {
            Self::PointGet => 1_000,
            Self::InsertMany | Self::InsertOne => 0,
            Self::Batch => 100 * 100,
            Self::Page => 1_000 * 1_000,
        }
    }
}
