//! Days of large clusters. The design note `0013-placement.md` has the figures of `cluster(300, ROUND)` over five days, with
//! rounds of 10 s. These tests have fewer servers and rounds, because they take a third of a millisecond each.

use super::super::ServerView;
use super::simulation::{Scenario, Simulation, server};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const ROUND: Duration = Duration::from_secs(60);

/// Servers with ten ranges and a load of one processor each, on average.
fn cluster(servers: usize, step: Duration) -> Simulation {
    Simulation::new(&Scenario {
        seed: 1,
        servers,
        ranges: servers * 10,
        cores: servers as f64,
        hot_spots: servers / 30,
        step,
    })
}

#[test]
fn a_day_of_waves_and_hot_spots_causes_few_moves() {
    let mut world = cluster(100, ROUND);
    world.run(24 * HOUR);
    let figures = &world.figures;
    eprintln!(
        "{} moves, {} of idle ranges, {} splits, {} merges; busiest server, of the mean: half of the time {:.2}, 99 % {:.2}; \
         in a row above 1.5: {} rounds; most moves of a range in an hour: {}",
        figures.moves,
        figures.by_count,
        figures.splits,
        figures.merges,
        figures.ratio(0.5),
        figures.ratio(0.99),
        figures.longest_uneven,
        figures.most_moves
    );
    assert!(figures.splits > 100 && figures.merges > 100);
    assert!(figures.moves < 2_000, "{}", figures.moves);
    assert!(figures.most_moves <= 4, "{}", figures.most_moves);
    assert!(figures.ratio(0.5) < 1.2, "{}", figures.ratio(0.5));
    assert!(figures.ratio(0.95) < 1.5, "{}", figures.ratio(0.95));
    assert!(figures.longest_uneven <= 8, "{}", figures.longest_uneven);
}

#[test]
fn failed_servers_have_many_heirs() {
    let mut world = cluster(300, ROUND);
    world.run(HOUR);
    for failures in [1, 10] {
        let failed: Vec<ServerView> = (0..failures).map(|index| server(index * 7)).collect();
        let names: Vec<Arc<str>> = failed
            .iter()
            .map(|server| Arc::clone(&server.name))
            .collect();
        let lost: usize = names.iter().map(|name| world.counts()[name]).sum();
        let heirs = world.fail(&names);
        eprintln!("{failures} failed: {lost} ranges, {} heirs", heirs.len());
        assert_eq!(heirs.values().sum::<usize>(), lost);
        assert!(heirs.len() * 3 >= lost * 2, "{lost} ranges, {heirs:?}");
        assert!(heirs.values().all(|count| *count <= 3), "{heirs:?}");
        // They come back without ranges, and get some by their load and count.
        world.servers.extend(failed);
        world.run(HOUR / 2);
        let counts = world.counts();
        for name in &names {
            assert!(counts[name] >= 3, "{name}: {}", counts[name]);
        }
    }
}

#[test]
fn a_server_of_300_is_drained_in_a_few_rounds() {
    let mut world = cluster(300, Duration::from_secs(1));
    world.run(Duration::from_secs(30));
    world.servers[17].draining = true;
    let name = Arc::clone(&world.servers[17].name);
    let ranges = world.counts()[&name];
    world.run(Duration::from_secs(3));
    assert_eq!(ranges, 10);
    assert_eq!(world.counts().get(&name), None);
}
