//! The operations of the Table service, their stable names and their properties.

use self::Operation as O;
use std::fmt;

/// An operation, which follows from the method, the resource and the headers of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `GET /Tables`
    QueryTables,
    /// `GET /Tables('name')`
    GetTable,
    /// `POST /Tables`
    CreateTable,
    /// `DELETE /Tables('name')`
    DeleteTable,
    /// `GET /name()`
    QueryEntities,
    /// `GET /name(PartitionKey='',RowKey='')`
    GetEntity,
    /// `POST /name`
    InsertEntity,
    /// `PUT` with `If-Match`
    UpdateEntity,
    /// `MERGE` or `PATCH` with `If-Match`
    MergeEntity,
    /// `PUT` without `If-Match`
    InsertOrReplaceEntity,
    /// `MERGE` or `PATCH` without `If-Match`
    InsertOrMergeEntity,
    /// `DELETE /name(PartitionKey='',RowKey='')`
    DeleteEntity,
    /// `POST /$batch`
    EntityGroupTransaction,
    /// `GET` or `HEAD /name?comp=acl`
    GetTableAcl,
    /// `PUT /name?comp=acl`
    SetTableAcl,
    /// `GET /name?comp=partita-settings`, an extension of Partita
    GetTableSettings,
    /// `PUT /name?comp=partita-settings`, an extension of Partita
    SetTableSettings,
    /// `POST /name?comp=partita-rename`, an extension of Partita
    RenameTable,
    /// `POST /name?comp=partita-truncate`, an extension of Partita
    TruncateTable,
    /// `GET /?restype=service&comp=properties`
    GetTableServiceProperties,
    /// `PUT /?restype=service&comp=properties`
    SetTableServiceProperties,
    /// `GET /?restype=service&comp=stats`
    GetTableServiceStats,
    /// `OPTIONS` on any path
    Preflight,
}

/// All operations in the order of the enum, and their names.
const NAMES: [(O, &str); 23] = [
    (O::QueryTables, "QueryTables"),
    (O::GetTable, "QueryTable"),
    (O::CreateTable, "CreateTable"),
    (O::DeleteTable, "DeleteTable"),
    (O::QueryEntities, "QueryEntities"),
    (O::GetEntity, "QueryEntity"),
    (O::InsertEntity, "InsertEntity"),
    (O::UpdateEntity, "UpdateEntity"),
    (O::MergeEntity, "MergeEntity"),
    (O::InsertOrReplaceEntity, "InsertOrReplaceEntity"),
    (O::InsertOrMergeEntity, "InsertOrMergeEntity"),
    (O::DeleteEntity, "DeleteEntity"),
    (O::EntityGroupTransaction, "EntityGroupTransaction"),
    (O::GetTableAcl, "GetTableACL"),
    (O::SetTableAcl, "SetTableACL"),
    (O::GetTableSettings, "GetTableSettings"),
    (O::SetTableSettings, "SetTableSettings"),
    (O::RenameTable, "RenameTable"),
    (O::TruncateTable, "TruncateTable"),
    (O::GetTableServiceProperties, "GetTableServiceProperties"),
    (O::SetTableServiceProperties, "SetTableServiceProperties"),
    (O::GetTableServiceStats, "GetTableServiceStats"),
    (O::Preflight, "TablePreflightRequest"),
];

impl Operation {
    /// All operations.
    pub const ALL: &[Self] = &{
        let mut all = [O::Preflight; NAMES.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = NAMES[at].0;
            at += 1;
        }
        all
    };

    /// The name in metrics and logs: the name in the service's analytics logs, if there is one (service document
    /// "Storage Analytics Logged Operations and Status Messages"). Names never change.
    pub const fn name(self) -> &'static str {
        NAMES[self.index()].1
    }

    /// The position in [`Self::ALL`], for arrays indexed by operation.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether the operation can change data. A batch counts as a write, although it may contain only a query.
    pub const fn is_write(self) -> bool {
        !matches!(
            self,
            Self::QueryTables
                | Self::GetTable
                | Self::QueryEntities
                | Self::GetEntity
                | Self::GetTableAcl
                | Self::GetTableSettings
                | Self::GetTableServiceProperties
                | Self::GetTableServiceStats
                | Self::Preflight
        )
    }

    /// Whether bodies and errors are XML instead of OData JSON.
    pub const fn answers_xml(self) -> bool {
        matches!(
            self,
            Self::GetTableAcl
                | Self::SetTableAcl
                | Self::GetTableServiceProperties
                | Self::SetTableServiceProperties
                | Self::GetTableServiceStats
                | Self::Preflight
        )
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_is_in_order_and_names_differ() {
        let mut names = HashSet::new();
        for (index, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(operation.index(), index);
            assert!(names.insert(operation.name()), "{operation}");
        }
    }
}
