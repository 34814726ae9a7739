//! Rights: the operations that a request's credentials permit.

use crate::auth::Letters;
use crate::queue::Operation;
use crate::{AccountGrant, ErrorCode, Failure, Rights, TokenRoles};
use partita_model::EntityRange;

/// Roles by name and by id (document "Azure built-in roles").
const ROLES: [(Role, [&str; 2]); 4] = [
    (
        Role::Contributor,
        [
            "Storage Queue Data Contributor",
            "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
        ],
    ),
    (
        Role::Reader,
        [
            "Storage Queue Data Reader",
            "19e7f393-937e-4f77-808e-94535e297925",
        ],
    ),
    (
        Role::MessageProcessor,
        [
            "Storage Queue Data Message Processor",
            "8a0f0c08-91a1-4084-bc3d-661d67233fed",
        ],
    ),
    (
        Role::MessageSender,
        [
            "Storage Queue Data Message Sender",
            "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
        ],
    ),
];

/// A role of a bearer token, with the operations that it permits in [`check_roles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Contributor,
    Reader,
    MessageProcessor,
    MessageSender,
}

impl Role {
    /// Its bit in [`Rights::Roles`].
    const fn bit(self) -> u32 {
        match self {
            Self::Contributor => 1,
            Self::Reader => 2,
            Self::MessageProcessor => 4,
            Self::MessageSender => 8,
        }
    }
}

/// The rights that a request's credentials grant. Created from verified credentials only, by this server or by another
/// one of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access(Grant);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Grant {
    Owner,
    AccountSas(AccountGrant),
    QueueSas { queue: String, permissions: Letters },
    Roles(Vec<Role>),
}

impl Access {
    pub(super) const fn owner() -> Self {
        Self(Grant::Owner)
    }

    /// The rights of a verified account SAS.
    pub const fn account_sas(grant: AccountGrant) -> Self {
        Self(Grant::AccountSas(grant))
    }

    /// The rights of a verified bearer token: those of all its roles.
    ///
    /// # Errors
    /// 403 AuthorizationPermissionMismatch for a token without a role for queues.
    pub fn token(roles: &TokenRoles) -> Result<Self, Failure> {
        let held = ROLES.iter().filter(|(_, names)| roles.has_any(names));
        let held: Vec<Role> = held.map(|(role, _)| *role).collect();
        if held.is_empty() {
            return Err(ErrorCode::AuthorizationPermissionMismatch.into());
        }
        Ok(Self(Grant::Roles(held)))
    }

    pub(super) const fn queue_sas(queue: String, permissions: Letters) -> Self {
        Self(Grant::QueueSas { queue, permissions })
    }

    /// The rights as plain values, for another server of the cluster.
    pub fn rights(&self) -> Rights {
        match &self.0 {
            Grant::Owner => Rights::Owner,
            Grant::AccountSas(grant) => grant.rights(),
            Grant::QueueSas { queue, permissions } => Rights::ContainerSas {
                container: queue.clone(),
                permissions: permissions.bits(),
                range: EntityRange::whole_table(),
            },
            Grant::Roles(roles) => {
                let bits = roles.iter().map(|role| role.bit());
                Rights::Roles(bits.fold(0, |all, bit| all | bit))
            }
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
                ..
            } => Grant::QueueSas {
                queue: container,
                permissions: Letters::from_bits(permissions),
            },
            Rights::Roles(bits) => {
                let roles = ROLES.iter().map(|(role, _)| *role);
                let held: Vec<Role> = roles.filter(|role| bits & role.bit() != 0).collect();
                let known = held.iter().fold(0, |all, role| all | role.bit());
                if held.is_empty() || known != bits {
                    return None;
                }
                Grant::Roles(held)
            }
        }))
    }

    /// Checks that the caller may perform the operation, on `queue` if the operation has one.
    ///
    /// # Errors
    /// 403 with the code of the SAS documents. Bearer tokens get 404 ResourceNotFound for access policies, as in the
    /// Table service.
    pub fn check(&self, operation: Operation, queue: Option<&str>) -> Result<(), Failure> {
        let refusal = match &self.0 {
            Grant::Owner => None,
            Grant::AccountSas(grant) => check_account_sas(*grant, operation),
            Grant::QueueSas {
                queue: granted,
                permissions,
            } => {
                if queue.is_some_and(|queue| queue != granted) {
                    return Err(Failure::authentication(
                        "the signature is for another queue",
                    ));
                }
                check_queue_sas(*permissions, operation)
            }
            Grant::Roles(roles) => check_roles(roles, operation),
        };
        refusal.map_or(Ok(()), |code| Err(code.into()))
    }

    /// The kind of credentials, for logs: `key`, `account-sas`, `queue-sas` or `token`.
    pub const fn kind(&self) -> &'static str {
        match self.0 {
            Grant::Owner => "key",
            Grant::AccountSas(_) => "account-sas",
            Grant::QueueSas { .. } => "queue-sas",
            Grant::Roles(_) => "token",
        }
    }
}

/// The permissions that an operation needs from a shared access signature.
enum Needs {
    Nothing,
    /// The resource type of an account SAS, permissions of which one suffices, and the permission of a queue SAS, if it
    /// can grant the operation.
    Permissions(&'static str, &'static [&'static str], Option<&'static str>),
    /// Credentials other than a shared access signature.
    OtherCredentials,
}

/// Follows the tables of the service documents "Create an account SAS" and "Create a service SAS".
const fn needs(operation: Operation) -> Needs {
    use Needs::Permissions as P;
    use Operation as O;
    match operation {
        O::GetQueueServiceProperties | O::GetQueueServiceStats => P("s", &["r"], None),
        O::SetQueueServiceProperties => P("s", &["w"], None),
        O::ListQueues => P("s", &["l"], None),
        O::CreateQueue => P("c", &["c", "w"], None),
        O::DeleteQueue => P("c", &["d"], None),
        O::GetQueueMetadata => P("c", &["r"], Some("r")),
        O::SetQueueMetadata => P("c", &["w"], None),
        O::PutMessage => P("o", &["a"], Some("a")),
        O::GetMessages | O::DeleteMessage => P("o", &["p"], Some("p")),
        O::PeekMessages => P("o", &["r"], Some("r")),
        O::UpdateMessage => P("o", &["u"], Some("u")),
        O::ClearMessages => P("o", &["d"], None),
        O::GetQueueAcl | O::SetQueueAcl => Needs::OtherCredentials,
        O::Preflight => Needs::Nothing,
    }
}

fn check_account_sas(grant: AccountGrant, operation: Operation) -> Option<ErrorCode> {
    match needs(operation) {
        Needs::Nothing => None,
        Needs::Permissions(resource_type, permissions, _) => {
            grant.refusal(resource_type, permissions)
        }
        Needs::OtherCredentials => Some(ErrorCode::AuthorizationFailure),
    }
}

fn check_queue_sas(granted: Letters, operation: Operation) -> Option<ErrorCode> {
    match needs(operation) {
        Needs::Nothing => None,
        Needs::Permissions(_, _, Some(permission)) => {
            (!granted.has_all(permission)).then_some(ErrorCode::AuthorizationPermissionMismatch)
        }
        Needs::Permissions(_, _, None) | Needs::OtherCredentials => {
            Some(ErrorCode::AuthorizationFailure)
        }
    }
}

/// Follows the table of the document "Authorize access to queues using Microsoft Entra ID".
fn check_roles(roles: &[Role], operation: Operation) -> Option<ErrorCode> {
    use Operation as O;
    if matches!(operation, O::GetQueueAcl | O::SetQueueAcl) {
        return Some(ErrorCode::ResourceNotFound);
    }
    let permits = |role: &Role| match role {
        Role::Contributor => true,
        Role::Reader => !operation.is_write(),
        Role::MessageProcessor => matches!(
            operation,
            O::PeekMessages | O::GetMessages | O::DeleteMessage | O::Preflight
        ),
        Role::MessageSender => matches!(operation, O::PutMessage | O::Preflight),
    };
    (!roles.iter().any(permits)).then_some(ErrorCode::AuthorizationPermissionMismatch)
}
