//! The operations of the Table service and their stable names.

use std::fmt;

/// What a request asks for, once method, resource and headers have been read together.
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
    /// `GET /name?comp=partita-settings`, an extension of ours
    GetTableSettings,
    /// `PUT /name?comp=partita-settings`, an extension of ours
    SetTableSettings,
    /// `POST /name?comp=partita-rename`, an extension of ours
    RenameTable,
    /// `POST /name?comp=partita-truncate`, an extension of ours
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

impl Operation {
    /// Every operation.
    pub const ALL: &[Self] = &[
        Self::QueryTables,
        Self::GetTable,
        Self::CreateTable,
        Self::DeleteTable,
        Self::QueryEntities,
        Self::GetEntity,
        Self::InsertEntity,
        Self::UpdateEntity,
        Self::MergeEntity,
        Self::InsertOrReplaceEntity,
        Self::InsertOrMergeEntity,
        Self::DeleteEntity,
        Self::EntityGroupTransaction,
        Self::GetTableAcl,
        Self::SetTableAcl,
        Self::GetTableSettings,
        Self::SetTableSettings,
        Self::RenameTable,
        Self::TruncateTable,
        Self::GetTableServiceProperties,
        Self::SetTableServiceProperties,
        Self::GetTableServiceStats,
        Self::Preflight,
    ];

    /// The name in metrics and logs: that of the service's analytics logs where they have one (service document
    /// "Storage Analytics Logged Operations and Status Messages"). Names never change.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueryTables => "QueryTables",
            Self::GetTable => "QueryTable",
            Self::CreateTable => "CreateTable",
            Self::DeleteTable => "DeleteTable",
            Self::QueryEntities => "QueryEntities",
            Self::GetEntity => "QueryEntity",
            Self::InsertEntity => "InsertEntity",
            Self::UpdateEntity => "UpdateEntity",
            Self::MergeEntity => "MergeEntity",
            Self::InsertOrReplaceEntity => "InsertOrReplaceEntity",
            Self::InsertOrMergeEntity => "InsertOrMergeEntity",
            Self::DeleteEntity => "DeleteEntity",
            Self::EntityGroupTransaction => "EntityGroupTransaction",
            Self::GetTableAcl => "GetTableACL",
            Self::SetTableAcl => "SetTableACL",
            Self::GetTableSettings => "GetTableSettings",
            Self::SetTableSettings => "SetTableSettings",
            Self::RenameTable => "RenameTable",
            Self::TruncateTable => "TruncateTable",
            Self::GetTableServiceProperties => "GetTableServiceProperties",
            Self::SetTableServiceProperties => "SetTableServiceProperties",
            Self::GetTableServiceStats => "GetTableServiceStats",
            Self::Preflight => "TablePreflightRequest",
        }
    }

    /// Its place in [`Self::ALL`], for tables indexed by operation.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether the operation may change something. A batch counts as a write, though it may hold a single query.
    #[must_use]
    pub const fn is_write(self) -> bool {
        match self {
            Self::CreateTable
            | Self::DeleteTable
            | Self::InsertEntity
            | Self::UpdateEntity
            | Self::MergeEntity
            | Self::InsertOrReplaceEntity
            | Self::InsertOrMergeEntity
            | Self::DeleteEntity
            | Self::EntityGroupTransaction
            | Self::SetTableAcl
            | Self::SetTableSettings
            | Self::RenameTable
            | Self::TruncateTable
            | Self::SetTableServiceProperties => true,
            Self::QueryTables
            | Self::GetTable
            | Self::QueryEntities
            | Self::GetEntity
            | Self::GetTableAcl
            | Self::GetTableSettings
            | Self::GetTableServiceProperties
            | Self::GetTableServiceStats
            | Self::Preflight => false,
        }
    }

    /// Whether bodies and errors are XML, not OData JSON.
    #[must_use]
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
