//! The options of the measurement of a cluster.

/// The options of the measurement of a cluster.
#[derive(Clone, Debug, clap::Args)]
pub struct ClusterOptions {
    /// Measure the workloads in a cluster of three servers, directly and through another server, then failures and moves
    #[arg(long, conflicts_with_all = ["data_set", "queues", "fleet", "targets"])]
    pub cluster: bool,
    /// With --cluster: a Ceph as the store instead of a folder; `bench/ceph/setup` fetches it
    #[arg(long, requires = "cluster")]
    pub(crate) ceph: bool,
    /// With --cluster: how often a server is killed, and started again after another has taken over
    #[arg(long, value_name = "N", default_value_t = 20, requires = "cluster")]
    pub(crate) kills: u32,
    /// With --cluster: how often a server is killed and started again at once, and how often one is ended by SIGTERM
    #[arg(long, value_name = "N", default_value_t = 20, requires = "cluster")]
    pub(crate) restarts: u32,
    /// With --cluster: moves of a range
    #[arg(long, value_name = "N", default_value_t = 100, requires = "cluster")]
    pub(crate) moves: u32,
    /// With --cluster: how often a range of a new cluster gets hot
    #[arg(long, value_name = "N", default_value_t = 3, requires = "cluster")]
    pub(crate) hot: u32,
    /// With --cluster: length of the measurement at rest, seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        requires = "cluster"
    )]
    pub(crate) rest_seconds: u64,
}
