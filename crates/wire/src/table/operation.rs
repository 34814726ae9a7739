//! The operations of the Table service, their stable names and their properties.

use crate::operation::operations;

operations! {
    /// An operation, which follows from the method, the resource and the headers of a request.
    pub enum Operation {
        /// `GET /Tables`
        QueryTables = "QueryTables",
        /// `GET /Tables('name')`
        GetTable = "QueryTable",
        /// `POST /Tables`
        CreateTable = "CreateTable",
        /// `DELETE /Tables('name')`
        DeleteTable = "DeleteTable",
        /// `GET /name()`
        QueryEntities = "QueryEntities",
        /// `GET /name(PartitionKey='',RowKey='')`
        GetEntity = "QueryEntity",
        /// `POST /name`
        InsertEntity = "InsertEntity",
        /// `PUT` with `If-Match`
        UpdateEntity = "UpdateEntity",
        /// `MERGE` or `PATCH` with `If-Match`
        MergeEntity = "MergeEntity",
        /// `PUT` without `If-Match`
        InsertOrReplaceEntity = "InsertOrReplaceEntity",
        /// `MERGE` or `PATCH` without `If-Match`
        InsertOrMergeEntity = "InsertOrMergeEntity",
        /// `DELETE /name(PartitionKey='',RowKey='')`
        DeleteEntity = "DeleteEntity",
        /// `POST /$batch`
        EntityGroupTransaction = "EntityGroupTransaction",
        /// `GET` or `HEAD /name?comp=acl`
        GetTableAcl = "GetTableACL",
        /// `PUT /name?comp=acl`
        SetTableAcl = "SetTableACL",
        /// `GET /name?comp=partita-settings`, an extension of Partita
        GetTableSettings = "GetTableSettings",
        /// `PUT /name?comp=partita-settings`, an extension of Partita
        SetTableSettings = "SetTableSettings",
        /// `POST /name?comp=partita-rename`, an extension of Partita
        RenameTable = "RenameTable",
        /// `POST /name?comp=partita-truncate`, an extension of Partita
        TruncateTable = "TruncateTable",
        /// `GET /?restype=service&comp=properties`
        GetTableServiceProperties = "GetTableServiceProperties",
        /// `PUT /?restype=service&comp=properties`
        SetTableServiceProperties = "SetTableServiceProperties",
        /// `GET /?restype=service&comp=stats`
        GetTableServiceStats = "GetTableServiceStats",
        /// `OPTIONS` on any path
        Preflight = "TablePreflightRequest",
    }
}

impl Operation {
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
