//! The servers that serve ranges of a scope, as the registry lists them.

use super::TargetScope;
use partita_coordinator::{RangeState, Table};
use partita_model::KeyKind;
use std::collections::BTreeSet;

/// The living servers that serve ranges with keys of the scope. The ranges of an account may have no row of it: a range
/// also covers keys between those that exist.
pub(crate) fn owners<'t>(table: &'t Table, scope: &TargetScope) -> BTreeSet<&'t str> {
    let mut owners = BTreeSet::new();
    for start in prefixes(scope) {
        let end = after_prefix(&start);
        for stored in table.ranges_from(&start) {
            let shape = &stored.record.shape;
            let is_after = end.as_ref().is_some_and(|end| shape.start >= *end);
            // There are no others.
            if is_after || owners.len() == table.servers().len() {
                break;
            }
            let is_before = shape.end.as_ref().is_some_and(|end| *end <= start);
            if let RangeState::Serving { owner, .. } = &stored.record.state
                && !is_before
                && table.is_alive(&owner.name, owner.life)
            {
                owners.insert(owner.name.as_str());
            }
        }
    }
    owners
}

/// The number of living servers that serve ranges with keys of the scope.
#[must_use]
pub fn owner_count(table: &Table, scope: &TargetScope) -> usize {
    owners(table, scope).len()
}

/// The prefixes of the keys whose requests are charged to the scope.
fn prefixes(scope: &TargetScope) -> Vec<Vec<u8>> {
    match scope {
        TargetScope::Container(prefix) => vec![prefix.to_vec()],
        TargetScope::Account(account) => {
            let of_kind = |kind: KeyKind| [&[kind.byte()], &**account].concat();
            [KeyKind::ENTITY, KeyKind::MESSAGE].map(of_kind).to_vec()
        }
    }
}

/// The least key after all keys with this prefix; `None` if there is none.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte += 1;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_after_a_prefix_is_the_least_one() {
        assert_eq!(after_prefix(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(after_prefix(&[1, 0xFF, 0xFF]), Some(vec![2]));
        assert_eq!(after_prefix(&[0xFF]), None);
        assert_eq!(after_prefix(&[]), None);
    }
}
