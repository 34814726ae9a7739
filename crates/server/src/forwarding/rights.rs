//! Rights as the wire protocols know them, and as they are forwarded.

use partita_model::{EntityBound, EntityRange};
use partita_peer::forward::{Grant, KeyBound};
use partita_wire::Rights;

/// Rights as they are forwarded; `None` for a range that ends before it begins, which no credentials have.
pub(crate) fn grant_of(rights: &Rights) -> Option<Grant<'_>> {
    Some(match rights {
        Rights::Owner => Grant::Owner,
        Rights::AccountSas {
            resource_types,
            permissions,
        } => Grant::AccountSas {
            resource_types: *resource_types,
            permissions: *permissions,
        },
        Rights::ContainerSas {
            container,
            permissions,
            range,
        } => Grant::ContainerSas {
            container,
            permissions: *permissions,
            from: match &range.start {
                EntityBound::TableStart => None,
                start => Some(key_bound(start)?),
            },
            to: match &range.end {
                EntityBound::TableEnd => None,
                end => Some(key_bound(end)?),
            },
        },
        Rights::Roles(roles) => Grant::Roles(*roles),
    })
}

/// Forwarded rights; `None` if there are none.
pub(crate) fn rights_of(grant: &Grant<'_>) -> Option<Rights> {
    Some(match grant {
        Grant::Owner => Rights::Owner,
        Grant::AccountSas {
            resource_types,
            permissions,
        } => Rights::AccountSas {
            resource_types: *resource_types,
            permissions: *permissions,
        },
        Grant::ContainerSas {
            container,
            permissions,
            from,
            to,
        } => Rights::ContainerSas {
            container: (*container).to_owned(),
            permissions: *permissions,
            range: EntityRange {
                start: from.as_ref().map_or(EntityBound::TableStart, entity_bound),
                end: to.as_ref().map_or(EntityBound::TableEnd, entity_bound),
            },
        },
        Grant::Roles(roles) => Rights::Roles(*roles),
        Grant::Unresolved | Grant::Anonymous => return None,
    })
}

fn key_bound(bound: &EntityBound) -> Option<KeyBound<'_>> {
    Some(match bound {
        EntityBound::BeforePartition(partition) => KeyBound::BeforePartition(partition),
        EntityBound::AfterPartition(partition) => KeyBound::AfterPartition(partition),
        EntityBound::Before(partition, row) => KeyBound::Before(partition, row),
        EntityBound::After(partition, row) => KeyBound::After(partition, row),
        EntityBound::TableStart | EntityBound::TableEnd => return None,
    })
}

fn entity_bound(bound: &KeyBound<'_>) -> EntityBound {
    let owned = |text: &str| text.to_owned();
    match bound {
        KeyBound::BeforePartition(partition) => EntityBound::BeforePartition(owned(partition)),
        KeyBound::AfterPartition(partition) => EntityBound::AfterPartition(owned(partition)),
        KeyBound::Before(partition, row) => EntityBound::Before(owned(partition), owned(row)),
        KeyBound::After(partition, row) => EntityBound::After(owned(partition), owned(row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sas(start: EntityBound, end: EntityBound) -> Rights {
        Rights::ContainerSas {
            container: "Tab".to_owned(),
            permissions: 0b1011,
            range: EntityRange { start, end },
        }
    }

    #[test]
    fn rights_are_the_same_after_they_were_forwarded() {
        let (p, r) = (|| "p".to_owned(), || "r".to_owned());
        let all = [
            Rights::Owner,
            Rights::AccountSas {
                resource_types: 3,
                permissions: 5,
            },
            Rights::Roles(6),
            sas(EntityBound::TableStart, EntityBound::TableEnd),
            sas(EntityBound::Before(p(), r()), EntityBound::After(p(), r())),
            sas(
                EntityBound::BeforePartition(p()),
                EntityBound::AfterPartition(r()),
            ),
        ];
        for rights in all {
            let grant = grant_of(&rights).unwrap();
            assert_eq!(rights_of(&grant), Some(rights.clone()));
        }
    }

    /// The end of a table as a first key would become its start, and grant everything.
    #[test]
    fn an_impossible_range_is_not_forwarded() {
        for rights in [
            sas(EntityBound::TableEnd, EntityBound::TableEnd),
            sas(EntityBound::TableStart, EntityBound::TableStart),
        ] {
            assert_eq!(grant_of(&rights), None);
        }
    }

    #[test]
    fn a_request_without_rights_has_none() {
        for grant in [Grant::Unresolved, Grant::Anonymous] {
            assert_eq!(rights_of(&grant), None);
        }
    }
}
