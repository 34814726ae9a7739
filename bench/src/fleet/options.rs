//! The options of the measurement of fleets.

/// The options of the measurement of fleets.
#[derive(Clone, Debug, clap::Args)]
pub struct FleetOptions {
    /// Measure how a copy by a fleet scales, instead of the workloads above
    #[arg(long, conflicts_with_all = ["workloads", "data_set", "queues"])]
    pub fleet: bool,
    /// With --fleet: rows of the table
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 3_500_000,
        requires = "fleet"
    )]
    pub(crate) rows: u64,
    /// With --fleet: round trip of the distant workers, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10, requires = "fleet")]
    pub(crate) delay_ms: u64,
    /// With --fleet: numbers of workers
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1, 2, 4, 8], requires = "fleet")]
    pub(crate) workers: Vec<u32>,
}
