//! Rights: the operations and entities that a request's credentials permit.

use crate::auth::Letters;
use crate::table::Operation;
use crate::{AccountGrant, ErrorCode, Failure, Rights, TokenRoles};
use partita_model::EntityRange;

/// Roles by name and by id (document "Azure built-in roles"), with more rights first.
const ROLES: [(Role, [&str; 2]); 2] = [
    (
        Role::Contributor,
        [
            "Storage Table Data Contributor",
            "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
        ],
    ),
    (
        Role::Reader,
        [
            "Storage Table Data Reader",
            "76199698-9eea-4c19-bc75-cec21354c6b6",
        ],
    ),
];

/// The roles in [`Rights::Roles`].
const READER: u32 = 1;
const CONTRIBUTOR: u32 = 2;

/// A role of a bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Storage Table Data Reader
    Reader,
    /// Storage Table Data Contributor
    Contributor,
}

/// The rights that a request's credentials grant. Created from verified credentials only, by this server or by another
/// one of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access(Grant);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Grant {
    Owner,
    AccountSas(AccountGrant),
    TableSas {
        table: String,
        permissions: Letters,
        range: EntityRange,
    },
    Role(Role),
}

impl Access {
    pub(super) const fn owner() -> Self {
        Self(Grant::Owner)
    }

    /// The rights of a verified account SAS.
    pub const fn account_sas(grant: AccountGrant) -> Self {
        Self(Grant::AccountSas(grant))
    }

    /// The rights of a verified bearer token: the rights of its most powerful role.
    ///
    /// # Errors
    /// 403 AuthorizationPermissionMismatch for a token without a role for tables.
    pub fn token(roles: &TokenRoles) -> Result<Self, Failure> {
        let role = ROLES.iter().find(|(_, names)| roles.has_any(names));
        role.map(|(role, _)| Self::role(*role))
            .ok_or_else(|| ErrorCode::AuthorizationPermissionMismatch.into())
    }

    /// The rights of a table SAS. The case of `table` does not matter.
    pub(super) const fn table_sas(table: String, permissions: Letters, range: EntityRange) -> Self {
        Self(Grant::TableSas {
            table,
            permissions,
            range,
        })
    }

    pub(super) const fn role(role: Role) -> Self {
        Self(Grant::Role(role))
    }

    /// The rights as plain values, for another server of the cluster.
    pub fn rights(&self) -> Rights {
        match &self.0 {
            Grant::Owner => Rights::Owner,
            Grant::AccountSas(grant) => grant.rights(),
            Grant::TableSas {
                table,
                permissions,
                range,
            } => Rights::ContainerSas {
                container: table.clone(),
                permissions: permissions.bits(),
                range: range.clone(),
            },
            Grant::Role(Role::Reader) => Rights::Roles(READER),
            Grant::Role(Role::Contributor) => Rights::Roles(CONTRIBUTOR),
        }
    }

    /// The rights that another server has verified; `None` for roles that do not exist.
    pub fn from_rights(rights: Rights) -> Option<Self> {
        Some(Self(match rights {
            Rights::Owner => Grant::Owner,
            Rights::AccountSas {
                resource_types,
                permissions,
            } => Grant::AccountSas(AccountGrant::from_bits(resource_types, permissions)),
            Rights::ContainerSas {
                container,
                permissions,
                range,
            } => Grant::TableSas {
                table: container,
                permissions: Letters::from_bits(permissions),
                range,
            },
            Rights::Roles(READER) => Grant::Role(Role::Reader),
            Rights::Roles(CONTRIBUTOR) => Grant::Role(Role::Contributor),
            Rights::Roles(_) => return None,
        }))
    }

    /// Checks that the caller may perform the operation, on `table` if the operation has one. For a batch, call it for
    /// the batch and for each operation in it. For a known entity, also check the keys with [`Self::check_keys`].
    ///
    /// # Errors
    /// 403 with the code of the SAS documents. Bearer tokens get 404 ResourceNotFound for access policies
    /// (recording python--test_table_aad_test_aad_access_policy_error).
    pub fn check(&self, operation: Operation, table: Option<&str>) -> Result<(), Failure> {
        let refusal = match &self.0 {
            Grant::Owner => None,
            Grant::AccountSas(grant) => check_account_sas(*grant, operation),
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

    /// Checks that the caller may access the entity.
    ///
    /// # Errors
    /// 403 AuthorizationFailure (recording python--test_table_entity_test_sas_add_outside_range).
    pub fn check_keys(&self, partition_key: &str, row_key: &str) -> Result<(), Failure> {
        match self.range() {
            Some(range) if !range.contains(partition_key, row_key) => {
                Err(ErrorCode::AuthorizationFailure.into())
            }
            _ => Ok(()),
        }
    }

    /// The range to which queries are restricted; `None` if the caller may read the whole table.
    pub const fn range(&self) -> Option<&EntityRange> {
        match &self.0 {
            Grant::TableSas { range, .. } if !range.is_whole_table() => Some(range),
            Grant::Owner | Grant::AccountSas(_) | Grant::TableSas { .. } | Grant::Role(_) => None,
        }
    }

    /// The kind of credentials, for logs: `key`, `account-sas`, `table-sas` or `token`.
    pub const fn kind(&self) -> &'static str {
        match self.0 {
            Grant::Owner => "key",
            Grant::AccountSas(_) => "account-sas",
            Grant::TableSas { .. } => "table-sas",
            Grant::Role(_) => "token",
        }
    }
}

/// The permissions that an operation needs from a shared access signature.
enum Needs {
    Nothing,
    /// A resource type of an account SAS, and all letters of one of these permissions. A table SAS covers only the type
    /// `o`.
    Permissions(&'static str, &'static [&'static str]),
    /// Credentials other than a shared access signature.
    OtherCredentials,
}

/// Follows the table of the service document "Create an account SAS".
const fn needs(operation: Operation) -> Needs {
    use Needs::Permissions as P;
    use Operation as O;
    match operation {
        O::GetTableServiceProperties | O::GetTableServiceStats => P("s", &["r"]),
        O::SetTableServiceProperties => P("s", &["w"]),
        O::QueryTables | O::GetTable => P("s", &["l"]),
        O::CreateTable => P("c", &["c", "w"]),
        O::DeleteTable => P("c", &["d"]),
        O::QueryEntities | O::GetEntity => P("o", &["r"]),
        O::InsertEntity => P("o", &["a"]),
        O::InsertOrMergeEntity | O::InsertOrReplaceEntity => P("o", &["au"]),
        O::UpdateEntity | O::MergeEntity => P("o", &["u"]),
        O::DeleteEntity => P("o", &["d"]),
        // Each extension of Partita needs the permissions of the service's operations with the same effect.
        O::GetTableSettings => P("c", &["r"]),
        O::SetTableSettings => P("c", &["w"]),
        O::RenameTable | O::TruncateTable => P("c", &["dc", "dw"]),
        // The operations of a batch are checked one by one.
        O::EntityGroupTransaction => P("o", &[""]),
        O::GetTableAcl | O::SetTableAcl => Needs::OtherCredentials,
        O::Preflight => Needs::Nothing,
    }
}

fn check_account_sas(grant: AccountGrant, operation: Operation) -> Option<ErrorCode> {
    match needs(operation) {
        Needs::Nothing => None,
        Needs::Permissions(resource_type, permissions) => grant.refusal(resource_type, permissions),
        Needs::OtherCredentials => Some(ErrorCode::AuthorizationFailure),
    }
}

fn check_table_sas(granted: Letters, operation: Operation) -> Option<ErrorCode> {
    match needs(operation) {
        Needs::Nothing => None,
        Needs::Permissions("o", permissions) => (!granted.has_all_of_one(permissions))
            .then_some(ErrorCode::AuthorizationPermissionMismatch),
        Needs::Permissions(..) | Needs::OtherCredentials => Some(ErrorCode::AuthorizationFailure),
    }
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
