//! A report as one HTML page: the verdict, plots, tables of their figures, and the settings.
//!
//! - The page contains its style and pictures, has no scripts, and loads no other files. Its content security policy
//!   forbids both.
//! - The page follows the browser's light or dark setting. Wide screens and phones get plots of different sizes, so
//!   that text stays legible.
//! - All texts of the report, such as table names and keys, are escaped ([`crate::html::Text`]).
//! - This module writes the SVG of the plots itself: plotting crates support only one size and one background colour.

mod axis;
mod bars;
mod frame;
mod latency;
mod shapes;
mod tables;
mod throughput;

use super::display;
use super::report::Report;
use super::verdict::Judged;
use crate::html::{self, Text};
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// The HTML page of a report.
pub fn html(report: &Report) -> String {
    let title = format!("Stress of table {}", report.settings.table);
    let mut page = html::begin(&title, STYLE, false);
    head(report, &mut page);
    verdict(report, &mut page);
    section(
        &mut page,
        "Throughput",
        "Successful operations per second, with refused attempts stacked on top.",
        &[throughput::throughput(report), tables::operations(report)],
    );
    section(
        &mut page,
        "Latency",
        "Latency of the operations that ended in each window, from the time they were due, including retries and their waits.",
        &[latency::latency(report), tables::service(report)],
    );
    section(
        &mut page,
        "Partitions",
        "Entities per second of the busiest PartitionKeys, in the steady part of the run.",
        &[bars::bars(report), tables::partitions(report)],
    );
    section(
        &mut page,
        "Refusals and retries",
        "Attempts that a busy server refused, by reason, and the client's retries.",
        &[tables::tries(report)],
    );
    section(
        &mut page,
        "Settings",
        "The same seed gives the same keys and operations.",
        &[tables::settings(report)],
    );
    page + &html::end(&format!("{}, {}", report.made_by, report.began))
}

fn section(page: &mut String, title: &str, lead: &str, parts: &[String]) {
    let _ = write!(
        page,
        "<section>\n<h2>{title}</h2>\n<p class=\"lead\">{lead}</p>\n"
    );
    parts.iter().for_each(|part| page.push_str(part));
    page.push_str("</section>\n");
}

fn head(report: &Report, page: &mut String) {
    let settings = &report.settings;
    let figures = [
        (display::thousands(report.all.per_second), "operations/s"),
        (display::thousands(report.served_per_second), "entities/s"),
        (display::latency(report.all.response.p50_us), "p50"),
        (display::latency(report.all.response.p99_us), "p99"),
        (display::latency(report.all.response.p999_us), "p99.9"),
        (display::latency(report.all.response.max_us), "longest"),
        (
            display::thousands(report.tries.refused_sum() as f64),
            "refused",
        ),
        (display::thousands(report.all.failed as f64), "failed"),
    ];
    let _ = write!(
        page,
        "<header>\n<p class=\"kicker\">Stress test, {}</p>\n<h1><bdi>{}</bdi></h1>\n<p class=\"lead\"><bdi>{}</bdi>; {}; {}; {}</p>\n</header>\n",
        Text(&report.began),
        Text(&settings.table),
        Text(&settings.endpoint),
        Text(&settings.pattern.to_string()),
        Text(&settings.mix.to_string()),
        Text(&settings.schedule.to_string()),
    );
    page.push_str(&html::figures(figures));
}

fn verdict(report: &Report, page: &mut String) {
    let verdict = &report.verdict;
    // A headline begins with a summary and a colon, except if operations failed without an exceeded target.
    let (word, rest) = verdict
        .headline
        .split_once(": ")
        .unwrap_or(("Failures", &verdict.headline));
    let _ = write!(
        page,
        "<section class=\"verdict {}\">\n<h2>{}</h2>\n<p class=\"headline\">{}</p>\n",
        verdict.state,
        Text(word),
        Text(rest)
    );
    if !verdict.judged.is_empty() {
        page.push_str("<ul class=\"judged\">\n");
        verdict.judged.iter().for_each(|one| meter(one, page));
        page.push_str("</ul>\n");
    }
    if !verdict.advice.is_empty() {
        page.push_str("<h3>What would help</h3>\n<ol class=\"advice\">\n");
        for advice in &verdict.advice {
            let _ = writeln!(page, "<li>{}</li>", Text(advice));
        }
        page.push_str("</ol>\n");
    }
    page.push_str("</section>\n");
}

/// Draws a load as a bar, with a mark at its target.
fn meter(one: &Judged, page: &mut String) {
    // The full width is the load, or 1.25 times the target if that is more.
    let whole = one.ratio().max(1.25);
    let (bar, mark) = (one.ratio() / whole * 100.0, 100.0 / whole);
    let _ = writeln!(
        page,
        "<li class=\"{}\"><span class=\"scope\">{}</span><span class=\"what\">{}</span>\
         <span class=\"meter\" aria-hidden=\"true\"><span class=\"bar\" style=\"width:{bar:.1}%\"></span><span class=\"mark\" style=\"left:{mark:.1}%\"></span></span>\
         <span class=\"load\"><b>{}</b> of {} entities/s, {:.2} times: {}</span></li>",
        one.state,
        one.scope.name(),
        Text(&one.what),
        display::thousands(one.asked_per_second),
        display::thousands(one.target_per_second),
        one.ratio(),
        one.state,
    );
}

#[cfg(test)]
mod tests;
