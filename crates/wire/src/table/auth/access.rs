//! Rights: the operations and entities that a request's credentials permit.

use crate::auth::{AccessRules, Needs};
use crate::table::Operation;
use crate::{ErrorCode, Failure, Rights, TokenRoles};
use partita_model::EntityRange;

/// The roles in [`Rights::Roles`], of which a token has one.
pub(super) const READER: u32 = 1;
pub(super) const CONTRIBUTOR: u32 = 2;

/// Roles by name and by id (document "Azure built-in roles"), with more rights first.
const ROLES: [(u32, [&str; 2]); 2] = [
    (
        CONTRIBUTOR,
        [
            "Storage Table Data Contributor",
            "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
        ],
    ),
    (
        READER,
        [
            "Storage Table Data Reader",
            "76199698-9eea-4c19-bc75-cec21354c6b6",
        ],
    ),
];

/// What the Table service permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableRules {}

/// The rights that a request's credentials grant. A token has the rights of its most powerful role. A batch is checked as
/// a whole, and so is each operation in it. The keys of a known entity are checked with [`Access::check_keys`], too.
pub type Access = crate::auth::Access<TableRules>;

impl AccessRules for TableRules {
    type Operation = Operation;

    const CONTAINER: &'static str = "table";

    fn roles(token: &TokenRoles) -> u32 {
        let role = ROLES.iter().find(|(_, names)| token.has_any(names));
        role.map_or(0, |(role, _)| *role)
    }

    fn are_roles(bits: u32) -> bool {
        matches!(bits, READER | CONTRIBUTOR)
    }

    fn is_covered(named: &str, signed: &str) -> bool {
        named.eq_ignore_ascii_case(signed)
    }

    /// Follows the table of the service document "Create an account SAS".
    fn needs(operation: Operation) -> Needs {
        use Operation as O;
        let (resource_type, permissions): (_, &[_]) = match operation {
            O::GetTableServiceProperties | O::GetTableServiceStats => ("s", &["r"]),
            O::SetTableServiceProperties => ("s", &["w"]),
            O::QueryTables | O::GetTable => ("s", &["l"]),
            O::CreateTable => ("c", &["c", "w"]),
            O::DeleteTable => ("c", &["d"]),
            O::QueryEntities | O::GetEntity => ("o", &["r"]),
            O::InsertEntity => ("o", &["a"]),
            O::InsertOrMergeEntity | O::InsertOrReplaceEntity => ("o", &["au"]),
            O::UpdateEntity | O::MergeEntity => ("o", &["u"]),
            O::DeleteEntity => ("o", &["d"]),
            // Each extension of Partita needs the permissions of the service's operations with the same effect.
            O::GetTableSettings => ("c", &["r"]),
            O::SetTableSettings => ("c", &["w"]),
            O::RenameTable | O::TruncateTable => ("c", &["dc", "dw"]),
            // The operations of a batch are checked one by one.
            O::EntityGroupTransaction => ("o", &[""]),
            O::GetTableAcl | O::SetTableAcl => return Needs::OtherCredentials,
            O::Preflight => return Needs::Nothing,
        };
        Needs::Permissions {
            resource_type,
            permissions,
            by_container: resource_type == "o",
        }
    }

    fn refusal_of_roles(roles: u32, operation: Operation) -> Option<ErrorCode> {
        use Operation as O;
        let is_reader = roles != CONTRIBUTOR;
        match operation {
            O::GetTableAcl | O::SetTableAcl => Some(ErrorCode::ResourceNotFound),
            O::EntityGroupTransaction => None,
            operation => (is_reader && operation.is_write())
                .then_some(ErrorCode::AuthorizationPermissionMismatch),
        }
    }
}

impl Access {
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
        match self.rights() {
            Rights::ContainerSas { range, .. } if !range.is_whole_table() => Some(range),
            Rights::Owner
            | Rights::AccountSas { .. }
            | Rights::ContainerSas { .. }
            | Rights::Roles(_) => None,
        }
    }
}
