//! What the shared access signatures of tables and queues have in common: the versions of the string to sign, stored
//! policies, and what a verified signature grants (service document "Create a service SAS").

use super::sas_terms::{SignedTerms, check_times, parse_time};
use super::{Access, AccessRules, Caller, Letters};
use crate::{ErrorCode, Failure, ServiceKind, Version};
use partita_model::{AccessPolicy, EntityRange, SignedIdentifier};
use std::borrow::Cow;
use std::marker::PhantomData;

/// The first version with a SAS of a table or a queue.
const OLDEST: Version = Version::from_date(20_120_212);
/// The first version whose signed resource begins with the name of the service.
const SERVICE_IN_RESOURCE: Version = Version::from_date(20_150_221);
/// The first version that signs the address (`sip`) and the protocol (`spr`).
const ADDRESS_AND_PROTOCOL: Version = Version::from_date(20_150_405);

/// The SAS of a table or queue with a verified signature. [`Self::access`] checks its terms, with the stored policy if it
/// names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSas<'a, R> {
    terms: SignedTerms<'a>,
    policy_id: Cow<'a, str>,
    container: String,
    range: EntityRange,
    rules: PhantomData<fn() -> R>,
}

impl<'a, R: AccessRules> VerifiedSas<'a, R> {
    /// `policy_id` is `si`, or empty.
    pub(crate) const fn new(
        terms: SignedTerms<'a>,
        policy_id: Cow<'a, str>,
        container: String,
        range: EntityRange,
    ) -> Self {
        Self {
            terms,
            policy_id,
            container,
            range,
            rules: PhantomData,
        }
    }

    /// The queue, or the table in lower case.
    pub fn container(&self) -> &str {
        &self.container
    }

    /// The name of the stored policy. If there is one, [`Self::access`] needs the access control list of the table or
    /// queue.
    pub fn policy_id(&self) -> Option<&str> {
        Some(&*self.policy_id).filter(|id| !id.is_empty())
    }

    /// Checks times, address and protocol. Permissions, start and expiry can each be in the signature or in the stored
    /// policy, but not in both.
    ///
    /// # Errors
    /// 403 AuthenticationFailed (also for an unknown policy), AuthorizationSourceIPMismatch,
    /// AuthorizationProtocolMismatch; 400 InvalidQueryParameterValue if the signature and the policy both set a term.
    pub fn access(
        &self,
        caller: &Caller,
        policies: &[SignedIdentifier],
    ) -> Result<Access<R>, Failure> {
        let policy = StoredPolicy {
            id: self.policy_id(),
            resource: R::CONTAINER,
            policies,
        };
        let permissions = self.terms.check_with_policy(caller, &policy)?;
        let (container, range) = (self.container.clone(), self.range.clone());
        Ok(Access::container_sas(container, permissions, range))
    }
}

/// The stored policy that a signature names, and the access control list in which to look for it.
struct StoredPolicy<'a> {
    /// `si`
    id: Option<&'a str>,
    /// The kind of resource that has the list, such as `table`, for messages.
    resource: &'static str,
    policies: &'a [SignedIdentifier],
}

/// The beginning of the signed resource, up to the account.
pub(crate) fn resource_root(service: ServiceKind, version: Version) -> [&'static str; 3] {
    if version >= SERVICE_IN_RESOURCE {
        ["/", service.label(), "/"]
    } else {
        ["", "", "/"]
    }
}

impl SignedTerms<'_> {
    /// The version of a service SAS.
    pub(crate) fn service_version(&self) -> Result<Version, Failure> {
        let version = self.version_since(OLDEST)?;
        if version < ADDRESS_AND_PROTOCOL
            && !(self.addresses.is_empty() && self.protocols.is_empty())
        {
            // These versions do not sign `sip` and `spr`, so an attacker could remove or add them.
            return Err(Failure::authentication(
                "sip and spr need an sv of 2015-04-05 or later",
            ));
        }
        Ok(version)
    }

    /// The lines of `sip` and `spr` in the string to sign; empty for versions that do not sign them.
    pub(crate) fn address_and_protocol(&self, version: Version) -> [&str; 4] {
        if version >= ADDRESS_AND_PROTOCOL {
            [&self.addresses, "\n", &self.protocols, "\n"]
        } else {
            [""; 4]
        }
    }

    /// Checks times, address and protocol of a service SAS, and returns its permissions. Permissions, start and expiry
    /// can each be in the signature or in the stored policy, but not in both.
    fn check_with_policy(
        &self,
        caller: &Caller,
        policy: &StoredPolicy<'_>,
    ) -> Result<Letters, Failure> {
        let none = AccessPolicy::default();
        let policy = policy.find()?.unwrap_or(&none);
        let start = one_side("st", parse_time("st", &self.start)?, policy.start)?;
        let expiry = one_side("se", parse_time("se", &self.expiry)?, policy.expiry)?;
        let letters = |letters: &&str| !letters.is_empty();
        let given = Some(&*self.permissions).filter(letters);
        let stored = policy.permission.as_deref().filter(letters);
        let permissions = one_side("sp", given, stored)?;
        let expiry = expiry.ok_or_else(|| Failure::authentication("no expiry is given"))?;
        let permissions =
            permissions.ok_or_else(|| Failure::authentication("no permission is given"))?;
        check_times(start, expiry, caller.now)?;
        self.check_caller(caller)?;
        Ok(Letters::parse(permissions))
    }
}

impl<'a> StoredPolicy<'a> {
    /// The policy; `None` if the signature does not name one.
    fn find(&self) -> Result<Option<&'a AccessPolicy>, Failure> {
        let Some(id) = self.id else {
            return Ok(None);
        };
        let named = self
            .policies
            .iter()
            .find(|identifier| identifier.id == id)
            .map(|identifier| &identifier.policy);
        match named {
            Some(policy) => Ok(Some(policy)),
            None => Err(Failure::authentication(format!(
                "the {} has no stored access policy with the name in si",
                self.resource
            ))),
        }
    }
}

fn one_side<T>(name: &str, given: Option<T>, stored: Option<T>) -> Result<Option<T>, Failure> {
    match (given, stored) {
        (Some(_), Some(_)) => Err(Failure::new(ErrorCode::InvalidQueryParameterValue)
            .detail("QueryParameterName", name)
            .detail(
                "Reason",
                "the signature and its stored policy both set this parameter",
            )),
        (given, stored) => Ok(given.or(stored)),
    }
}
