//! The text format of Prometheus ("Exposition formats", text format 0.0.4).
//!
//! Promises: the page is well formed for any label values and help texts; `TYPE` and `HELP` have the full names of
//! counters. (The prometheus-client crate writes OpenMetrics, where these lines have names without `_total`; see
//! `docs/design/0004-libraries.md`.)

use std::fmt::{Display, Write as _};

use super::definitions::{Definition, Kind};

/// The content type of the page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page under construction, family by family.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) text: String,
}

const INFALLIBLE: &str = "writing to a String does not fail";

impl Page {
    /// Starts a family.
    pub(crate) fn family(&mut self, definition: &Definition) {
        self.family_named(definition.name, definition.kind, definition.help);
    }

    /// Starts a family without a definition: one that the engine names.
    pub(crate) fn family_named(&mut self, name: &str, kind: Kind, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let kind = kind.as_str();
        write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n").expect(INFALLIBLE);
    }

    /// Adds a sample to the current family.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            let text = text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            write!(self.text, "{label}=\"{text}\"").expect(INFALLIBLE);
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        writeln!(self.text, " {value}").expect(INFALLIBLE);
    }

    /// Adds a family of one sample without labels.
    pub(crate) fn single(&mut self, definition: &Definition, value: impl Display) {
        self.family(definition);
        self.sample(definition.name, &[], value);
    }

    /// Adds a family with one label: its values with their samples.
    pub(crate) fn labelled<'v>(
        &mut self,
        definition: &Definition,
        label: &str,
        samples: impl Iterator<Item = (&'v str, u64)>,
    ) {
        self.family(definition);
        for (value, count) in samples {
            self.sample(definition.name, &[(label, value)], count);
        }
    }

    /// Adds a histogram to the current family: upper bounds with cumulative counts, the total count and the sum.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::definitions::{DURATION, UPTIME};

    #[test]
    fn the_page_has_the_text_format_of_prometheus() {
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
            page.text,
            "# HELP partita_uptime_seconds Time since the process started.\n\
             # TYPE partita_uptime_seconds gauge\n\
             partita_uptime_seconds 1.5\n\
             # HELP odd two\\nlines \\\\\n\
             # TYPE odd gauge\n\
             odd{a=\"x\\\"y\\\\z\\n\",b=\"\"} 7\n\
             # HELP partita_request_duration_seconds From the end of a request's headers until its answer is ready to \
             be sent, by operation.\n\
             # TYPE partita_request_duration_seconds histogram\n\
             partita_request_duration_seconds_bucket{operation=\"Q\",le=\"0.5\"} 1\n\
             partita_request_duration_seconds_bucket{operation=\"Q\",le=\"1\"} 2\n\
             partita_request_duration_seconds_bucket{operation=\"Q\",le=\"+Inf\"} 3\n\
             partita_request_duration_seconds_sum{operation=\"Q\"} 9.25\n\
             partita_request_duration_seconds_count{operation=\"Q\"} 3\n"
        );
    }
}
