//! Flags with a fixed set of values.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A parser that accepts the name of one of these values.
pub(crate) fn choice<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = values.each_ref().map(|(name, _)| *name);
    PossibleValuesParser::new(names).map(move |chosen| {
        let mut values = values.iter();
        let value = values.find(|(name, _)| *name == chosen);
        let (_, value) = value.expect("only these names are possible");
        value.clone()
    })
}
