//! The worked example of the prefix scan: ten people, pages of two rows.

use super::{MemoryRow, MemoryTable, keys, query, table};
use crate::scan::{Bounds, Emit, Query, Step, StepResult, Strategy, Tokens, execute};
use futures::FutureExt as _;

const PEOPLE: [(&str, &str); 10] = [
    ("Dashner", "Cleopatra"),
    ("Davis", "Gemma"),
    ("Davis", "Loralee"),
    ("Dodge", "Lowell"),
    ("Hartlage", "Marketta"),
    ("Nuckles", "Timmy"),
    ("Rundle", "Coleen"),
    ("Splawn", "Lise"),
    ("Wedell", "Annabelle"),
    ("Wongus", "Rosenda"),
];

fn run(table: &MemoryTable, query: &Query, step: &Step) -> StepResult<MemoryRow> {
    let result = execute(table, query, step).now_or_never();
    result.expect("a table in memory answers at once")
}

fn begin() -> Step {
    Strategy::Prefix.plan(&Bounds::default(), &[], 1).remove(0)
}

fn filters(steps: &[Step]) -> Vec<String> {
    let filters = steps.iter().map(|step| step.filter(None));
    filters.map(Option::unwrap_or_default).collect()
}

/// Four queries find all first characters of the PartitionKeys. The steps that remain read the rest of each prefix.
#[test]
fn four_queries_find_the_prefixes() {
    let (people, query) = (table(&PEOPLE, 1000), query(|options| options.page_rows = 2));
    let (mut rows, mut open, mut queries) = (Vec::new(), Vec::new(), 0);
    let mut next = Some(begin());
    while let Some(step) = next {
        let mut result = run(&people, &query, &step);
        queries += 1;
        rows.append(&mut result.rows);
        // The last step is the rest of the root prefix, after the first character just found.
        next = result.steps.pop();
        open.append(&mut result.steps);
    }
    assert_eq!((queries, rows.len()), (4, 8));
    let mut prefixes: Vec<_> = rows
        .iter()
        .filter_map(|row| row.partition_key.chars().next())
        .collect();
    prefixes.dedup();
    assert_eq!(prefixes, ['D', 'H', 'N', 'R', 'S', 'W']);
    let expected = [
        "PartitionKey eq 'Davis' and RowKey gt 'Gemma'",
        "PartitionKey gt 'Davis' and PartitionKey lt 'E'",
        "PartitionKey eq 'Nuckles' and RowKey gt 'Timmy'",
        "PartitionKey gt 'Nuckles' and PartitionKey lt 'O'",
        "PartitionKey eq 'Splawn' and RowKey gt 'Lise'",
        "PartitionKey gt 'Splawn' and PartitionKey lt 'T'",
    ];
    assert_eq!(filters(&open), expected);
    let left = open.iter().flat_map(|step| run(&people, &query, step).rows);
    let left: Vec<_> = left.collect();
    assert_eq!(keys(&left), [("Davis", "Loralee"), ("Dodge", "Lowell")]);
}

/// Executes the steps from a stack, so that rows come in the table's order. Returns the rows and the number of queries.
fn depth_first(table: &MemoryTable, query: &Query) -> (Vec<MemoryRow>, usize) {
    let (mut stack, mut rows, mut queries) = (vec![begin()], Vec::new(), 0);
    while let Some(step) = stack.pop() {
        let result = run(table, query, &step);
        assert!(result.failure.is_none());
        rows.extend(result.rows);
        queries += 1;
        stack.extend(result.steps.into_iter().rev());
    }
    (rows, queries)
}

#[test]
fn steps_from_a_stack_give_the_table_order() {
    let people = table(&PEOPLE, 1000);
    let opaque = query(|options| options.page_rows = 2);
    let (rows, queries) = depth_first(&people, &opaque);
    assert_eq!((keys(&rows), queries), (PEOPLE.to_vec(), 10));
    // A token that names the next row shows that no rows with the prefixes N and S remain, which saves four queries.
    let read = query(|options| {
        options.page_rows = 2;
        options.tokens = Tokens::NextRow;
    });
    let (rows, queries) = depth_first(&people, &read);
    assert_eq!((keys(&rows), queries), (PEOPLE.to_vec(), 6));
}

#[test]
fn distinct_partitions_skip_the_rest_of_each_partition() {
    let mut rows = Vec::new();
    for key in ["a", "b", "c"] {
        rows.extend((0..500).map(|row| super::row(key, &format!("{row:03}"))));
    }
    let table = MemoryTable::new(rows, 1000);
    let query = query(|options| {
        options.page_rows = 100;
        options.emit = Emit::FirstOfPartition;
    });
    let step = Strategy::Serial.plan(&Bounds::default(), &[], 1).remove(0);
    let (mut step, mut found, mut asked) = (Some(step), Vec::new(), Vec::new());
    while let Some(open) = step {
        asked.push((open.filter(None).unwrap_or_default(), open.page_rows));
        let mut result = run(&table, &query, &open);
        found.append(&mut result.rows);
        step = result.steps.pop();
    }
    assert_eq!(keys(&found), [("a", "000"), ("b", "000"), ("c", "000")]);
    let expected = [
        (String::new(), None),
        ("PartitionKey gt 'a'".to_owned(), Some(32)),
        ("PartitionKey gt 'b'".to_owned(), Some(32)),
        ("PartitionKey gt 'c'".to_owned(), Some(32)),
    ];
    assert_eq!(asked, expected);
}

/// The number of requests, and of rows that they return, for the first rows of partitions of this size.
fn cost_of_partitions(partitions: usize, rows_each: usize) -> (usize, usize) {
    let keys = (0..partitions).map(|key| format!("{key:05}"));
    let rows =
        keys.flat_map(|key| (0..rows_each).map(move |row| super::row(&key, &format!("{row:05}"))));
    let table = MemoryTable::new(rows.collect(), 1000);
    let query = query(|options| {
        options.page_rows = 1000;
        options.emit = Emit::FirstOfPartition;
    });
    let mut open = Strategy::Serial.plan(&Bounds::default(), &[], 1);
    let (mut found, mut requests, mut most) = (0, 0, 0);
    while let Some(step) = open.pop() {
        requests += 1;
        most += step.page_rows.unwrap_or(1000);
        let result = run(&table, &query, &step);
        found += result.rows.len();
        open.extend(result.steps);
    }
    assert_eq!(found, partitions);
    (requests, most)
}

/// B21: the keys of partitions of hundreds of rows, which are smaller than a page, cost far less than all keys. Small
/// partitions cost no more requests than all keys.
#[test]
fn partitions_cost_less_than_all_keys_where_that_pays_off() {
    // A page of 1,000 rows, then one of 32 for each partition that the page did not show. All keys are 27,000 rows.
    assert_eq!(cost_of_partitions(93, 290), (91, 1000 + 90 * 32));
    // Partitions of one row: as many requests as all keys.
    assert_eq!(cost_of_partitions(5000, 1).0, 5);
    // Each page ends within a partition, whose rest is skipped.
    assert!((250..300).contains(&cost_of_partitions(5000, 50).0));
}
