//! One row of the table of results: a model, a scenario, the rules that are removed, and what must come out.

use crate::{
    Rule,
    check::{Expected, Outcome},
    rule::Rules,
};

/// The rules that are removed, and what the exploration must show.
pub(crate) type Row = (&'static [Rule], Expected);

/// One row of the table of results.
pub struct Case {
    /// The model.
    pub model: &'static str,
    /// Which faults and how many operations the model allows.
    pub scenario: &'static str,
    /// The rules of the design that are removed.
    pub without: &'static [Rule],
    /// What the exploration must show.
    pub expected: Expected,
    run: Box<dyn Fn(Rules, Expected) -> Outcome>,
}

impl Case {
    pub(crate) fn new(
        model: &'static str,
        scenario: &'static str,
        without: &'static [Rule],
        expected: Expected,
        run: impl Fn(Rules, Expected) -> Outcome + 'static,
    ) -> Self {
        Self {
            model,
            scenario,
            without,
            expected,
            run: Box::new(run),
        }
    }

    /// The case of one row.
    pub(crate) fn of_row(
        model: &'static str,
        scenario: &'static str,
        (without, expected): Row,
        run: impl Fn(Rules, Expected) -> Outcome + 'static,
    ) -> Self {
        Self::new(model, scenario, without, expected, run)
    }

    /// The cases of one scenario.
    pub(crate) fn of_scenario(
        model: &'static str,
        scenario: &'static str,
        rows: &[Row],
        run: impl Fn(Rules, Expected) -> Outcome + Copy + 'static,
    ) -> Vec<Self> {
        let case = |row: &Row| Self::of_row(model, scenario, *row, run);
        rows.iter().map(case).collect()
    }

    /// The name: model, scenario and removed rules.
    #[must_use]
    pub fn name(&self) -> String {
        let without: String = self
            .without
            .iter()
            .map(|rule| format!(" -{rule:?}"))
            .collect();
        format!("{} {}{without}", self.model, self.scenario)
    }

    /// Explores the model.
    #[must_use]
    pub fn run(&self) -> Outcome {
        (self.run)(Rules::without(self.without), self.expected)
    }
}
