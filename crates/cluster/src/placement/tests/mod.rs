#![allow(clippy::print_stderr, reason = "the simulations print their figures")]

mod days;
mod growth;
mod hot;
mod simulation;

use super::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Servers and ranges whose views show each decision in the next round.
struct World {
    placer: Placer,
    now: Instant,
    servers: Vec<ServerView>,
    ranges: Vec<RangeView>,
    moves: Vec<Move>,
    balances: bool,
}

impl World {
    /// Servers named `a`, `b` and so on, without ranges.
    fn new(servers: u8) -> Self {
        Self {
            placer: Placer::new(PlacementSettings::default()),
            now: Instant::now(),
            servers: (0..servers).map(server).collect(),
            ranges: Vec::new(),
            moves: Vec::new(),
            balances: true,
        }
    }

    /// Adds a range with a load to a server.
    fn add(&mut self, owner: Option<&str>, cores: f64) {
        self.ranges.push(RangeView {
            id: RangeId(self.ranges.len() as u64 + 1),
            owner: owner.map(Arc::from),
            cores: Some(cores),
            changing: false,
        });
    }

    /// One round of placements and one of moves.
    fn round(&mut self) {
        for (id, to) in self.placer.place(self.now, &self.servers, &self.ranges) {
            self.range(id).owner = Some(to);
        }
        let (servers, ranges) = (&self.servers, &self.ranges);
        let moves = match self.balances {
            true => self.placer.balance(self.now, servers, ranges),
            false => self.placer.drain(self.now, servers, ranges),
        };
        for decided in &moves {
            let range = self.range(decided.range);
            assert_eq!(range.owner.as_ref(), Some(&decided.from));
            range.owner = Some(Arc::clone(&decided.to));
        }
        self.moves.extend(moves);
        self.now += SECOND;
    }

    fn seconds(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.round();
        }
    }

    fn range(&mut self, id: RangeId) -> &mut RangeView {
        let found = self.ranges.iter_mut().find(|range| range.id == id);
        found.unwrap()
    }

    /// The number of ranges of each server.
    fn counts(&self) -> Vec<usize> {
        let count = |server: &ServerView| {
            let ranges = self.ranges.iter();
            ranges
                .filter(|range| range.owner.as_ref() == Some(&server.name))
                .count()
        };
        self.servers.iter().map(count).collect()
    }

    fn reasons(&self) -> Vec<MoveReason> {
        self.moves.iter().map(|decided| decided.reason).collect()
    }
}

fn server(index: u8) -> ServerView {
    ServerView {
        name: Arc::from(char::from(b'a' + index).to_string()),
        draining: false,
        takes_ranges: true,
    }
}

#[test]
fn nothing_moves_between_idle_servers() {
    let mut world = World::new(3);
    world.add(Some("a"), 0.0);
    world.seconds(600);
    assert_eq!(world.moves, []);
}

#[test]
fn the_ranges_of_a_new_cluster_are_spread_by_count() {
    let mut world = World::new(3);
    for _ in 0..10 {
        world.add(None, 0.0);
    }
    world.round();
    assert_eq!(world.counts(), [4, 3, 3]);
    world.seconds(600);
    assert_eq!(world.moves, []);
}

#[test]
fn the_counts_of_idle_ranges_even_out() {
    let mut world = World::new(3);
    for _ in 0..9 {
        world.add(Some("a"), 0.0);
    }
    world.seconds(15);
    assert_eq!(world.counts(), [3, 3, 3]);
    world.seconds(3_600);
    assert_eq!(world.reasons(), [MoveReason::Count; 6]);
    // Splits on one server do not move ranges at once.
    world.add(Some("a"), 0.0);
    world.add(Some("a"), 0.0);
    world.seconds(600);
    assert_eq!(world.moves.len(), 6);
}

#[test]
fn a_server_that_joins_gets_idle_ranges() {
    let mut world = World::new(3);
    for index in 0..12 {
        world.add(Some(["a", "b"][index % 2]), 0.0);
    }
    world.seconds(600);
    assert_eq!(world.counts(), [4, 4, 4]);
    assert_eq!(world.moves.len(), 4);
}

#[test]
fn a_range_that_was_busy_is_not_moved_to_even_the_counts() {
    let mut world = World::new(3);
    for _ in 0..9 {
        world.add(Some("a"), 0.03);
    }
    world.round();
    for range in &mut world.ranges {
        range.cores = Some(0.0);
    }
    world.seconds(3_600);
    assert_eq!(world.moves, []);
    world.seconds(4 * 3_600);
    assert_eq!(world.counts(), [3, 3, 3]);
}

#[test]
fn the_busiest_server_gives_ranges_away_until_it_is_near_the_mean() {
    let mut world = World::new(3);
    for cores in [0.4, 0.3, 0.3, 0.2, 0.2, 0.1] {
        world.add(Some("a"), cores);
    }
    world.seconds(10);
    let load = |server: &str| -> f64 {
        let of = |range: &&RangeView| range.owner.as_deref() == Some(server);
        world
            .ranges
            .iter()
            .filter(of)
            .filter_map(|range| range.cores)
            .sum()
    };
    let busiest = ["a", "b", "c"].map(load).into_iter().fold(0.0, f64::max);
    assert!(busiest <= 0.5 * 1.25 + 0.01, "{:?}", world.moves);
    let moves = world.moves.len();
    assert!(moves <= 4, "{:?}", world.moves);
    world.seconds(3_600);
    assert_eq!(world.moves.len(), moves);
}

#[test]
fn a_range_that_is_most_of_its_servers_load_stays() {
    let mut world = World::new(3);
    world.add(Some("a"), 0.9);
    world.add(Some("a"), 0.1);
    world.seconds(120);
    // The small range may go, the hot one may not.
    assert!(
        world
            .moves
            .iter()
            .all(|decided| decided.range == RangeId(2))
    );
    assert_eq!(world.range(RangeId(1)).owner.as_deref(), Some("a"));
}

#[test]
fn small_differences_of_load_move_nothing() {
    let mut world = World::new(3);
    for (server, cores) in [("a", 0.15), ("a", 0.14), ("b", 0.0), ("c", 0.0)] {
        world.add(Some(server), cores);
    }
    world.seconds(600);
    assert_eq!(world.moves, []);
}

#[test]
fn the_heirs_of_a_failed_server_are_spread_and_then_left_alone() {
    let mut world = World::new(4);
    for index in 0..40 {
        let owner = ["a", "b", "c", "d"][index % 4];
        world.add(Some(owner), 0.05);
    }
    world.seconds(60);
    world.servers.remove(3);
    for range in &mut world.ranges {
        if range.owner.as_deref() == Some("d") {
            range.owner = None;
        }
    }
    // The load of a server that joins now would be a reason to move.
    world.servers.push(server(5));
    world.servers[3].takes_ranges = false;
    world.round();
    assert_eq!(world.counts(), [14, 13, 13, 0]);
    world.servers[3].takes_ranges = true;
    world.seconds(29);
    assert_eq!(world.moves, []);
    world.seconds(120);
    assert!(!world.moves.is_empty());
}

#[test]
fn a_range_that_fails_to_open_gets_another_server() {
    let mut world = World::new(3);
    for server in ["b", "b", "c", "c"] {
        world.add(Some(server), 0.1);
    }
    world.add(None, 0.0);
    let mut owners = Vec::new();
    for _ in 0..3 {
        world.ranges[4].owner = None;
        world.round();
        owners.extend(world.ranges[4].owner.clone());
    }
    assert_eq!(owners, ["a", "b", "a"].map(Arc::from));
}

/// Otherwise a damaged range would stop the balancing for as long as it is damaged.
#[test]
fn a_range_that_fails_to_open_again_and_again_does_not_stop_the_balancing() {
    let mut world = World::new(3);
    for _ in 0..9 {
        world.add(Some("a"), 0.1);
    }
    world.add(None, 0.0);
    for _ in 0..40 {
        world.ranges[9].owner = None;
        world.round();
    }
    assert!(!world.moves.is_empty());
}

#[test]
fn a_draining_server_is_emptied_and_gets_nothing() {
    let mut world = World::new(3);
    for index in 0..30 {
        world.add(Some(["a", "b", "c"][index % 3]), 0.02);
    }
    world.seconds(60);
    world.servers[0].draining = true;
    world.add(None, 0.0);
    world.seconds(3);
    assert_eq!(world.counts().first(), Some(&0));
    assert_eq!(world.reasons(), [MoveReason::Drain; 10]);
    world.seconds(600);
    assert_eq!(world.counts()[0], 0);
    assert!(world.counts()[1].abs_diff(world.counts()[2]) <= 1);
}

#[test]
fn without_balancing_only_draining_servers_give_ranges_away() {
    let mut world = World::new(3);
    for _ in 0..9 {
        world.add(Some("a"), 0.1);
    }
    world.balances = false;
    world.seconds(600);
    assert_eq!(world.moves, []);
    world.servers[0].draining = true;
    world.seconds(30);
    assert_eq!(world.counts()[0], 0);
    assert_eq!(world.reasons(), [MoveReason::Drain; 9]);
}

/// A move that the views do not show counts for both of its servers.
#[test]
fn a_server_takes_part_in_one_move_at_a_time() {
    let mut world = World::new(3);
    for _ in 0..12 {
        world.add(Some("a"), 0.1);
    }
    let mut decided = Vec::new();
    for _ in 0..4 {
        decided.extend(
            world
                .placer
                .balance(world.now, &world.servers, &world.ranges),
        );
        world.now += SECOND;
    }
    assert_eq!(decided.len(), 1, "{decided:?}");
    // The move failed: another range is moved.
    world.now += 2 * SECOND;
    let next = world
        .placer
        .balance(world.now, &world.servers, &world.ranges);
    assert_eq!(next.len(), 1);
    assert_ne!(next[0].range, decided[0].range);
}

#[test]
fn ranges_that_change_and_those_that_an_operator_moved_stay() {
    let mut world = World::new(2);
    for _ in 0..4 {
        world.add(Some("a"), 0.2);
    }
    for range in &mut world.ranges {
        range.changing = true;
    }
    world.seconds(60);
    assert_eq!(world.moves, []);
    for range in &mut world.ranges {
        range.changing = false;
        range.owner = Some(Arc::from("b"));
    }
    world.seconds(60);
    assert_eq!(world.moves, []);
    world.seconds(10);
    assert!(!world.moves.is_empty());
}

#[test]
fn without_servers_nothing_is_placed_or_moved() {
    let mut world = World::new(1);
    world.add(None, 0.0);
    world.servers[0].takes_ranges = false;
    world.round();
    assert_eq!(world.ranges[0].owner, None);
    world.servers.clear();
    world.round();
    assert_eq!(world.ranges[0].owner, None);
}
