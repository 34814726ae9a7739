//! When ranges are moved.

use std::time::Duration;

/// When ranges are moved between servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacementSettings {
    /// The time over which the load of a range is smoothed.
    pub smoothing: Duration,
    /// The least time between two rounds that move ranges.
    pub interval: Duration,
    /// A server is busy above this multiple of the mean load.
    pub busy_ratio: f64,
    /// A server is busy only if it uses this many processors more than the least loaded one.
    pub busy_cores: f64,
    /// A move must lower the load of the busier of its two servers by this part of the mean load.
    pub gain_min: f64,
    /// A range with a larger part of its server's load is not moved.
    pub range_share_max: f64,
    /// A range that uses fewer processors is idle. Only idle ranges are moved to even the counts.
    pub idle_cores: f64,
    /// The time in which the remembered peak of a range's load falls to a third. A range that was busy during the day
    /// is not idle at night, so that it is not moved twice a day.
    pub peak_memory: Duration,
    /// The counts of idle servers are evened when one is further from the mean than this.
    pub count_spread: usize,
    /// At most one move for this many servers in a round, and at least one.
    pub servers_per_move: usize,
    /// How many ranges leave a draining server at a time.
    pub drains_at_once: usize,
    /// How long a range is not moved after its owner changed.
    pub cool_down: Duration,
    /// How long nothing is moved after a placement.
    pub failover_pause: Duration,
    /// How long a decision counts before the views show it. Then it is taken to have failed.
    pub decision_lasts: Duration,
    /// The processors that opening a range takes. It spreads ranges that are placed at the same time.
    pub opening_cores: f64,
    /// A server with this many ranges gets no more by a move.
    pub ranges_max: usize,
}

impl Default for PlacementSettings {
    /// Moves at 1.15 times the mean load and 0.3 processors more than the least loaded server, one range for 20 servers
    /// every 2 s; cool-down of a minute, half a minute of quiet after a failover; 64 ranges for a server.
    fn default() -> Self {
        Self {
            smoothing: Duration::from_secs(10),
            interval: Duration::from_secs(2),
            busy_ratio: 1.15,
            busy_cores: 0.3,
            gain_min: 0.05,
            range_share_max: 0.6,
            idle_cores: 0.02,
            peak_memory: Duration::from_secs(12 * 3_600),
            count_spread: 2,
            servers_per_move: 20,
            drains_at_once: 4,
            cool_down: Duration::from_secs(60),
            failover_pause: Duration::from_secs(30),
            decision_lasts: Duration::from_secs(5),
            opening_cores: 0.1,
            ranges_max: 64,
        }
    }
}
