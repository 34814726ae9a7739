//! Draws the screen: the health of the server, the last ten minutes as sparklines, and one of the views.
//!
//! Nothing is wider than the terminal. A terminal of 80 columns and 24 lines has room for every part; a smaller one
//! gets lower sparklines, and then none. While the server does not answer, the screen says so, and the lists are those
//! of the last answer.

mod views;

use super::app::{App, View};
use super::history::{POINTS, Series};
use crate::screen::{truncate, wrap};
use crate::units::{bytes, latency, rate, rough_duration};
use partita_wire::admin::{ServerState, Status};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline};
use std::time::Duration;

/// Columns of the name and the values of a sparkline.
const NAME_WIDTH: u16 = 21;
/// Lines for the reasons why a server is not healthy, at most.
const REASONS_MAX: usize = 3;

const HELP: [&str; 9] = [
    "q, Esc, Ctrl-C    quit",
    "Tab, ← →, 1 to 4  next, previous view, or a view",
    "↑ ↓, PgUp, PgDn   scroll the view",
    "p, space          pause, go on",
    "?                 this help",
    "",
    "The sparklines are the last ten minutes, a point is 10 s.",
    "Requests, latency and bytes are the server's history; errors",
    "(answers 4xx and 5xx) are counted since the screen was opened.",
];

/// A sparkline: its name, the value now, its points, how a value is written, and its colour.
type Spark<'a> = (
    &'a str,
    Option<f64>,
    &'a Series,
    &'a dyn Fn(f64) -> String,
    Color,
);

/// The caption of the sparklines, if it fits.
const SPAN_TEXT: &str = "last 10 minutes";

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App) {
    let area = frame.area();
    let head = head(app, area.width);
    let spark_lines = match area.height {
        0..14 => 0,
        14..20 => 1,
        20..40 => 2,
        _ => 3,
    };
    let [head_area, sparks, tabs, view, foot] = Layout::vertical([
        Constraint::Length(head.len() as u16),
        Constraint::Length(4 * spark_lines),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head), head_area);
    if spark_lines > 0 {
        draw_sparklines(frame, app, sparks);
    }
    let tab_line = tab_line(app);
    let free = usize::from(area.width).saturating_sub(tab_line.width());
    frame.render_widget(tab_line, tabs);
    if spark_lines > 0 && free > SPAN_TEXT.len() {
        let span = Line::styled(SPAN_TEXT, Style::new().fg(Color::DarkGray));
        frame.render_widget(span.right_aligned(), tabs);
    }
    draw_view(frame, app, view);
    frame.render_widget(foot_line(app), foot);
    if app.has_help {
        draw_help(frame);
    }
}

/// The state of the server, and the reasons for it.
fn head(app: &App, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let status = app.sample.as_ref().map(|it| &it.status.document);
    let (first, reasons) = match (&app.failure, status) {
        (Some(why), _) => (no_answer(app, width), wrap(why, width.max(20), 0)),
        (None, None) => (Line::from(truncate(&app.admin, width)), Vec::new()),
        (None, Some(status)) => {
            let reasons = status.reasons.iter().map(|text| truncate(text, width));
            (state(status, &app.admin, width), reasons.collect())
        }
    };
    let style = Style::new().fg(Color::Yellow);
    let reasons = reasons.into_iter().take(REASONS_MAX);
    let reasons = reasons.map(|text| Line::styled(text, style));
    std::iter::once(first).chain(reasons).collect()
}

/// The head of a server that does not answer: what is shown below it is old.
fn no_answer(app: &App, width: usize) -> Line<'static> {
    let age = app.sample.as_ref().map(|sample| sample.at.elapsed());
    let age = age.map(|age| format!(", last answer {} ago", rough_duration(age)));
    let rest = format!(" from {}{}", app.admin, age.unwrap_or_default());
    state_line("no answer", Color::Red, &rest, width)
}

fn state(status: &Status, admin: &str, width: usize) -> Line<'static> {
    let (word, color) = match &status.state {
        ServerState::Ready => ("healthy", Color::Green),
        state @ (ServerState::Starting | ServerState::Stopping | ServerState::Degraded) => {
            (state.as_str(), Color::Yellow)
        }
        state => (state.as_str(), Color::Red),
    };
    let up = rough_duration(Duration::from_secs_f64(status.uptime_seconds.max(0.0)));
    let rest = format!(": partita {} at {admin}, up {up}", status.version);
    state_line(word, color, &rest, width)
}

fn state_line(word: &str, color: Color, rest: &str, width: usize) -> Line<'static> {
    let rest = truncate(rest, width.saturating_sub(word.len()));
    let style = Style::new().fg(color).add_modifier(Modifier::BOLD);
    Line::from(vec![Span::styled(word.to_owned(), style), Span::raw(rest)])
}

fn draw_sparklines(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let is_answering = app.failure.is_none();
    let sample = app.sample.as_ref().filter(|_| is_answering);
    let p99 = sample.and_then(|it| {
        let load = it.status.document.load.as_ref()?;
        Some(load.latency.p99_us as f64)
    });
    let now = |value: Option<f64>| value.filter(|_| is_answering);
    let newest = |series: &Series| now(series.last().copied().flatten());
    let per_second = |value: f64| format!("{}/s", rate(value));
    let byte_rate = |value: f64| format!("{}/s", bytes(value.round() as u64));
    let time = |us: f64| latency(us.round() as u64);
    let (history, errors) = (&app.history, app.errors.series());
    let all: [Spark<'_>; 4] = [
        (
            "requests",
            now(app.rate_now),
            &history.requests,
            &per_second,
            Color::Cyan,
        ),
        ("p99", p99, &history.p99_us, &time, Color::Magenta),
        (
            "errors",
            now(app.errors.now()),
            &errors,
            &per_second,
            Color::Red,
        ),
        (
            "bytes",
            newest(&history.bytes),
            &history.bytes,
            &byte_rate,
            Color::Blue,
        ),
    ];
    let areas = Layout::vertical([Constraint::Fill(1); 4]).areas::<4>(area);
    for ((name, now, series, text, color), area) in all.into_iter().zip(areas) {
        let [left, right] =
            Layout::horizontal([Constraint::Length(NAME_WIDTH), Constraint::Min(0)]).areas(area);
        let most = series.iter().flatten().copied().reduce(f64::max);
        let now = now.map(text).unwrap_or_default();
        let mut lines = vec![Line::from(vec![
            Span::styled(format!("{name:<9}"), Style::new().fg(color)),
            Span::raw(format!("{now:>11}")),
        ])];
        if let Some(most) = most {
            let text = format!("{:>20}", format!("max {}", text(most)));
            lines.push(Line::styled(text, Style::new().fg(Color::DarkGray)));
        }
        frame.render_widget(Paragraph::new(lines), left);
        let bars = Sparkline::default()
            .data(stretched(series, right.width))
            .absent_value_symbol(" ")
            .max(scaled(most.unwrap_or_default()).max(1))
            .style(Style::new().fg(color));
        frame.render_widget(bars, right);
    }
}

/// A value for each column: the last ten minutes fill the width. A column of several points has the highest.
fn stretched(series: &Series, width: u16) -> Vec<Option<u64>> {
    let missing = POINTS.saturating_sub(series.len());
    let width = usize::from(width);
    let point = |at: usize| series.get(at.checked_sub(missing)?).copied().flatten();
    let column = |at: usize| {
        let first = at * POINTS / width;
        let behind = ((at + 1) * POINTS / width).max(first + 1);
        (first..behind).filter_map(point).reduce(f64::max)
    };
    (0..width).map(|at| column(at).map(scaled)).collect()
}

/// A value as the whole number that a sparkline needs; a load below one is not idle.
fn scaled(value: f64) -> u64 {
    (value * 1000.0).round() as u64
}

fn tab_line(app: &App) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, view) in (1..).zip(View::ALL) {
        let style = match view == app.view {
            true => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            false => Style::new(),
        };
        let count = views::count_of(app, view).map(|count| format!(" ({count})"));
        let text = format!(" {number} {}{} ", view.name(), count.unwrap_or_default());
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

fn draw_view(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let views::Lines { head, body } = views::lines(app, usize::from(area.width));
    let style = Style::new().fg(Color::DarkGray);
    let head = head.map(|head| Line::styled(head, style));
    // Scrolls at most until the last line is the only one.
    let first = app.scroll.min(body.len().saturating_sub(1));
    let body = body.into_iter().skip(first).map(Line::from);
    let lines = head.into_iter().chain(body).collect::<Vec<_>>();
    frame.render_widget(Paragraph::new(lines), area);
}

fn foot_line(app: &App) -> Line<'static> {
    let keys = "q quit  ←→ view  ↑↓ scroll  p pause  ? help";
    let mut spans = vec![Span::styled(keys, Style::new().fg(Color::DarkGray))];
    if app.is_paused {
        let style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
        spans.push(Span::styled("  PAUSED", style));
    }
    Line::from(spans)
}

fn draw_help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (66.min(area.width), (HELP.len() as u16 + 2).min(area.height));
    let margin = Margin::new((area.width - width) / 2, (area.height - height) / 2);
    let area = Rect {
        width,
        height,
        ..area.inner(margin)
    };
    let lines: Vec<Line<'_>> = HELP.into_iter().map(Line::from).collect();
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
pub(super) mod tests;
