//! The lines of the views: hottest partitions, ranges, advice, and the text of `partita status`.

use super::super::app::{App, View};
use crate::output::{Align, align};
use crate::screen::wrap;
use crate::server::status::page::StatusPage;
use crate::server::{bound, hot, ranges};
use crate::units::{count, latency, rate};
use partita_wire::admin::{Hot, LimitedKey, Ranges};

/// The number of entries of a view, where it is worth a look.
pub(super) fn count_of(app: &App, view: View) -> Option<usize> {
    match view {
        View::Hottest | View::Server => None,
        View::Ranges => ranges_of(app).map(|ranges| ranges.ranges.len()),
        View::Advice => Some(advice(app).len()),
    }
}

/// The lines of the view that is shown, none wider than `width`.
pub(super) fn lines(app: &App, width: usize) -> Vec<String> {
    match app.view {
        View::Hottest => hot_of(app).map_or_else(Vec::new, |hot| hottest(hot, width)),
        View::Ranges => ranges_of(app).map_or_else(Vec::new, |ranges| range_lines(ranges, width)),
        View::Advice => {
            let advice = advice(app);
            if advice.is_empty() {
                return vec!["nothing to advise".to_owned()];
            }
            let advice = advice.iter().flat_map(|text| wrap(text, width.max(20), 2));
            advice.collect()
        }
        View::Server => server(app, width),
    }
}

fn hot_of(app: &App) -> Option<&Hot> {
    let page = app.sample.as_ref()?.hot.as_ref()?;
    Some(&page.document)
}

fn ranges_of(app: &App) -> Option<&Ranges> {
    let page = app.sample.as_ref()?.ranges.as_ref()?;
    Some(&page.document)
}

fn hottest(hot: &Hot, width: usize) -> Vec<String> {
    let head = [
        "partition",
        "range",
        "share",
        "reads",
        "writes",
        "refused",
        "p99",
        "split",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for partition in &hot.partitions {
        let per_second = |value: Option<f64>| format!("{}/s", rate(value.unwrap_or_default()));
        let rates = &partition.rates;
        rows.push(vec![
            bound(partition.partition.as_ref(), ""),
            partition.range.to_string(),
            format!("{:.1} %", partition.share * 100.0),
            per_second(rates.reads_per_second),
            per_second(rates.writes_per_second),
            per_second(rates.throttled_per_second),
            partition.latency.p99_us.map(latency).unwrap_or_default(),
            hot::split_word(partition, &hot.splits).to_owned(),
        ]);
    }
    let aligns = [
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ];
    align(&rows, &aligns, width)
}

fn range_lines(ranges: &Ranges, width: usize) -> Vec<String> {
    let head = ["range", "from", "size", "requests", "cores", "p99", "state"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for range in &ranges.ranges {
        let p99 = range.last_window.as_ref().map(|it| it.latency.p99_us);
        rows.push(vec![
            range.id.to_string(),
            bound(range.start.as_ref(), "(first)"),
            ranges::size_text(range),
            format!("{}/s", rate(range.requests_per_second.unwrap_or_default())),
            format!("{:.2}", range.cores.unwrap_or_default()),
            p99.map(latency).unwrap_or_default(),
            ranges::state(range).to_owned(),
        ]);
    }
    let aligns = [
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ];
    align(&rows, &aligns, width)
}

/// Advice on splits and keys, and keys over their targets.
fn advice(app: &App) -> Vec<String> {
    let advice = hot_of(app).map(|hot| hot::advice(hot, &app.admin_flag));
    let limited = app.sample.as_ref().map(|it| &it.status.document.limited);
    let limited = limited.into_iter().flatten().map(limited_text);
    advice.into_iter().flatten().chain(limited).collect()
}

fn limited_text(limited: &LimitedKey) -> String {
    format!(
        "{}: over the {} target, {} refused in the last minute",
        limited.names(),
        limited.target,
        count(limited.throttled)
    )
}

/// The text of `partita status`.
fn server(app: &App, width: usize) -> Vec<String> {
    let Some(sample) = &app.sample else {
        return Vec::new();
    };
    let page = StatusPage {
        admin: app.admin.clone(),
        admin_flag: app.admin_flag.clone(),
        status: &sample.status.document,
        ranges: ranges_of(app),
        hot: None,
        tables: None,
        rate_now: app.rate_now,
        width,
    };
    page.text().lines().map(str::to_owned).collect()
}
