//! Removes from the output of commands what differs between runs.

/// What is compared of a page.
pub(super) fn compared(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut kind = "";
    for line in page.lines() {
        if line.starts_with("```") {
            kind = line.trim_start_matches("```console");
            lines.push(line.to_owned());
            continue;
        }
        let is_plain = ["$ ", "> ", "[exit "]
            .iter()
            .any(|start| line.starts_with(start));
        match lines.last_mut().filter(|last| last.starts_with('\t')) {
            _ if is_plain || !matches!(kind, " figures" | " varies") => lines.push(plain(line)),
            None => lines.push(format!("\t{}", without_figures(line))),
            Some(words) if kind == " figures" => words.push_str(&without_figures(line)),
            Some(_) => {}
        }
    }
    lines
}

/// The words of a line, each after a space, without numbers, their units, and the blocks of a heat map.
fn without_figures(line: &str) -> String {
    let is_figure = |char: char| char.is_ascii_digit() || "·░▒▓█▁▂▃▄▅▆▇▉▊▋▌▍▎▏".contains(char);
    let is_unit = |word: &&str| {
        let units = [
            "B", "KiB", "MiB", "GiB", "µs", "ms", "s", "KiB/s", "MiB/s", "B/s",
        ];
        units.contains(&word.trim_end_matches([',', ';', ':', ')']))
    };
    let words = line.split_whitespace().filter(|word| !is_unit(word));
    let words = words.filter(|word| !word.contains(is_figure));
    words.map(|word| format!(" {word}")).collect()
}

/// A line without the parts that differ between runs.
fn plain(line: &str) -> String {
    if let Some((before, _)) = line.split_once("--resume ") {
        return format!("{before}--resume TOKEN");
    }
    // The last line ends with bytes and seconds, which differ. The number of requests also differs, for a command that
    // polls a job of the server, and for a worker of a fleet.
    let mut line = line.to_owned();
    if line.ends_with(" s") && line.contains(" request") {
        let polls = line.contains("snapshot") || line.contains("job");
        let varying = if polls { 3 } else { 2 };
        let mut parts: Vec<_> = line.split(", ").collect();
        parts.truncate(parts.len().saturating_sub(varying));
        line = parts.join(", ");
    }
    // The time that writes waited differs, and sizes of packed rows depend on the Timestamps.
    let line = without_numbers(
        &line,
        &[
            "transit_ms",
            "pause_ms",
            "bytes",
            "row_bytes",
            "expected",
            "rows_per_second",
        ],
    );
    // A date-time whose last digits are zeros is shorter, and so is its column.
    let words: Vec<_> = line.split_whitespace().collect();
    let words = without_sizes(&words);
    without_process(&without_log_keys(&without_times(&words)))
}

/// The line with the number of each of these JSON fields replaced.
fn without_numbers(line: &str, fields: &[&str]) -> String {
    let mut line = line.to_owned();
    for field in fields {
        let start = format!("\"{field}\":");
        if let Some((before, rest)) = line.split_once(&start) {
            let is_number = |c: char| c == ' ' || c == '.' || c.is_ascii_digit();
            let rest = rest.trim_start_matches(is_number);
            line = format!("{before}{start}NUMBER{rest}");
        }
    }
    line
}

/// The words as a line, each size with a unit replaced: packed rows and files differ with their Timestamps.
fn without_sizes(words: &[&str]) -> String {
    let end = [',', ';', ':', ')'];
    let is_unit = |word: &str| matches!(word.trim_end_matches(end), "B" | "KiB" | "MiB" | "bytes");
    let units = words.iter().skip(1).map(|word| is_unit(word));
    let before_unit = units.chain([false]);
    let line = words.iter().zip(before_unit).map(|(word, unit)| {
        let is_size = unit && word.parse::<f64>().is_ok();
        if is_size { "SIZE" } else { *word }
    });
    line.collect::<Vec<_>>().join(" ")
}

/// The line without the number of a process.
fn without_process(line: &str) -> String {
    let Some((before, rest)) = line.split_once(", process ") else {
        return line.to_owned();
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}, process ID{rest}")
}

/// The line with each key of a log replaced: 19 digits, for times of this century and the next.
fn without_log_keys(line: &str) -> String {
    let is_key = |text: &str| text.len() == 19 && text.starts_with("25");
    let pieces = line.split_inclusive(|c: char| !c.is_ascii_digit());
    let piece = |piece: &str| {
        let digits = piece.trim_end_matches(|c: char| !c.is_ascii_digit());
        match is_key(digits) {
            true => piece.replace(digits, "KEY"),
            false => piece.to_owned(),
        }
    };
    pieces.map(piece).collect()
}

/// The line with each date-time replaced, percent-encoded ones included.
fn without_times(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("20") {
        let shape = rest
            .as_bytes()
            .get(at..at + 11)
            .is_some_and(|text| (text[4], text[7], text[10]) == (b'-', b'-', b'T'));
        let end = rest[at..].find('Z').filter(|_| shape);
        let (taken, skipped) = match end {
            Some(end) => (at, at + end + 1),
            None => (at + 2, at + 2),
        };
        out.push_str(&rest[..taken]);
        if end.is_some() {
            out.push_str("TIME");
        }
        rest = &rest[skipped..];
    }
    out + rest
}

#[test]
fn parts_that_differ_between_runs_are_removed() {
    assert_eq!(
        plain("2 rows, 1 request, 10 B, 0.01 s"),
        "2 rows, 1 request"
    );
    let etag = "W/\"datetime'2026-11-21T20%3A32%3A11.123Z'\" and 2026";
    assert_eq!(plain(etag), "W/\"datetime'TIME'\" and 2026");
    assert_eq!(
        plain("2026-11-21T20:32:11Z   5"),
        plain("2026-11-21T20:32:11.5Z  5")
    );
    assert_eq!(
        plain("{\"into\":4,\"transit_ms\":0.1}"),
        "{\"into\":4,\"transit_ms\":NUMBER}"
    );
    assert_eq!(plain("with --resume scan1.abc"), "with --resume TOKEN");
    assert_eq!(
        plain("read 3 files, 12.5 KiB, 2 B"),
        "read 3 files, SIZE KiB, SIZE B"
    );
    assert_eq!(
        plain("web-1,2516209262999999999,x 2516"),
        "web-1,KEY,x 2516"
    );
}

#[test]
fn figures_are_not_compared() {
    let page = |rate: &str, size: &str, end: &str| {
        format!("a 1\n```console figures\n$ partita hot\nrate {rate}/s{end}of {size}\nok\n```\n")
    };
    let expected = [
        "a 1",
        "```console figures",
        "$ partita hot",
        "\t rate of ok",
        "```",
    ];
    assert_eq!(compared(&page("1.5", "17 KiB", " ")), expected);
    assert_eq!(compared(&page("9", "1 B", "\n")), expected);
    assert_ne!(compared(&page("9", "1 B, late", "\n")), expected);
    let page = |line: &str, code: &str| {
        format!("```console varies\n$ partita status\nhealthy, up 1 s\n{line}\n{code}\n```\n")
    };
    let expected = [
        "```console varies",
        "$ partita status",
        "\t healthy, up",
        "[exit 1]",
        "```",
    ];
    assert_eq!(compared(&page("one", "[exit 1]")), expected);
    assert_eq!(compared(&page("two", "[exit 1]")), expected);
    assert_ne!(compared(&page("one", "[exit 2]")), expected);
}
