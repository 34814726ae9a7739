//! The axes of a plot, with tick marks at round numbers.

use crate::stress::display;

/// Maps values to coordinates.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// The coordinate of `low`.
    from: f64,
    /// The coordinate of `high`.
    to: f64,
}

impl Axis {
    /// A linear axis from 0 to a round value, which is `highest` or above.
    pub(super) fn even(highest: f64, from: f64, to: f64, marks_max: usize) -> Self {
        let axis = Self::exact(highest, from, to);
        let step = step(axis.high, marks_max);
        Self {
            high: (axis.high / step).ceil() * step,
            ..axis
        }
    }

    /// A linear axis from 0 to exactly `highest`.
    pub(super) fn exact(highest: f64, from: f64, to: f64) -> Self {
        Self {
            low: 0.0,
            high: if highest > 0.0 { highest } else { 1.0 },
            is_log: false,
            from,
            to,
        }
    }

    /// A logarithmic axis between two powers of ten that include both values.
    pub(super) fn log(lowest: f64, highest: f64, from: f64, to: f64) -> Self {
        let low = 10_f64.powf(lowest.max(1.0).log10().floor());
        let high = 10_f64.powf(highest.max(low * 1.01).log10().ceil());
        Self {
            low,
            high,
            is_log: true,
            from,
            to,
        }
    }

    /// The coordinate of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = if self.is_log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The values of the tick marks. On a linear axis, 0 and at most `marks_max` more; on a logarithmic axis, the
    /// powers of ten.
    pub(super) fn marks(&self, marks_max: usize) -> Vec<f64> {
        if self.is_log {
            let decades = (self.high / self.low).log10().round() as i32;
            return (0..=decades)
                .map(|power| self.low * 10_f64.powi(power))
                .collect();
        }
        let step = step(self.high, marks_max);
        let count = (self.high / step + 1e-9).floor() as u32;
        (0..=count).map(|number| f64::from(number) * step).collect()
    }
}

/// The distance between tick marks: 1, 2 or 5 times a power of ten, so that at most `marks_max` marks are above 0.
fn step(highest: f64, marks_max: usize) -> f64 {
    let least = highest / marks_max.max(1) as f64;
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// A rate as a label: `500`, `1.5k`, `20k`.
pub(super) fn rate_label(value: f64) -> String {
    if value < 1_000.0 {
        return display::thousands((value * 10.0).round() / 10.0);
    }
    let (value, unit) = if value < 1e6 {
        (value / 1e3, "k")
    } else {
        (value / 1e6, "M")
    };
    let text = format!("{value:.1}");
    format!("{}{unit}", text.trim_end_matches(".0"))
}

/// A power of ten of microseconds as a label: `100 µs`, `10 ms`, `1 s`.
pub(super) fn latency_label(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.0} s", us / 1e6),
    }
}

/// A time of a run as a label. The unit depends on the duration of the run, `whole`: `30 s`, `1:30` (minutes), `2:00
/// h`.
pub(super) fn time_label(seconds: f64, whole: f64) -> String {
    if whole <= 180.0 {
        return format!(
            "{} s",
            display::thousands((seconds * 100.0).round() / 100.0)
        );
    }
    let seconds = seconds.round() as u64;
    let (minutes, rest) = (seconds / 60, seconds % 60);
    if whole > 10_800.0 {
        return format!("{}:{:02} h", minutes / 60, minutes % 60);
    }
    format!("{minutes}:{rest:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_numbers() {
        for (highest, marks) in [
            (0.0, vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (7.0, vec![0.0, 2.0, 4.0, 6.0, 8.0]),
            (1_000.0, vec![0.0, 200.0, 400.0, 600.0, 800.0, 1_000.0]),
            (1_230.0, vec![0.0, 500.0, 1_000.0, 1_500.0]),
        ] {
            let found = Axis::even(highest, 0.0, 1.0, 5).marks(5);
            let near = found.iter().zip(&marks).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(near && found.len() == marks.len(), "{highest}: {found:?}");
        }
        let log = Axis::log(850.0, 1_250_000.0, 0.0, 1.0);
        assert_eq!(log.marks(9), [100.0, 1e3, 1e4, 1e5, 1e6, 1e7]);
    }

    #[test]
    fn values_have_coordinates() {
        let axis = Axis::exact(200.0, 100.0, 0.0);
        assert_eq!(
            [0.0, 50.0, 200.0, 900.0].map(|value| axis.at(value)),
            [100.0, 75.0, 0.0, 0.0]
        );
        let log = Axis::log(1.0, 10_000.0, 0.0, 100.0);
        assert_eq!(
            [0.0, 1.0, 100.0, 10_000.0].map(|value| log.at(value).round()),
            [0.0, 0.0, 50.0, 100.0]
        );
    }

    #[test]
    fn labels_have_units() {
        assert_eq!(
            [0.0, 0.4, 500.0, 1_500.0, 20_000.0, 2e6].map(rate_label),
            ["0", "0.4", "500", "1.5k", "20k", "2M"]
        );
        assert_eq!(
            [100.0, 1e4, 1e6, 1e7].map(latency_label),
            ["100 µs", "10 ms", "1 s", "10 s"]
        );
        assert_eq!(time_label(30.0, 60.0), "30 s");
        assert_eq!(time_label(0.04, 0.1), "0.0 s");
        assert_eq!(time_label(90.0, 600.0), "1:30");
        assert_eq!(time_label(7_200.0, 14_400.0), "2:00 h");
    }
}
