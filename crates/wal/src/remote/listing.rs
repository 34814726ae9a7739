//! What a list of a log shows.

use std::collections::BTreeMap;
use std::time::SystemTime;

use object_store::ObjectMeta;

use super::Life;
use super::life::{self, Name};
use super::object::SEAL_BYTES;

/// The objects of one log, as a list showed them.
///
/// A list of several pages is not of one instant. Numbers ascend, so a later page, which is of a later instant, has
/// greater numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    /// The lengths of the objects by their numbers.
    objects: BTreeMap<u64, u64>,
    /// Whether the log was collected.
    pub(super) is_collected: bool,
    /// When the newest object was created, by the clock of the store.
    pub(super) newest: Option<SystemTime>,
}

impl Listing {
    fn add(&mut self, name: Name, object: &ObjectMeta) {
        match name {
            Name::Number(number) => {
                self.objects.insert(number, object.size);
            }
            Name::Collected => self.is_collected = true,
        }
        self.newest = self.newest.max(Some(object.last_modified.into()));
    }

    /// Whether the log exists.
    pub(super) fn has_objects(&self) -> bool {
        self.newest.is_some()
    }

    /// Whether the log has an object with `number`, and whether it is a seal by its length.
    pub(super) fn is_seal(&self, number: u64) -> Option<bool> {
        let bytes = self.objects.get(&number)?;
        Some(*bytes == SEAL_BYTES)
    }

    /// The numbers of the objects that are seals by their length.
    pub(super) fn seals(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.numbers(true)
    }

    /// The numbers of the groups.
    pub(super) fn groups(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.numbers(false)
    }

    fn numbers(&self, seals: bool) -> impl DoubleEndedIterator<Item = u64> {
        let objects = self.objects.iter();
        objects
            .filter(move |(_, bytes)| (**bytes == SEAL_BYTES) == seals)
            .map(|(number, _)| *number)
    }

    /// The length of the object with `number`.
    pub(super) fn bytes(&self, number: u64) -> Option<u64> {
        self.objects.get(&number).copied()
    }

    /// The lengths of the objects from `first` up to `end`.
    pub(super) fn lengths(&self, first: u64, end: u64) -> Vec<u64> {
        let objects = self.objects.range(first..);
        let objects = objects.take_while(|(number, _)| **number < end);
        objects.map(|(_, bytes)| *bytes).collect()
    }

    /// The first number at or after `from` that is not a group.
    pub(super) fn first_not_group(&self, from: u64) -> u64 {
        let mut next = from;
        while self.is_seal(next) == Some(false) {
            next += 1;
        }
        next
    }
}

/// The logs of a list.
pub(super) fn by_life(objects: &[ObjectMeta]) -> BTreeMap<Life, Listing> {
    let mut logs: BTreeMap<Life, Listing> = BTreeMap::new();
    for object in objects {
        if let Some((life, name)) = life::parse(&object.location) {
            logs.entry(life).or_default().add(name, object);
        }
    }
    logs
}
