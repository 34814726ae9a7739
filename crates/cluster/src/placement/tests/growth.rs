//! How the rate of a cluster grows with its servers, and how quickly a hot range is divided.

use super::simulation::{Scenario, Simulation};
use std::time::Duration;

/// Processor time of a request in microseconds, as measured (`docs/design/0010-peers.md`): of the owner alone, and what
/// the hop adds at the front and at the owner.
struct Cost {
    direct: f64,
    hop: f64,
}

const GET: Cost = Cost {
    direct: 16.0,
    hop: 26.0,
};
const INSERT: Cost = Cost {
    direct: 33.0,
    hop: 26.0,
};
/// A front parses and authenticates the request before it knows the owner.
const FRONT_OF_DIRECT: f64 = 0.3;

/// The load of the busiest server, divided by the mean, of a cluster that has settled.
fn ratio(servers: usize) -> f64 {
    let mut world = Simulation::new(&Scenario {
        seed: 7,
        servers,
        ranges: servers * 10,
        cores: servers as f64,
        hot_spots: 0,
        step: Duration::from_secs(2),
    });
    world.run(Duration::from_secs(900));
    let settled = world.figures.ratios.len();
    world.run(Duration::from_secs(300));
    world.mean_ratio(settled)
}

/// The rate of a server of `servers`, if clients send each request to any front and the busiest server limits them all.
fn rate(servers: usize, ratio: f64, cost: &Cost) -> f64 {
    let forwarded = 1.0 - 1.0 / servers as f64;
    let front = cost.direct * FRONT_OF_DIRECT + forwarded * cost.hop / 2.0;
    let owner = cost.direct * (1.0 - FRONT_OF_DIRECT) + forwarded * cost.hop / 2.0;
    1.0 / (front + owner * ratio)
}

/// Most of the loss is the hop: of 3 servers' requests a third needs none, of 300 servers' hardly any.
#[test]
fn the_rate_of_a_server_falls_little_in_a_large_cluster() {
    let of_three = ratio(3);
    for servers in [30, 300] {
        let of_many = ratio(servers);
        let part = |cost: &Cost| rate(servers, of_many, cost) / rate(3, of_three, cost);
        eprintln!(
            "{servers} servers: ratio {of_many:.3}, of 3 {of_three:.3}; gets {:.3}, inserts {:.3}",
            part(&GET),
            part(&INSERT)
        );
        assert!(of_many < 1.25);
        assert!(part(&GET) > 0.7 && part(&INSERT) > 0.75);
    }
}
