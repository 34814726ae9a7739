use super::super::Sample;
use super::super::history::ServerHistory;
use super::*;
use crate::server::status::tests::page_of;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// The screen of a server with the golden documents of the admin API.
pub(in super::super) fn app() -> App {
    let status = page_of(include_str!(
        "../../../../../../wire/src/admin/golden/status.json"
    ));
    let ranges = page_of(include_str!(
        "../../../../../../wire/src/admin/golden/ranges.json"
    ));
    let hot = page_of(include_str!(
        "../../../../../../wire/src/admin/golden/hot.json"
    ));
    let wave = |height: f64| {
        let point = |at: u32| Some(height * (1.0 + (f64::from(at) / 5.0).sin()));
        (0..40).map(point).collect::<Series>()
    };
    let sample = Sample {
        at: std::time::Instant::now(),
        status,
        ranges: Some(ranges),
        hot: Some(hot),
        tables: None,
    };
    App {
        admin: "http://127.0.0.1:10010".to_owned(),
        admin_flag: String::new(),
        sample: Some(sample),
        rate_now: Some(12_345.6),
        history: ServerHistory {
            requests: wave(9_000.0),
            p99_us: wave(800.0),
            bytes: wave(4e6),
        },
        ..App::default()
    }
}

/// The lines of the screen at a size.
fn screen(app: &App, columns: u16, lines: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    let cells = terminal.backend().buffer().content();
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    cells.chunks(usize::from(columns)).map(line).collect()
}

#[test]
fn every_part_is_on_a_screen_of_80_by_24() {
    let lines = screen(&app(), 80, 24);
    assert!(
        lines[0].starts_with("healthy: partita 0.1.0 at http://127.0.0.1:10010, up"),
        "{lines:#?}"
    );
    for (at, words) in [
        (1, "requests    12,346/s"),
        (2, "        max "),
        (3, "p99 "),
        (5, "errors"),
        (7, "bytes "),
        (9, " 1 hottest   2 ranges ("),
        (10, "partition "),
        (23, "q quit  ←→ view  ↑↓ scroll  p pause  ? help"),
    ] {
        assert!(lines[at].starts_with(words), "{at}: {lines:#?}");
    }
    assert!(
        lines[1].contains('█') || lines[2].contains('█'),
        "{lines:#?}"
    );
}

#[test]
fn views_fit_every_terminal() {
    for view in View::ALL {
        let mut app = app();
        app.view = view;
        for (columns, height) in [(40, 10), (60, 15), (80, 24), (120, 50)] {
            for scroll in [0, 3, 500] {
                app.scroll = scroll;
                let lines = screen(&app, columns, height);
                assert_eq!(lines.len(), usize::from(height));
                let width = usize::from(columns);
                let text = views::lines(&app, width);
                let lines = text.head.iter().chain(&text.body);
                // A long word of a command stays whole.
                let lines = lines.filter(|line| !line.trim_start().starts_with("--"));
                let widths = lines.map(|line| Line::raw(line.as_str()).width());
                assert!(widths.max() <= Some(width), "{text:#?}");
            }
        }
    }
}

#[test]
fn a_screen_without_a_server_says_why() {
    let app = App {
        admin: "http://127.0.0.1:10010".to_owned(),
        failure: Some("connection refused\u{1b}[2J".to_owned()),
        ..App::default()
    };
    let lines = screen(&app, 80, 24);
    assert_eq!(lines[0], "no answer from http://127.0.0.1:10010");
    assert_eq!(lines[1], "connection refused\\u{1b}[2J");
}

#[test]
fn a_server_that_stopped_is_not_healthy() {
    let mut app = app();
    app.failure = Some(format!("{} connection refused", "no admin port ".repeat(8)));
    let lines = screen(&app, 80, 24);
    assert!(
        lines[0].starts_with("no answer from http://127.0.0.1:10010, last answer "),
        "{lines:#?}"
    );
    // The cause is whole, and no value is called that of now.
    assert!(lines[2].ends_with("connection refused"), "{lines:#?}");
    assert_eq!(
        lines[3].trim_end_matches(|c: char| !c.is_ascii_alphabetic()),
        "requests"
    );
}

#[test]
fn keys_are_shortened_in_their_middle_and_heads_do_not_scroll() {
    let mut app = app();
    app.scroll = 2;
    let text = views::lines(&app, 60);
    assert!(text.body.iter().any(|line| line.contains('…')), "{text:#?}");
    let mut shortened = text.body.iter().filter(|line| line.contains('…'));
    // The end of the key, a quote, is visible.
    assert!(shortened.all(|line| line.contains("'  ")), "{text:#?}");
    let lines = screen(&app, 80, 24);
    assert!(lines[10].starts_with("partition "), "{lines:#?}");
    assert!(lines[9].ends_with("last 10 minutes"), "{lines:#?}");
}

#[test]
fn help_and_pause_are_shown() {
    let mut app = app();
    (app.has_help, app.is_paused) = (true, true);
    let lines = screen(&app, 80, 24);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("p, space          pause, go on")),
        "{lines:#?}"
    );
    assert!(lines[23].ends_with("PAUSED"));
}

#[test]
fn sparklines_fill_the_width_with_ten_minutes() {
    let series = vec![Some(1.0), None, Some(2.0)];
    let points = stretched(&series, 60);
    assert_eq!(points[..57], vec![None; 57]);
    assert_eq!(points[57..], [Some(1000), None, Some(2000)]);
    assert_eq!(
        stretched(&series, 120)[114..],
        [Some(1000), Some(1000), None, None, Some(2000), Some(2000)]
    );
    assert_eq!(stretched(&series, 30)[28..], [Some(1000), Some(2000)]);
}
