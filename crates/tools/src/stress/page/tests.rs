use super::super::example::report;
use super::*;

/// Texts that would be markup, or change the direction of the text around them, if they were not escaped.
const HOSTILE: [&str; 4] = [
    "</style><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'; style='x:url(http://example.org)",
    "a\u{202E}b\u{0}\n<b>",
];

fn hostile() -> Report {
    let mut report = report();
    let [table, key, word, other] = HOSTILE.map(str::to_owned);
    report.settings.table = table.clone();
    report.settings.endpoint = other.clone();
    report.settings.aim = Some(word.clone());
    report.settings.pattern = super::super::Pattern::Sampled {
        source: key.clone(),
        keys: 3,
    };
    for (partition, name) in report.partitions.iter_mut().zip(HOSTILE) {
        name.clone_into(&mut partition.partition_key);
    }
    report.tries.refused.insert(key, 7);
    report.failures.insert(word, 8);
    report.made_by = other;
    report.began = table;
    report.verdict = report.judged(report.settings.targets);
    report
}

/// The tags of a page, each with its name and attributes.
fn tags(page: &str) -> Vec<&str> {
    page.split('<')
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(tag, _)| tag)
        .collect()
}

#[test]
fn names_are_escaped() {
    let (plain, hostile) = (html(&report()), html(&hostile()));
    assert!(!hostile.contains("<script") && !hostile.contains("<img") && !hostile.contains("<b>a"));
    assert!(!hostile.chars().any(|c| c.is_control() && c != '\n') && !hostile.contains('\u{202E}'));
    let names = |page: &str| -> std::collections::BTreeSet<String> {
        let name = |tag: &str| tag.split([' ', '\n']).next().unwrap_or_default().to_owned();
        tags(page).into_iter().map(name).collect()
    };
    assert_eq!(names(&hostile), names(&plain));
    // The hostile texts are visible as plain text.
    assert!(hostile.contains("&lt;script&gt;alert(1)") && hostile.contains("onerror=alert(1)&gt;"));
}

#[test]
fn a_page_loads_no_other_files() {
    let page = html(&report());
    for forbidden in [
        "src=",
        "url(",
        "@import",
        "<script",
        "<link rel=\"stylesheet",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let links: Vec<_> = tags(&page)
        .into_iter()
        .filter(|tag| tag.contains("href="))
        .collect();
    assert_eq!(links, ["link rel=\"icon\" href=\"data:,\""]);
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn tags_are_balanced() {
    for report in [report(), hostile()] {
        let page = html(&report);
        let mut open = Vec::new();
        for tag in tags(&page) {
            let name = tag
                .trim_start_matches('/')
                .split([' ', '\n'])
                .next()
                .unwrap_or_default();
            match tag {
                _ if tag.ends_with('/') || ["meta", "link", "!DOCTYPE"].contains(&name) => {}
                _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "{tag}"),
                _ => open.push(name),
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }
}

#[test]
fn the_verdict_and_its_figures_are_on_the_page() {
    let report = report();
    let page = html(&report);
    assert!(page.contains("<h2>Throttled</h2>"));
    for text in [
        "860</b> of 500 entities/s, 1.72 times: over",
        "target 500/s",
        "partition-target",
        "p99.9",
        "What would help",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(
        page.matches("<svg").count(),
        6,
        "expected three plots, each in two sizes"
    );
    assert_eq!(page.matches("role=\"img\"").count(), 6);
}

#[test]
fn an_empty_run_has_a_page() {
    let mut empty = report();
    empty.series.clear();
    empty.partitions.clear();
    empty.operations.clear();
    empty.seconds = 0.0;
    empty.verdict = empty.judged(crate::stress::Targets::OFF);
    let page = html(&empty);
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
}
