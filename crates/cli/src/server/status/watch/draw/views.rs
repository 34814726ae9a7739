//! The lines of the views: hottest partitions, ranges, advice, and the text of `partita status`.

use super::super::app::{App, View};
use crate::output::Align::{self, Key, Left, Right};
use crate::output::align;
use crate::server::status::page::StatusPage;
use crate::server::{bound, hot, ranges};
use crate::units::{count, latency, rate};
use partita_wire::admin::{Hot, LimitedKey, Ranges};

/// The lines of a view.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The head of a table, which does not scroll.
    pub(super) head: Option<String>,
    pub(super) body: Vec<String>,
}

impl From<Vec<String>> for Lines {
    fn from(body: Vec<String>) -> Self {
        let head = None;
        Self { head, body }
    }
}

/// The number of entries of a view, where it is worth a look.
pub(super) fn count_of(app: &App, view: View) -> Option<usize> {
    match view {
        View::Hottest | View::Server => None,
        View::Ranges => ranges_of(app).map(|ranges| ranges.ranges.len()),
        View::Advice => Some(advice(app).len()),
    }
}

/// The lines of the view that is shown, none wider than `width`, except a long word of a command.
pub(super) fn lines(app: &App, width: usize) -> Lines {
    match app.view {
        View::Hottest => hot_of(app).map_or_else(Lines::default, |hot| hottest(hot, width)),
        View::Ranges => ranges_of(app).map_or_else(Lines::default, |it| range_lines(it, width)),
        View::Advice => {
            let advice = advice(app);
            if advice.is_empty() {
                return vec!["nothing to advise".to_owned()].into();
            }
            let lines = advice.iter().flat_map(|advice| advice.lines(width.max(20)));
            lines.collect::<Vec<_>>().into()
        }
        View::Server => server(app, width).into(),
    }
}

/// A table with these heads.
fn table<const N: usize>(
    columns: [(&str, Align); N],
    rows: impl Iterator<Item = [String; N]>,
    width: usize,
) -> Lines {
    let head = columns.map(|(name, _)| name.to_owned());
    let rows: Vec<_> = std::iter::once(head).chain(rows).map(Vec::from).collect();
    let mut lines = align(&rows, &columns.map(|(_, align)| align), width).into_iter();
    Lines {
        head: lines.next(),
        body: lines.collect(),
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

fn hottest(hot: &Hot, width: usize) -> Lines {
    let columns = [
        ("partition", Key),
        ("range", Right),
        ("share", Right),
        ("reads", Right),
        ("writes", Right),
        ("p99", Right),
        ("split", Left),
        ("refused", Right),
    ];
    let rows = hot.partitions.iter().map(|partition| {
        let per_second = |value: Option<f64>| format!("{}/s", rate(value.unwrap_or_default()));
        let rates = &partition.rates;
        [
            bound(partition.partition.as_ref(), ""),
            partition.range.to_string(),
            format!("{:.1} %", partition.share * 100.0),
            per_second(rates.reads_per_second),
            per_second(rates.writes_per_second),
            partition.latency.p99_us.map(latency).unwrap_or_default(),
            hot::split_word(partition, &hot.splits).to_owned(),
            per_second(rates.throttled_per_second),
        ]
    });
    table(columns, rows, width)
}

fn range_lines(ranges: &Ranges, width: usize) -> Lines {
    let columns = [
        ("range", Right),
        ("from", Key),
        ("size", Right),
        ("requests", Right),
        ("cores", Right),
        ("p99", Right),
        ("state", Left),
    ];
    let rows = ranges.ranges.iter().map(|range| {
        let p99 = range.last_window.as_ref().map(|it| it.latency.p99_us);
        [
            range.id.to_string(),
            bound(range.start.as_ref(), "(first)"),
            ranges::size_text(range),
            format!("{}/s", rate(range.requests_per_second.unwrap_or_default())),
            format!("{:.2}", range.cores.unwrap_or_default()),
            p99.map(latency).unwrap_or_default(),
            ranges::state(range).to_owned(),
        ]
    });
    table(columns, rows, width)
}

/// Advice on splits and keys, and keys over their targets.
fn advice(app: &App) -> Vec<hot::Advice> {
    let advice = hot_of(app).map(|hot| hot::advice(hot, &app.admin_flag));
    let limited = app.sample.as_ref().map(|it| &it.status.document.limited);
    let limited = limited.into_iter().flatten().map(limited_text);
    let limited = limited.map(hot::Advice::from);
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

/// The text of `partita status`, without its first line, which is above the sparklines.
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
    let text = page.text();
    let lines = text.lines().skip(1).skip_while(|line| line.is_empty());
    lines.map(str::to_owned).collect()
}
