//! The workloads, and the expected answer to each.
//!
//! Workloads without a name on the command line are those of a data set ([`crate::data_set`]).

use clap::ValueEnum;

use crate::entity;

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
    /// Get an entity of the data set
    #[value(skip)]
    ColdGet,
    /// Get an entity that the data set does not have
    #[value(skip)]
    AbsentGet,
    /// Read a partition whose rows were written in key order
    #[value(skip)]
    OrderedPage,
    /// Read a partition whose rows were written between those of all other partitions
    #[value(skip)]
    ScatteredPage,
    /// Read all rows with `partita scan`
    #[value(skip)]
    WholeScan,
    /// Batches, from the end of a restart on
    #[value(skip)]
    RestartBatch,
    /// Batches, for a minute
    #[value(skip)]
    SustainedBatch,
}

impl WorkloadKind {
    /// The name on the command line and in JSON.
    pub fn name(self) -> String {
        let name = match self {
            Self::ColdGet => "cold-get",
            Self::AbsentGet => "absent-get",
            Self::OrderedPage => "ordered-page",
            Self::ScatteredPage => "scattered-page",
            Self::WholeScan => "scan",
            Self::RestartBatch => "restart-batch",
            Self::SustainedBatch => "sustained-batch",
            _ => return crate::value_name(self),
        };
        name.to_owned()
    }

    /// The name in the printed table.
    pub fn title(self) -> &'static str {
        match self {
            Self::PointGet => "point get",
            Self::InsertMany => "durable insert, many partitions",
            Self::InsertOne => "durable insert, one partition",
            Self::Batch => "batches of 100 inserts",
            Self::Page => "1,000-entity pages",
            Self::ColdGet => "point get, data set",
            Self::AbsentGet => "point get of an absent key, data set",
            Self::OrderedPage => "1,000-entity pages, written in order",
            Self::ScatteredPage => "1,000-entity pages, scattered",
            Self::WholeScan => "whole scan by `partita scan`",
            Self::RestartBatch => "batches of 100 inserts, just after a restart",
            Self::SustainedBatch => "batches of 100 inserts, sustained",
        }
    }

    /// Entities in one request or its answer.
    pub fn entities(self) -> u64 {
        match self {
            Self::PointGet
            | Self::ColdGet
            | Self::AbsentGet
            | Self::InsertMany
            | Self::InsertOne => 1,
            Self::Batch | Self::RestartBatch | Self::SustainedBatch => 100,
            Self::Page | Self::OrderedPage | Self::ScatteredPage | Self::WholeScan => 1_000,
        }
    }

    /// Whether it changes the table.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::InsertMany
                | Self::InsertOne
                | Self::Batch
                | Self::RestartBatch
                | Self::SustainedBatch
        )
    }

    /// The table of the workload.
    pub fn table(self) -> &'static str {
        match self {
            Self::PointGet | Self::Page => "benchread",
            Self::InsertMany => "benchmany",
            Self::InsertOne => "benchone",
            Self::Batch | Self::RestartBatch | Self::SustainedBatch => "benchbatch",
            Self::OrderedPage => "benchordered",
            Self::ColdGet | Self::AbsentGet | Self::ScatteredPage | Self::WholeScan => {
                "benchscattered"
            }
        }
    }

    /// The status of a correct answer.
    pub fn status(self) -> u16 {
        match self {
            Self::PointGet
            | Self::Page
            | Self::ColdGet
            | Self::OrderedPage
            | Self::ScatteredPage
            | Self::WholeScan => 200,
            Self::InsertMany | Self::InsertOne => 204,
            Self::Batch | Self::RestartBatch | Self::SustainedBatch => 202,
            Self::AbsentGet => 404,
        }
    }

    /// The smallest body of a correct answer, bytes. An empty page and the answer to a refused batch, which has a
    /// single part, are smaller.
    pub fn body_bytes_min(self) -> u64 {
        // The answer has an ETag and a Timestamp, and lacks some type annotations.
        let entity = entity::body_bytes() as u64 - 24;
        match self {
            Self::PointGet | Self::ColdGet => entity,
            Self::InsertMany | Self::InsertOne | Self::AbsentGet => 0,
            Self::Batch | Self::RestartBatch | Self::SustainedBatch => 100 * 100,
            Self::Page | Self::OrderedPage | Self::ScatteredPage | Self::WholeScan => {
                1_000 * entity
            }
        }
    }
}
