use super::*;
use crate::auth::Letters;
use crate::table::auth::access::{CONTRIBUTOR, READER};
use crate::{AccountGrant, Rights, TokenRoles};
use partita_model::EntityRange;

fn refusal(access: &Access, operation: Operation) -> Option<ErrorCode> {
    access
        .check(operation, Some("MyTable"))
        .err()
        .map(|failure| failure.code)
}

fn role(bit: u32) -> Access {
    Access::from_rights(Rights::Roles(bit)).unwrap()
}

/// Each operation, its resource type, and the permissions that suffice (service document "Create an account SAS").
const ACCOUNT_SAS: &[(Operation, &str, &[&str])] = &[
    (Operation::GetTableServiceProperties, "s", &["r"]),
    (Operation::GetTableServiceStats, "s", &["r"]),
    (Operation::SetTableServiceProperties, "s", &["w"]),
    (Operation::QueryTables, "s", &["l"]),
    (Operation::GetTable, "s", &["l"]),
    (Operation::CreateTable, "c", &["c", "w"]),
    (Operation::DeleteTable, "c", &["d"]),
    (Operation::GetTableSettings, "c", &["r"]),
    (Operation::SetTableSettings, "c", &["w"]),
    (Operation::RenameTable, "c", &["dc", "dw"]),
    (Operation::TruncateTable, "c", &["dc", "dw"]),
    (Operation::QueryEntities, "o", &["r"]),
    (Operation::GetEntity, "o", &["r"]),
    (Operation::InsertEntity, "o", &["a"]),
    (Operation::InsertOrMergeEntity, "o", &["au"]),
    (Operation::InsertOrReplaceEntity, "o", &["au"]),
    (Operation::UpdateEntity, "o", &["u"]),
    (Operation::MergeEntity, "o", &["u"]),
    (Operation::DeleteEntity, "o", &["d"]),
    (Operation::EntityGroupTransaction, "o", &[""]),
];

#[test]
fn an_account_sas_needs_resource_type_and_permission() {
    for &(operation, resource_type, sufficient) in ACCOUNT_SAS {
        let with = |srt: &str, sp: &str| {
            refusal(&Access::account_sas(AccountGrant::new(srt, sp)), operation)
        };
        for sp in sufficient {
            assert_eq!(with(resource_type, sp), None, "{operation} {sp}");
            let others = "sco".replace(resource_type, "");
            assert_eq!(
                with(&others, "rwdlacup"),
                Some(ErrorCode::AuthorizationResourceTypeMismatch),
                "{operation}"
            );
            for letter in "rwdlacup".chars().map(String::from) {
                let enough = sufficient
                    .iter()
                    .any(|needed| needed.is_empty() || **needed == letter);
                let expected = (!enough).then_some(ErrorCode::AuthorizationPermissionMismatch);
                assert_eq!(with("sco", &letter), expected, "{operation} {letter}");
            }
        }
    }
    let all = Access::account_sas(AccountGrant::new("sco", "rwdlacup"));
    for operation in [Operation::GetTableAcl, Operation::SetTableAcl] {
        assert_eq!(
            refusal(&all, operation),
            Some(ErrorCode::AuthorizationFailure)
        );
    }
    assert_eq!(ACCOUNT_SAS.len() + 3, Operation::ALL.len());
}

#[test]
fn a_table_sas_reaches_entities_of_its_table() {
    let with = |sp: &str| {
        Access::container_sas(
            "mytable".to_owned(),
            Letters::parse(sp),
            EntityRange::whole_table(),
        )
    };
    for &(operation, resource_type, sufficient) in ACCOUNT_SAS {
        let expected = match resource_type {
            "o" => None,
            _ => Some(ErrorCode::AuthorizationFailure),
        };
        assert_eq!(refusal(&with("raud"), operation), expected, "{operation}");
        if resource_type == "o" && sufficient != [""] {
            let others: String = "raud"
                .chars()
                .filter(|letter| !sufficient[0].contains(*letter))
                .collect();
            let expected = Some(ErrorCode::AuthorizationPermissionMismatch);
            assert_eq!(refusal(&with(&others), operation), expected, "{operation}");
        }
    }
    let other = with("raud").check(Operation::GetEntity, Some("other"));
    assert_eq!(code(other), ErrorCode::AuthenticationFailed);
}

#[test]
fn roles_read_or_write_but_cannot_read_policies() {
    for &operation in Operation::ALL {
        let acl = matches!(operation, Operation::GetTableAcl | Operation::SetTableAcl);
        let contributor = refusal(&role(CONTRIBUTOR), operation);
        assert_eq!(
            contributor,
            acl.then_some(ErrorCode::ResourceNotFound),
            "{operation}"
        );
        let reader = refusal(&role(READER), operation);
        let writes = operation.is_write() && operation != Operation::EntityGroupTransaction;
        let expected = if acl {
            contributor
        } else {
            writes.then_some(ErrorCode::AuthorizationPermissionMismatch)
        };
        assert_eq!(reader, expected, "{operation}");
        assert_eq!(refusal(&Access::owner(), operation), None);
    }
}

#[test]
fn the_most_powerful_role_counts() {
    let access = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        Access::token(&TokenRoles::Named(names.collect())).map_err(|failure| failure.code)
    };
    let (reader, contributor) = (role(READER), role(CONTRIBUTOR));
    assert_eq!(access(&["Storage Table Data Reader"]), Ok(reader.clone()));
    assert_eq!(
        access(&["76199698-9eea-4c19-bc75-cec21354c6b6"]),
        Ok(reader)
    );
    assert_eq!(
        access(&[
            "Storage Table Data Reader",
            "Storage Table Data Contributor"
        ]),
        Ok(contributor.clone())
    );
    assert_eq!(Access::token(&TokenRoles::Unrestricted), Ok(contributor));
    for other in [&["Owner"][..], &[]] {
        assert_eq!(
            access(other),
            Err(ErrorCode::AuthorizationPermissionMismatch)
        );
    }
}
