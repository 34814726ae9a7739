//! The operations that a caller's rights permit, in every service.

use super::{AccountGrant, Letters, Rights, TokenRoles};
use crate::{ErrorCode, Failure, ServiceOperation};
use partita_model::EntityRange;
use std::marker::PhantomData;

/// What a service permits to whom.
pub trait AccessRules {
    /// An operation of the service.
    type Operation: ServiceOperation;

    /// What has signatures and policies of its own, for messages: `table`, `queue`.
    const CONTAINER: &'static str;

    /// The roles of a token, as the bits of [`Rights::Roles`]; 0 if it has none of this service.
    fn roles(token: &TokenRoles) -> u32;

    /// Whether the bits are roles that [`Self::roles`] returns.
    fn are_roles(bits: u32) -> bool;

    /// Whether a signature for the container `signed` covers the one in a URL.
    fn is_covered(named: &str, signed: &str) -> bool;

    /// What an operation needs from a shared access signature (service document "Create an account SAS").
    fn needs(operation: Self::Operation) -> Needs;

    /// Why roles do not permit an operation.
    fn refusal_of_roles(roles: u32, operation: Self::Operation) -> Option<ErrorCode>;
}

/// The permissions that an operation needs from a shared access signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// All letters of one of these permissions.
    Permissions {
        /// The resource type that an account SAS needs, too.
        resource_type: &'static str,
        /// Permissions of which one suffices.
        permissions: &'static [&'static str],
        /// Whether a SAS of the table or queue can grant the operation.
        by_container: bool,
    },
    /// Credentials other than a shared access signature.
    OtherCredentials,
}

/// The rights that a request's credentials grant in a service. Created from verified credentials only, by this server or
/// by another one of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access<R>(Rights, PhantomData<fn() -> R>);

impl<R: AccessRules> Access<R> {
    const fn new(rights: Rights) -> Self {
        Self(rights, PhantomData)
    }

    pub(crate) const fn owner() -> Self {
        Self::new(Rights::Owner)
    }

    /// The rights of a verified account SAS.
    pub fn account_sas(grant: AccountGrant) -> Self {
        Self::new(grant.rights())
    }

    /// The rights of a SAS of a table or queue.
    pub(crate) const fn container_sas(
        container: String,
        permissions: Letters,
        range: EntityRange,
    ) -> Self {
        Self::new(Rights::ContainerSas {
            container,
            permissions: permissions.bits(),
            range,
        })
    }

    /// The rights of a verified bearer token.
    ///
    /// # Errors
    /// 403 AuthorizationPermissionMismatch for a token without a role of the service.
    pub fn token(roles: &TokenRoles) -> Result<Self, Failure> {
        match R::roles(roles) {
            0 => Err(ErrorCode::AuthorizationPermissionMismatch.into()),
            roles => Ok(Self::new(Rights::Roles(roles))),
        }
    }

    /// The rights as plain values, for another server of the cluster.
    pub const fn rights(&self) -> &Rights {
        &self.0
    }

    /// The rights that another server has verified; `None` for roles that do not exist.
    pub fn from_rights(rights: Rights) -> Option<Self> {
        match rights {
            Rights::Roles(bits) if !R::are_roles(bits) => None,
            rights => Some(Self::new(rights)),
        }
    }

    /// Checks that the caller may perform the operation, on the table or queue `container` if the operation has one.
    ///
    /// # Errors
    /// 403 with the code of the SAS documents. Bearer tokens get 404 ResourceNotFound for access policies
    /// (recording python--test_table_aad_test_aad_access_policy_error).
    pub fn check(&self, operation: R::Operation, container: Option<&str>) -> Result<(), Failure> {
        let refusal = match &self.0 {
            Rights::Owner => None,
            Rights::AccountSas {
                resource_types,
                permissions,
            } => {
                let grant = AccountGrant::from_bits(*resource_types, *permissions);
                check_account_sas(grant, R::needs(operation))
            }
            Rights::ContainerSas {
                container: signed,
                permissions,
                ..
            } => {
                if container.is_some_and(|named| !R::is_covered(named, signed)) {
                    let reason = format!("the signature is for another {}", R::CONTAINER);
                    return Err(Failure::authentication(reason));
                }
                check_container_sas(Letters::from_bits(*permissions), R::needs(operation))
            }
            Rights::Roles(roles) => R::refusal_of_roles(*roles, operation),
        };
        refusal.map_or(Ok(()), |code| Err(code.into()))
    }
}

fn check_account_sas(grant: AccountGrant, needs: Needs) -> Option<ErrorCode> {
    match needs {
        Needs::Nothing => None,
        Needs::Permissions {
            resource_type,
            permissions,
            ..
        } => grant.refusal(resource_type, permissions),
        Needs::OtherCredentials => Some(ErrorCode::AuthorizationFailure),
    }
}

fn check_container_sas(granted: Letters, needs: Needs) -> Option<ErrorCode> {
    match needs {
        Needs::Nothing => None,
        Needs::Permissions {
            permissions,
            by_container: true,
            ..
        } => (!granted.has_all_of_one(permissions))
            .then_some(ErrorCode::AuthorizationPermissionMismatch),
        Needs::Permissions { .. } | Needs::OtherCredentials => {
            Some(ErrorCode::AuthorizationFailure)
        }
    }
}
