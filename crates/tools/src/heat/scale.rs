//! The levels of colour of a heat map, on a logarithmic scale.

/// The number of levels.
pub const LEVELS: usize = 10;
/// The ratio of the maximum to the smallest value on the scale. Smaller values have the lowest level.
pub const SPAN: f64 = 1000.0;

/// The level of a value, from 0 to [`LEVELS`] - 1 for `maximum`; `None` for zero.
pub fn level(value: f64, maximum: f64) -> Option<usize> {
    if value <= 0.0 {
        return None;
    }
    let part = 1.0 + (value / maximum).log10() / SPAN.log10();
    let level = (part * LEVELS as f64).ceil() - 1.0;
    Some(level.clamp(0.0, (LEVELS - 1) as f64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_even_on_a_logarithmic_scale() {
        let steps = [0.0, 0.5, 1.0, 1.9, 2.1, 500.0, 502.0, 1000.0];
        let steps = steps.map(|value| level(value, 1000.0));
        let expected = [
            None,
            Some(0),
            Some(0),
            Some(0),
            Some(1),
            Some(8),
            Some(9),
            Some(9),
        ];
        assert_eq!(steps, expected);
    }
}
