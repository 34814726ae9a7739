//! The start of a scan: the first steps of a strategy.

use super::bounds::{Bounds, Lower, Upper};
use super::step::{Part, Step};
use partita_model::compare_utf16;

/// How to cut a table into parts that can be read in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Does not cut the table: reads page after page. Sends the fewest requests.
    Serial,
    /// Cuts by prefixes of the PartitionKeys, which are found while reading. Needs no split points.
    Prefix,
    /// Cuts at known split points; reads each part page after page. Sends the fewest requests of a parallel scan.
    Ranges,
    /// With one job: serial. With more: by ranges if split points are known, otherwise by prefixes.
    #[default]
    Auto,
}

impl Strategy {
    /// The first steps of a scan of `bounds`, in the table's order. `split_points` are the PartitionKeys at which parts
    /// begin, in any order; those outside the bounds are ignored. `jobs` is the number of parallel requests.
    pub fn plan(self, bounds: &Bounds, split_points: &[String], jobs: usize) -> Vec<Step> {
        if bounds.is_empty() {
            return Vec::new();
        }
        let pieces = match self {
            Self::Prefix => vec![by_prefix(bounds)],
            Self::Serial => pieces(bounds, &[]),
            Self::Ranges => pieces(bounds, split_points),
            Self::Auto if jobs <= 1 => pieces(bounds, &[]),
            Self::Auto => match pieces(bounds, split_points) {
                pieces if pieces.len() > 1 => pieces,
                _ => vec![by_prefix(bounds)],
            },
        };
        pieces.into_iter().map(Step::new).collect()
    }
}

fn by_prefix(bounds: &Bounds) -> Part {
    Part::Prefix {
        prefix: bounds.common_prefix().to_owned(),
        bounds: bounds.clone(),
    }
}

fn pieces(bounds: &Bounds, split_points: &[String]) -> Vec<Part> {
    let mut points: Vec<&String> = split_points.iter().collect();
    points.sort_by(|a, b| compare_utf16(a, b));
    points.dedup();
    let begins = points.iter().map(|&point| Lower::From(point.clone()));
    let begins = std::iter::once(Lower::Start).chain(begins);
    let ends = points.iter().map(|&point| Upper::Before(point.clone()));
    let ends = ends.chain(std::iter::once(Upper::End));
    let ranges = begins
        .zip(ends)
        .map(|(lower, upper)| Bounds { lower, upper });
    let within = ranges.map(|range| range.intersection(bounds.clone()));
    let parts = within.filter(|range| !range.is_empty());
    parts.map(|bounds| Part::Range { bounds }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(points: &[&str]) -> Vec<String> {
        points.iter().map(|&point| point.to_owned()).collect()
    }

    fn filters(strategy: Strategy, bounds: &Bounds, points: &[&str], jobs: usize) -> Vec<String> {
        let steps = strategy.plan(bounds, &texts(points), jobs);
        let filters = steps.iter().map(|step| step.filter(None));
        filters.map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn ranges_begin_at_split_points() {
        let all = Bounds::default();
        let expected = [
            "PartitionKey lt '\u{10000}'",
            "PartitionKey ge '\u{10000}' and PartitionKey lt '\u{FFFD}'",
            "PartitionKey ge '\u{FFFD}'",
        ];
        let points = ["\u{FFFD}", "\u{10000}", "", "\u{FFFD}"];
        assert_eq!(filters(Strategy::Ranges, &all, &points, 1), expected);
    }

    #[test]
    fn split_points_outside_the_bounds_are_ignored() {
        let bounds = Bounds::of_prefix("m");
        let expected = [
            "PartitionKey ge 'm' and PartitionKey lt 'mm'",
            "PartitionKey ge 'mm' and PartitionKey lt 'n'",
        ];
        let points = ["a", "m", "mm", "n", "z"];
        assert_eq!(filters(Strategy::Auto, &bounds, &points, 2), expected);
    }

    #[test]
    fn auto_uses_split_points_if_there_are_any() {
        let all = Bounds::default();
        let plan = |points: &[&str], jobs| Strategy::Auto.plan(&all, &texts(points), jobs);
        assert_eq!(plan(&["m"], 1), Strategy::Serial.plan(&all, &[], 1));
        assert_eq!(
            plan(&["m"], 2),
            Strategy::Ranges.plan(&all, &texts(&["m"]), 2)
        );
        assert_eq!(plan(&[], 2), Strategy::Prefix.plan(&all, &[], 2));
        let nothing = Bounds {
            lower: Lower::After("a".to_owned()),
            upper: Upper::Through("a".to_owned()),
        };
        assert_eq!(Strategy::Auto.plan(&nothing, &[], 2), []);
    }
}
