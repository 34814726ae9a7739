use super::*;
use crate::auth::Letters;
use crate::queue::Operation as O;
use crate::{AccountGrant, TokenRoles};
use partita_model::EntityRange;

fn refusal(access: &Access, operation: O) -> Option<ErrorCode> {
    let checked = access.check(operation, Some("queue1"));
    checked.err().map(|failure| failure.code)
}

/// Each operation, its resource type, the permissions of an account SAS that suffice, and that of a queue SAS (service
/// documents "Create an account SAS", "Create a service SAS").
const SAS: &[(O, &str, &[&str], &str)] = &[
    (O::ListQueues, "s", &["l"], ""),
    (O::GetQueueServiceProperties, "s", &["r"], ""),
    (O::GetQueueServiceStats, "s", &["r"], ""),
    (O::SetQueueServiceProperties, "s", &["w"], ""),
    (O::CreateQueue, "c", &["c", "w"], ""),
    (O::DeleteQueue, "c", &["d"], ""),
    (O::GetQueueMetadata, "c", &["r"], "r"),
    (O::SetQueueMetadata, "c", &["w"], ""),
    (O::PutMessage, "o", &["a"], "a"),
    (O::GetMessages, "o", &["p"], "p"),
    (O::PeekMessages, "o", &["r"], "r"),
    (O::UpdateMessage, "o", &["u"], "u"),
    (O::DeleteMessage, "o", &["p"], "p"),
    (O::ClearMessages, "o", &["d"], ""),
];

#[test]
fn an_account_sas_needs_resource_type_and_permission() {
    for &(operation, resource_type, sufficient, _) in SAS {
        let with = |srt: &str, sp: &str| {
            refusal(&Access::account_sas(AccountGrant::new(srt, sp)), operation)
        };
        for letter in "rwdlacup".chars().map(String::from) {
            let enough = sufficient.contains(&letter.as_str());
            let expected = (!enough).then_some(ErrorCode::AuthorizationPermissionMismatch);
            assert_eq!(
                with(resource_type, &letter),
                expected,
                "{operation} {letter}"
            );
        }
        let others = "sco".replace(resource_type, "");
        let expected = Some(ErrorCode::AuthorizationResourceTypeMismatch);
        assert_eq!(with(&others, "rwdlacup"), expected, "{operation}");
    }
    let all = Access::account_sas(AccountGrant::new("sco", "rwdlacup"));
    for operation in [O::GetQueueAcl, O::SetQueueAcl] {
        let expected = Some(ErrorCode::AuthorizationFailure);
        assert_eq!(refusal(&all, operation), expected);
    }
    assert_eq!(refusal(&all, O::Preflight), None);
    assert_eq!(SAS.len() + 3, O::ALL.len());
}

#[test]
fn a_queue_sas_reaches_messages_of_its_queue() {
    let with = |sp: &str| {
        let (queue, everything) = ("queue1".to_owned(), EntityRange::whole_table());
        Access::container_sas(queue, Letters::parse(sp), everything)
    };
    for &(operation, _, _, permission) in SAS {
        let all = match permission {
            "" => Some(ErrorCode::AuthorizationFailure),
            _ => None,
        };
        assert_eq!(refusal(&with("raup"), operation), all, "{operation}");
        if !permission.is_empty() {
            let others = "raup".replace(permission, "");
            let expected = Some(ErrorCode::AuthorizationPermissionMismatch);
            assert_eq!(refusal(&with(&others), operation), expected, "{operation}");
        }
    }
    let acl = refusal(&with("raup"), O::GetQueueAcl);
    assert_eq!(acl, Some(ErrorCode::AuthorizationFailure));
    let other = with("raup").check(O::PutMessage, Some("queue2"));
    assert_eq!(code(other), ErrorCode::AuthenticationFailed);
}

fn token(names: &[&str]) -> Result<Access, ErrorCode> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Access::token(&TokenRoles::Named(names)).map_err(|failure| failure.code)
}

/// The operations that each role permits (document "Authorize access to queues using Microsoft Entra ID").
#[test]
fn a_role_permits_its_operations() {
    let reads: Vec<O> = O::ALL.iter().copied().filter(|o| !o.is_write()).collect();
    for (name, id, permitted) in [
        (
            "Contributor",
            "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
            O::ALL,
        ),
        ("Reader", "19e7f393-937e-4f77-808e-94535e297925", &reads),
        (
            "Message Processor",
            "8a0f0c08-91a1-4084-bc3d-661d67233fed",
            &[
                O::PeekMessages,
                O::GetMessages,
                O::DeleteMessage,
                O::Preflight,
            ],
        ),
        (
            "Message Sender",
            "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
            &[O::PutMessage, O::Preflight],
        ),
    ] {
        let by_name = token(&[&format!("Storage Queue Data {name}")]).unwrap();
        assert_eq!(token(&[id]), Ok(by_name.clone()));
        for &operation in O::ALL {
            let expected = match operation {
                O::GetQueueAcl | O::SetQueueAcl => Some(ErrorCode::ResourceNotFound),
                _ if permitted.contains(&operation) => None,
                _ => Some(ErrorCode::AuthorizationPermissionMismatch),
            };
            assert_eq!(refusal(&by_name, operation), expected, "{name} {operation}");
        }
    }
}

#[test]
fn the_roles_of_a_token_add_up() {
    let both = token(&[
        "Storage Queue Data Message Sender",
        "Storage Queue Data Message Processor",
        "Storage Table Data Contributor",
    ])
    .unwrap();
    for operation in [O::PutMessage, O::GetMessages, O::DeleteMessage] {
        assert_eq!(refusal(&both, operation), None, "{operation}");
    }
    let unrestricted = Access::token(&TokenRoles::Unrestricted).unwrap();
    assert_eq!(refusal(&unrestricted, O::DeleteQueue), None);
    for none in [&["Owner"][..], &["Storage Table Data Contributor"], &[]] {
        assert_eq!(token(none), Err(ErrorCode::AuthorizationPermissionMismatch));
    }
}
