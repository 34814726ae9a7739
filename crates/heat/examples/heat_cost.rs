//! Measures the cost of heat counters on this machine, in nanoseconds per request: `cargo run --release -p partita-heat
//! --example heat_cost`.
//!
//! Each figure is the best of 60 windows of 400,000 requests: 40,000 requests a second for ten seconds. The cost of
//! closing a window is included. With fewer requests per window, a greater share of the requests is sampled, so each
//! request costs more; but then the total cost is small.
//!
//! Figures of a virtual machine with two processors, which other programs kept busy. Key buckets are the call
//! `self.buckets.add`; the last column is measured without it.
//!
//! | partitions | threads | ns per read, per insert | without key buckets |
//! | ---: | ---: | ---: | ---: |
//! | 1 | 1 | 15, 16 | 14, 15 |
//! | 1 | 2 | 31, 32 | 28, 30 |
//! | 1,000 | 1 | 35, 32 | 31, 31 |
//! | 1,000 | 2 | 65, 68 | 55, 58 |
//! | 400,000 | 1 | 46, 75 | 40, 41 |
//! | 400,000 | 2 | 101, 99 | 83, 87 |

#![allow(clippy::disallowed_methods, reason = "measures on its own threads")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use partita_heat::{Access, Heat, Request};
use std::hint::black_box;
use std::time::{Duration, Instant};

const REQUESTS: usize = 400_000;
const WINDOWS: usize = 60;
const TABLE: &str = "account\0tableid8";

fn main() {
    for partitions in [1, 1_000, 400_000] {
        let keys: Vec<String> = (0..partitions)
            .map(|number| format!("{TABLE}partition-{:06}\0", number * 7_919 % partitions))
            .collect();
        for threads in [1, 2] {
            for access in [Access::Read, Access::Insert] {
                let heat = Heat::new(Instant::now());
                let best = (0..WINDOWS).map(|_| window(&heat, &keys, threads, access));
                let best = best.fold(f64::INFINITY, f64::min);
                println!(
                    "{partitions:>7} partitions, {threads} threads, {access:?}: {best:>5.0} ns per request and thread"
                );
            }
        }
    }
    report(&Heat::new(Instant::now()));
}

/// The mean time of a request in one thread, over a window shared by all threads.
fn window(heat: &Heat, keys: &[String], threads: usize, access: Access) -> f64 {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for at in (thread..REQUESTS).step_by(threads) {
                    let Some(key) = keys.get(at % keys.len()) else {
                        continue;
                    };
                    heat.record(black_box(&Request {
                        partition: key.as_bytes(),
                        table_bytes: TABLE.len(),
                        access,
                        rows: 1,
                        bytes_in: 0,
                        bytes_out: 1_024,
                        latency: Duration::from_micros(50 + at as u64 % 64),
                    }));
                }
            });
        }
    });
    black_box(heat.roll(Instant::now()));
    started.elapsed().as_nanos() as f64 * threads as f64 / REQUESTS as f64
}

/// Prints the cost of reading the heat once.
fn report(heat: &Heat) {
    let key = |number: usize| format!("{TABLE}partition-{:06}\0", number * 7_919 % 100_000);
    for number in 0..100_000 {
        heat.record(&Request {
            partition: key(number).as_bytes(),
            table_bytes: TABLE.len(),
            access: Access::Read,
            rows: 1,
            bytes_in: 0,
            bytes_out: 1_024,
            latency: Duration::from_micros(50),
        });
    }
    let timed = |name: &str, call: &dyn Fn()| {
        let started = Instant::now();
        call();
        println!(
            "{name}: {:.0} us",
            started.elapsed().as_nanos() as f64 / 1e3
        );
    };
    timed("split_point", &|| drop(black_box(heat.split_point())));
    timed("hot_partitions", &|| {
        drop(black_box(heat.hot_partitions(20)))
    });
    timed("roll", &|| drop(black_box(heat.roll(Instant::now()))));
}
