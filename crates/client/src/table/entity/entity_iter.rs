//! Iterates over the properties of an entity.

use super::Entity;
use partita_model::Value;
use std::sync::Arc;

/// The properties of an entity, in their order.
#[derive(Debug, Clone)]
pub struct EntityIter<'a>(pub(super) std::slice::Iter<'a, (Arc<str>, Value)>);

impl<'a> Iterator for EntityIter<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (&**name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for EntityIter<'_> {}

impl<'a> IntoIterator for &'a Entity {
    type Item = (&'a str, &'a Value);
    type IntoIter = EntityIter<'a>;

    fn into_iter(self) -> EntityIter<'a> {
        self.iter()
    }
}
