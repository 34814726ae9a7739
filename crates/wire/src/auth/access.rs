//! What an authenticated caller may do.

use super::KeyRange;
use super::letters::Letters;
use crate::{ErrorCode, Failure, Operation};

/// What a bearer token's roles allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Storage Table Data Reader
    Reader,
    /// Storage Table Data Contributor
    Contributor,
}

/// The rights that a request's credentials give it. Only verified credentials become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access(Grant);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Grant {
    Owner,
    AccountSas {
        resource_types: Letters,
        permissions: Letters,
    },
    TableSas {
        table: String,
        permissions: Letters,
        range: KeyRange,
    },
    Role(Role),
}

impl Access {
    pub(super) const fn owner() -> Self {
        Self(Grant::Owner)
    }

    pub(super) const fn account_sas(resource_types: Letters, permissions: Letters) -> Self {
        Self(Grant::AccountSas {
            resource_types,
            permissions,
        })
    }

    /// `table` is compared without regard to case.
    pub(super) const fn table_sas(table: String, permissions: Letters, range: KeyRange) -> Self {
        Self(Grant::TableSas {
            table,
            permissions,
            range,
        })
    }

    pub(super) const fn role(role: Role) -> Self {
        Self(Grant::Role(role))
    }

    /// Whether the caller may do the operation, on the table where it has one. For a batch ask for the batch itself and
    /// then for every operation in it; for a known entity ask [`Self::check_keys`] besides.
    ///
    /// # Errors
    /// 403 with the code of the SAS documents. Bearer tokens that ask for access policies get 404 ResourceNotFound
    /// (recording python--test_table_aad_test_aad_access_policy_error).
    pub fn check(&self, operation: Operation, table: Option<&str>) -> Result<(), Failure> {
        let refusal = match &self.0 {
            Grant::Owner => None,
            Grant::AccountSas {
                resource_types,
                permissions,
            } => check_account_sas(*resource_types, *permissions, operation),
            Grant::TableSas {
                table: granted,
                permissions,
                ..
            } => {
                if table.is_some_and(|table| !table.eq_ignore_ascii_case(granted)) {
                    return Err(Failure::authentication(
                        "the signature is for another table",
                    ));
                }
                check_table_sas(*permissions, operation)
            }
            Grant::Role(role) => check_role(*role, operation),
        };
        refusal.map_or(Ok(()), |code| Err(code.into()))
    }

    /// Whether the caller may touch the entity.
    ///
    /// # Errors
    /// 403 AuthorizationFailure (recording python--test_table_entity_test_sas_add_outside_range).
    pub fn check_keys(&self, partition_key: &str, row_key: &str) -> Result<(), Failure> {
        match self.key_range() {
            Some(range) if !range.contains(partition_key, row_key) => {
                Err(ErrorCode::AuthorizationFailure.into())
            }
            _ => Ok(()),
        }
    }

    /// The keys that queries are to be cut down to; `None` where the caller may see everything.
    #[must_use]
    pub const fn key_range(&self) -> Option<&KeyRange> {
        match &self.0 {
            Grant::TableSas { range, .. } if !range.is_everything() => Some(range),
            Grant::Owner | Grant::AccountSas { .. } | Grant::TableSas { .. } | Grant::Role(_) => {
                None
            }
        }
    }

    /// The kind of credentials, for logs: `key`, `account-sas`, `table-sas` or `token`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.0 {
            Grant::Owner => "key",
            Grant::AccountSas { .. } => "account-sas",
            Grant::TableSas { .. } => "table-sas",
            Grant::Role(_) => "token",
        }
    }
}

/// The table of the service document "Create an account SAS": resource type first, then permission.
fn check_account_sas(
    resource_types: Letters,
    permissions: Letters,
    operation: Operation,
) -> Option<ErrorCode> {
    use Operation as O;
    let (resource_type, permitted) = match operation {
        O::GetTableServiceProperties | O::GetTableServiceStats => ("s", permissions.has_all("r")),
        O::SetTableServiceProperties => ("s", permissions.has_all("w")),
        O::QueryTables | O::GetTable => ("s", permissions.has_all("l")),
        O::CreateTable => ("c", permissions.has_any("cw")),
        O::DeleteTable => ("c", permissions.has_all("d")),
        O::QueryEntities | O::GetEntity => ("o", permissions.has_all("r")),
        O::InsertEntity => ("o", permissions.has_all("a")),
        O::InsertOrMergeEntity | O::InsertOrReplaceEntity => ("o", permissions.has_all("au")),
        O::UpdateEntity | O::MergeEntity => ("o", permissions.has_all("u")),
        O::DeleteEntity => ("o", permissions.has_all("d")),
        // Extensions of ours: what it would take to do the same by the service's own operations.
        O::GetTableSettings => ("c", permissions.has_all("r")),
        O::SetTableSettings => ("c", permissions.has_all("w")),
        O::RenameTable | O::TruncateTable => {
            ("c", permissions.has_all("d") && permissions.has_any("cw"))
        }
        // The operations in it are asked for one by one.
        O::EntityGroupTransaction => ("o", true),
        O::GetTableAcl | O::SetTableAcl => return Some(ErrorCode::AuthorizationFailure),
        O::Preflight => return None,
    };
    if !resource_types.has_all(resource_type) {
        Some(ErrorCode::AuthorizationResourceTypeMismatch)
    } else if permitted {
        None
    } else {
        Some(ErrorCode::AuthorizationPermissionMismatch)
    }
}

fn check_table_sas(permissions: Letters, operation: Operation) -> Option<ErrorCode> {
    use Operation as O;
    let permitted = match operation {
        O::QueryEntities | O::GetEntity => permissions.has_all("r"),
        O::InsertEntity => permissions.has_all("a"),
        O::InsertOrMergeEntity | O::InsertOrReplaceEntity => permissions.has_all("au"),
        O::UpdateEntity | O::MergeEntity => permissions.has_all("u"),
        O::DeleteEntity => permissions.has_all("d"),
        O::EntityGroupTransaction | O::Preflight => true,
        O::QueryTables
        | O::GetTable
        | O::CreateTable
        | O::DeleteTable
        | O::GetTableAcl
        | O::SetTableAcl
        | O::GetTableSettings
        | O::SetTableSettings
        | O::RenameTable
        | O::TruncateTable
        | O::GetTableServiceProperties
        | O::SetTableServiceProperties
        | O::GetTableServiceStats => return Some(ErrorCode::AuthorizationFailure),
    };
    (!permitted).then_some(ErrorCode::AuthorizationPermissionMismatch)
}

fn check_role(role: Role, operation: Operation) -> Option<ErrorCode> {
    match (operation, role) {
        (Operation::GetTableAcl | Operation::SetTableAcl, _) => Some(ErrorCode::ResourceNotFound),
        (_, Role::Contributor) | (Operation::EntityGroupTransaction, Role::Reader) => None,
        (operation, Role::Reader) => operation
            .is_write()
            .then_some(ErrorCode::AuthorizationPermissionMismatch),
    }
}
