//! Days of a cluster of 300 servers and 3,000 ranges.

use super::super::ServerView;
use super::simulation::{Scenario, Simulation, server};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
/// The design note has the figures of 10 s.
const ROUND: Duration = Duration::from_secs(40);

fn cluster(step: Duration) -> Simulation {
    Simulation::new(&Scenario {
        seed: 1,
        servers: 300,
        ranges: 3_000,
        cores: 300.0,
        hot_spots: 10,
        step,
    })
}

#[test]
fn days_of_waves_and_hot_spots_cause_few_moves() {
    let mut world = cluster(ROUND);
    for day in 0..2 {
        let before = world.figures.moves;
        world.run(24 * HOUR);
        let figures = &world.figures;
        let moves = figures.moves - before;
        eprintln!(
            "day {day}: {moves} moves, in all {} of idle ranges, {} splits, {} merges",
            figures.by_count, figures.splits, figures.merges
        );
        assert!(moves < 5_000, "{moves}");
    }
    let figures = &world.figures;
    eprintln!(
        "busiest server, of the mean: half of the time {:.2}, 99 % {:.2}; in a row above 1.5: {} rounds; \
         most moves of a range in an hour: {}",
        figures.ratio(0.5),
        figures.ratio(0.99),
        figures.longest_uneven,
        figures.most_moves
    );
    assert!(figures.splits > 500 && figures.merges > 500);
    assert!(figures.most_moves <= 4, "{}", figures.most_moves);
    assert!(figures.ratio(0.5) < 1.2, "{}", figures.ratio(0.5));
    assert!(figures.ratio(0.95) < 1.5, "{}", figures.ratio(0.95));
    assert!(figures.longest_uneven <= 8, "{}", figures.longest_uneven);
}

#[test]
fn failed_servers_have_many_heirs() {
    let mut world = cluster(ROUND);
    world.run(8 * HOUR);
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
        world.run(HOUR);
        let counts = world.counts();
        for name in &names {
            assert!(counts[name] >= 3, "{name}: {}", counts[name]);
        }
    }
}

#[test]
fn a_server_of_300_is_drained_in_a_few_rounds() {
    let mut world = cluster(Duration::from_secs(1));
    world.run(Duration::from_secs(30));
    world.servers[17].draining = true;
    let name = Arc::clone(&world.servers[17].name);
    let ranges = world.counts()[&name];
    world.run(Duration::from_secs(3));
    assert_eq!(ranges, 10);
    assert_eq!(world.counts().get(&name), None);
}
