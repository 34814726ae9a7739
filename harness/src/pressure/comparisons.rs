//! The server's counts of the reads that both of its readers answered.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use partita_bench::admin;

/// How the server's message on a difference begins.
const DIFFERENCE: &str = "the readers differ";

/// Gets and pages for which both readers returned the same rows. 0 if the server does not compare its readers.
///
/// # Errors
/// The readers returned different rows; the server's log names them.
pub(super) fn count(admin: SocketAddr) -> anyhow::Result<u64> {
    let page = admin::metrics(admin)?;
    let differences = value(&page, "partita_engine_reader_differences_total")?;
    ensure!(
        differences == 0,
        "the readers of the server returned different rows in {differences} reads"
    );
    value(&page, "partita_engine_reader_comparisons_total")
}

/// The first row in the server's log that only one of its readers returned.
pub(super) fn logged(log: &str) -> Option<String> {
    let line = log.lines().find_map(|line| line.split_once(DIFFERENCE));
    line.map(|(_, rest)| format!("{DIFFERENCE}{rest}"))
}

/// The value of a metric without labels; 0 if the page does not have it.
fn value(page: &str, name: &str) -> anyhow::Result<u64> {
    let values = page.lines().filter_map(|line| line.strip_prefix(name));
    let Some(value) = values.into_iter().next() else {
        return Ok(0);
    };
    let value = value.trim().parse();
    value.with_context(|| format!("reading the metric {name}"))
}

#[cfg(test)]
mod tests {
    use super::{logged, value};

    #[test]
    fn the_first_difference_is_found_in_a_log() {
        let log =
            "ready\nERROR engine: the readers differ in range 3\nthe readers differ in range 4\n";
        assert_eq!(
            logged(log).as_deref(),
            Some("the readers differ in range 3")
        );
        assert_eq!(logged("ready\n"), None);
    }

    #[test]
    fn a_metric_is_found_in_a_page() {
        let page = "# HELP partita_a_total A\n# TYPE partita_a_total counter\npartita_a_total 12\n";
        assert_eq!(value(page, "partita_a_total").unwrap(), 12);
        assert_eq!(value(page, "partita_b_total").unwrap(), 0);
        assert!(value("partita_a_total many\n", "partita_a_total").is_err());
    }
}
