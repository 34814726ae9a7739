//! Property test: a scan returns exactly the expected rows, each once, for random tables, strategies, orders of
//! answers, failures and resumptions.

use super::{MemoryRow, MemoryTable, query, row, sort};
use crate::scan::{
    self, Bounds, Emit, Frontier, FrontierOptions, Keyed as _, Lower, Order, Page, PageRequest,
    PageSource, Query, ResumeToken, SourceError, Step, Tokens, Upper, execute,
};
use futures::FutureExt as _;
use partita_model::{ContinuationToken, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Mutex;

/// The pattern of random keys: characters that UTF-8 and UTF-16 order differently, quotes, surrogate pairs with the
/// same first half, noncharacters and NUL.
const KEY: &str = "[\u{0}'ab\u{D7FF}\u{E000}\u{FFFE}\u{FFFF}\u{10000}\u{10001}\u{10FFFF}]{0,4}";

fn rows(key: &'static str) -> impl Strategy<Value = Vec<MemoryRow>> {
    let row_key = "[a\u{FFFF}\u{10000}]{0,3}";
    let any = vec((key, row_key), 0..60);
    let one_giant = (key, vec(row_key, 0..60)).prop_map(|(key, row_keys)| {
        let with_key = |row_key| (key.clone(), row_key);
        row_keys.into_iter().map(with_key).collect()
    });
    let all_unique = vec(key.prop_map(|key| (key, String::new())), 0..60);
    let keys = prop_oneof![any, one_giant, all_unique];
    (keys, vec(0..3_i32, 60)).prop_map(|(keys, numbers)| {
        let rows = keys.into_iter().zip(numbers);
        let rows = rows.map(|((key, row_key), n)| {
            let mut row = row(&key, &row_key);
            row.properties.insert("n".to_owned(), Value::Int32(n));
            row
        });
        rows.collect()
    })
}

fn bounds(key: &'static str) -> impl Strategy<Value = Bounds> {
    let lower = prop_oneof![key.prop_map(Lower::From), key.prop_map(Lower::After)];
    let upper = prop_oneof![key.prop_map(Upper::Before), key.prop_map(Upper::Through)];
    prop_oneof![
        3 => Just(Bounds::default()),
        1 => key.prop_map(|key| Bounds::of_prefix(&key)),
        1 => (lower, upper).prop_map(|(lower, upper)| Bounds { lower, upper }),
    ]
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) rows: Vec<MemoryRow>,
    examined_max: usize,
    pub(crate) bounds: Bounds,
    pub(crate) split_points: Vec<String>,
    pub(crate) strategy: scan::Strategy,
    pub(crate) query: Query,
    pub(crate) frontier: FrontierOptions,
    /// What happens to the scan, in order; see `World::happen`. After the last event, the scan runs to its end.
    events: Vec<u16>,
}

/// Random scans of random tables whose PartitionKeys match the regular expression `key`.
pub(crate) fn case(key: &'static str) -> impl Strategy<Value = Case> {
    let strategy = prop_oneof![
        1 => Just(scan::Strategy::Serial),
        4 => Just(scan::Strategy::Prefix),
        1 => Just(scan::Strategy::Ranges),
        1 => Just(scan::Strategy::Auto),
    ];
    let queries = (
        proptest::option::of(Just("n eq 1 or n eq 2".to_owned())),
        1..6_usize,
        prop_oneof![3 => Just(Emit::EveryRow), 1 => Just(Emit::FirstOfPartition)],
        prop_oneof![Just(Tokens::Opaque), Just(Tokens::NextRow)],
    );
    let queries = queries.prop_map(|(filter, page_rows, emit, tokens)| {
        query(|options| {
            options.filter = filter;
            options.page_rows = page_rows;
            options.emit = emit;
            options.tokens = tokens;
        })
    });
    let frontiers = (
        prop_oneof![Just(Order::Table), Just(Order::Any)],
        1..5_usize,
        0..30_usize,
    );
    let tables = (
        rows(key),
        prop_oneof![Just(1000), 1..8_usize],
        bounds(key),
        vec(key, 0..5),
    );
    let parts = (
        tables,
        strategy,
        queries,
        frontiers,
        vec(any::<u16>(), 0..200),
    );
    parts.prop_map(
        |(table, strategy, query, (order, jobs, buffer_rows_max), events)| {
            let (rows, examined_max, bounds, split_points) = table;
            let frontier = FrontierOptions {
                order,
                jobs,
                step_rows_max: query.options().page_rows,
                buffer_rows_max,
            };
            Case {
                rows,
                examined_max,
                bounds,
                split_points,
                strategy,
                query,
                frontier,
                events,
            }
        },
    )
}

/// A table whose requests can fail. It checks that a scan sends each token with the filter that it was returned for.
struct Flaky {
    table: MemoryTable,
    /// Whether the next page succeeds.
    is_good: bool,
    tokens: Vec<(Option<String>, ContinuationToken)>,
}

impl Flaky {
    fn answer(&mut self, request: &PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        if !self.is_good {
            return Err("no answer".into());
        }
        if let Some(token) = &request.continuation {
            assert!(
                self.tokens
                    .contains(&(request.filter.clone(), token.clone()))
            );
        }
        let page = self.table.answer(request)?;
        if let Some(token) = &page.continuation {
            self.tokens.push((request.filter.clone(), token.clone()));
        }
        Ok(page)
    }
}

impl PageSource for Mutex<Flaky> {
    type Row = MemoryRow;

    async fn page(&self, request: PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        self.lock().unwrap().answer(&request)
    }
}

/// A scan that the test drives step by step.
struct World<'a> {
    case: &'a Case,
    source: Mutex<Flaky>,
    frontier: Frontier<MemoryRow>,
    running: Vec<Step>,
    found: Vec<MemoryRow>,
}

impl<'a> World<'a> {
    fn new(case: &'a Case) -> Self {
        let steps = case
            .strategy
            .plan(&case.bounds, &case.split_points, case.frontier.jobs);
        Self {
            case,
            source: Mutex::new(Flaky {
                table: MemoryTable::new(case.rows.clone(), case.examined_max),
                is_good: true,
                tokens: Vec::new(),
            }),
            frontier: Frontier::new(steps, case.frontier),
            running: Vec::new(),
            found: Vec::new(),
        }
    }

    fn happen(&mut self, event: u16) {
        let pick = usize::from(event / 16);
        match event % 16 {
            0..5 => self.start(),
            5..10 => self.finish(pick, true),
            10 | 11 => self.finish(pick, false),
            12..15 => self.take(),
            _ => self.resume(),
        }
        let options = &self.case.frontier;
        assert!(self.frontier.running() <= options.jobs);
        if options.order == Order::Table {
            let most = options.buffer_rows_max + options.step_rows_max;
            assert!(self.frontier.buffered_rows() <= most);
        }
    }

    fn start(&mut self) {
        self.running.extend(self.frontier.start());
    }

    fn finish(&mut self, pick: usize, is_good: bool) {
        if self.running.is_empty() {
            return;
        }
        let step = self.running.swap_remove(pick % self.running.len());
        self.source.lock().unwrap().is_good = is_good;
        let result = execute(&self.source, &self.case.query, &step)
            .now_or_never()
            .unwrap();
        assert_eq!(result.failure.is_none(), is_good);
        let most = self.case.frontier.step_rows_max;
        assert!(result.rows.len() <= most);
        self.frontier.finish(step.id(), result);
    }

    fn take(&mut self) {
        self.found.extend(
            self.frontier
                .take()
                .into_iter()
                .flat_map(|batch| batch.rows),
        );
    }

    /// Simulates a crash, and another process that resumes from the last token.
    fn resume(&mut self) {
        let token = ResumeToken::new(&self.case.query, self.frontier.open_steps()).to_string();
        let token: ResumeToken = token.parse().unwrap();
        let steps = token.into_steps(&self.case.query).unwrap();
        self.frontier = Frontier::new(steps, self.case.frontier);
        self.running.clear();
    }

    fn run_out(mut self) -> Vec<MemoryRow> {
        while !self.frontier.is_done() {
            self.start();
            self.finish(0, true);
            self.take();
        }
        self.found
    }
}

/// The expected rows of the scan, computed from the table.
pub(crate) fn expected(case: &Case) -> Vec<MemoryRow> {
    let options = case.query.options();
    let table = MemoryTable::new(case.rows.clone(), 1);
    let within = table
        .rows()
        .iter()
        .filter(|row| case.bounds.contains(row.partition_key()));
    let passes = |row: &&MemoryRow| {
        options.filter.is_none() || row.properties.get("n") != Some(&Value::Int32(0))
    };
    let mut rows: Vec<_> = within.filter(passes).cloned().collect();
    if options.emit == Emit::FirstOfPartition {
        rows.dedup_by(|a, b| a.partition_key == b.partition_key);
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_row_is_found_once(case in case(KEY)) {
        let mut world = World::new(&case);
        for &event in &case.events {
            world.happen(event);
        }
        let mut found = world.run_out();
        if case.frontier.order == Order::Any {
            sort(&mut found);
        }
        prop_assert_eq!(found, expected(&case));
    }
}
