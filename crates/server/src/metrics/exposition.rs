//! The text form that Prometheus reads ("Exposition formats", text format 0.0.4).
//!
//! Promise: whatever a label or help text holds, the page stays well formed.

use std::fmt::{Display, Write as _};

use super::definitions::{Definition, Kind};

/// The content type of the page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page being written, one family after the other.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
}

const TAKES_ANY: &str = "a String takes any text";

impl Page {
    /// Begins a family of figures.
    pub(crate) fn family(&mut self, definition: &Definition) {
        self.family_named(definition.name, definition.kind, definition.help);
    }

    /// Begins a family whose name was not known beforehand.
    pub(crate) fn family_named(&mut self, name: &str, kind: Kind, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let kind = kind.as_str();
        write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n").expect(TAKES_ANY);
    }

    /// One figure of the family begun last.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            let text = text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            write!(self.text, "{label}=\"{text}\"").expect(TAKES_ANY);
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        writeln!(self.text, " {value}").expect(TAKES_ANY);
    }

    /// A family of one figure without labels.
    pub(crate) fn single(&mut self, definition: &Definition, value: impl Display) {
        self.family(definition);
        self.sample(definition.name, &[], value);
    }

    /// A histogram of the family begun last: bounds with the counts not above them, the whole count and the sum.
    pub(crate) fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (f64, u64)>,
        count: u64,
        sum: f64,
    ) {
        let bucket_name = format!("{name}_bucket");
        let mut bucket = |bound: &str, count: u64| {
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
            self.sample(&bucket_name, &labels, count);
        };
        for (bound, below) in buckets {
            bucket(&bound.to_string(), below);
        }
        bucket("+Inf", count);
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count);
    }

    /// The finished page.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::definitions::{DURATION, UPTIME};

    #[test]
    fn a_page_reads_as_prometheus_wants_it() {
        let mut page = Page::default();
        page.single(&UPTIME, 1.5);
        page.family_named("odd", Kind::Gauge, "two\nlines \\");
        page.sample("odd", &[("a", "x\"y\\z\n"), ("b", "")], 7);
        page.family(&DURATION);
        page.histogram(
            DURATION.name,
            &[("operation", "Q")],
            [(0.5, 1), (1.0, 2)].into_iter(),
            3,
            9.25,
        );
        assert_eq!(
            page.into_text(),
            "# HELP partita_uptime_seconds Time since the process was ready.\n\
             # TYPE partita_uptime_seconds gauge\n\
             partita_uptime_seconds 1.5\n\
             # HELP odd two\\nlines \\\\\n\
             # TYPE odd gauge\n\
             odd{a=\"x\\\"y\\\\z\\n\",b=\"\"} 7\n\
             # HELP partita_request_duration_seconds From the end of a request's headers to the end of its answer, \
             by operation.\n\
             # TYPE partita_request_duration_seconds histogram\n\
             partita_request_duration_seconds_bucket{operation=\"Q\",le=\"0.5\"} 1\n\
             partita_request_duration_seconds_bucket{operation=\"Q\",le=\"1\"} 2\n\
             partita_request_duration_seconds_bucket{operation=\"Q\",le=\"+Inf\"} 3\n\
             partita_request_duration_seconds_sum{operation=\"Q\"} 9.25\n\
             partita_request_duration_seconds_count{operation=\"Q\"} 3\n"
        );
    }
}
