//! Runs the programs in `examples/` against a real server, and compares the README with the guide, whose examples are
//! doc tests.

use crate::server;
use partita_server::Server;

#[path = "../../examples/batch_load.rs"]
#[allow(dead_code, reason = "the tests do not call `main`")]
mod batch_load;
#[path = "../../examples/counter.rs"]
#[allow(dead_code, reason = "the tests do not call `main`")]
mod counter;
#[path = "../../examples/lock.rs"]
#[allow(dead_code, reason = "the tests do not call `main`")]
mod lock;
#[path = "../../examples/paged_query.rs"]
#[allow(dead_code, reason = "the tests do not call `main`")]
mod paged_query;

async fn started() -> (Server, String) {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    (server, text)
}

#[tokio::test]
async fn a_lock_has_one_owner_at_a_time() {
    let (server, text) = started().await;
    let report = lock::run(&text).await.unwrap();
    let expected = [
        "a has the lock: true",
        "b has the lock: false",
        "b has the lock: true",
    ];
    assert_eq!(report, expected);
    server.stop().await;
}

#[tokio::test]
async fn a_counter_loses_no_increase() {
    let (server, text) = started().await;
    assert_eq!(counter::run(&text).await.unwrap(), 80);
    server.stop().await;
}

#[tokio::test]
async fn a_query_resumes_at_its_continuation() {
    let (server, text) = started().await;
    assert_eq!(paged_query::run(&text).await.unwrap(), [8, 8, 8, 6]);
    server.stop().await;
}

#[tokio::test]
async fn a_load_reports_its_progress() {
    let (server, text) = started().await;
    let mut reports = Vec::new();
    let rows = batch_load::run(&text, |done| reports.push(done)).await;
    assert_eq!((rows.unwrap(), reports.len()), (5_000, 60));
    assert!(reports.is_sorted());
    server.stop().await;
}

/// The guide without the lines of its examples that documentation hides.
fn visible(guide: &str) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in guide.lines() {
        is_code ^= line.starts_with("```");
        if !(is_code && (line == "#" || line.starts_with("# "))) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[test]
fn the_readme_has_the_guide() {
    let guide = visible(include_str!("../../src/guide.md"));
    let readme = include_str!("../../README.md");
    let examples = guide.split_once("\n## ").unwrap().1;
    assert_eq!(examples.matches("```rust").count(), 10);
    for (number, section) in examples.split("\n## ").enumerate() {
        assert!(
            readme.contains(section.trim_end()),
            "section {number} differs:\n{section}"
        );
    }
}
