//! Rights: the operations that a request's credentials permit.

use crate::auth::{AccessRules, Needs};
use crate::queue::Operation;
use crate::{ErrorCode, TokenRoles};

/// The roles in [`crate::Rights::Roles`].
const CONTRIBUTOR: u32 = 1;
const READER: u32 = 2;
const MESSAGE_PROCESSOR: u32 = 4;
const MESSAGE_SENDER: u32 = 8;

/// Roles by name and by id (document "Azure built-in roles").
const ROLES: [(u32, [&str; 2]); 4] = [
    (
        CONTRIBUTOR,
        [
            "Storage Queue Data Contributor",
            "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
        ],
    ),
    (
        READER,
        [
            "Storage Queue Data Reader",
            "19e7f393-937e-4f77-808e-94535e297925",
        ],
    ),
    (
        MESSAGE_PROCESSOR,
        [
            "Storage Queue Data Message Processor",
            "8a0f0c08-91a1-4084-bc3d-661d67233fed",
        ],
    ),
    (
        MESSAGE_SENDER,
        [
            "Storage Queue Data Message Sender",
            "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
        ],
    ),
];

/// What the Queue service permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRules {}

/// The rights that a request's credentials grant. A token has the rights of all its roles.
pub type Access = crate::auth::Access<QueueRules>;

impl AccessRules for QueueRules {
    type Operation = Operation;

    const CONTAINER: &'static str = "queue";

    fn roles(token: &TokenRoles) -> u32 {
        let held = ROLES.iter().filter(|(_, names)| token.has_any(names));
        held.fold(0, |all, (role, _)| all | role)
    }

    fn are_roles(bits: u32) -> bool {
        bits != 0 && bits & !(CONTRIBUTOR | READER | MESSAGE_PROCESSOR | MESSAGE_SENDER) == 0
    }

    fn is_covered(named: &str, signed: &str) -> bool {
        named == signed
    }

    /// Follows the tables of the service documents "Create an account SAS" and "Create a service SAS".
    fn needs(operation: Operation) -> Needs {
        use Operation as O;
        let (resource_type, permissions, by_container): (_, &[_], _) = match operation {
            O::GetQueueServiceProperties | O::GetQueueServiceStats => ("s", &["r"], false),
            O::SetQueueServiceProperties => ("s", &["w"], false),
            O::ListQueues => ("s", &["l"], false),
            O::CreateQueue => ("c", &["c", "w"], false),
            O::DeleteQueue => ("c", &["d"], false),
            O::GetQueueMetadata => ("c", &["r"], true),
            O::SetQueueMetadata => ("c", &["w"], false),
            O::PutMessage => ("o", &["a"], true),
            O::GetMessages | O::DeleteMessage => ("o", &["p"], true),
            O::PeekMessages => ("o", &["r"], true),
            O::UpdateMessage => ("o", &["u"], true),
            O::ClearMessages => ("o", &["d"], false),
            O::GetQueueAcl | O::SetQueueAcl => return Needs::OtherCredentials,
            O::Preflight => return Needs::Nothing,
        };
        Needs::Permissions {
            resource_type,
            permissions,
            by_container,
        }
    }

    /// Follows the table of the document "Authorize access to queues using Microsoft Entra ID". Access policies are
    /// refused as in the Table service.
    fn refusal_of_roles(roles: u32, operation: Operation) -> Option<ErrorCode> {
        use Operation as O;
        if matches!(operation, O::GetQueueAcl | O::SetQueueAcl) {
            return Some(ErrorCode::ResourceNotFound);
        }
        let has = |role: u32| roles & role != 0;
        let processes = matches!(
            operation,
            O::PeekMessages | O::GetMessages | O::DeleteMessage | O::Preflight
        );
        let sends = matches!(operation, O::PutMessage | O::Preflight);
        let permits = has(CONTRIBUTOR)
            || (has(READER) && !operation.is_write())
            || (has(MESSAGE_PROCESSOR) && processes)
            || (has(MESSAGE_SENDER) && sends);
        (!permits).then_some(ErrorCode::AuthorizationPermissionMismatch)
    }
}
