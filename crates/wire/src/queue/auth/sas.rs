//! Shared access signatures of a queue (service document "Create a service SAS"): verified by servers, made by clients.
//!
//! The string to sign has, joined by line feeds:
//! ```text
//! since 2015-04-05:         sp st se canonical si sip spr sv
//! 2012-02-12 to 2015-02-21: sp st se canonical si         sv
//! canonical: /queue/account/queue since 2015-02-21, before that /account/queue
//! ```
//! The queue is not a parameter: it is the one in the URL. A missing and an empty parameter have the same signature, so
//! they mean the same.

use super::QueueRules;
use crate::auth::{SignedTerms, mismatch, push_terms, push_unless_empty, resource_root, text};
use crate::{
    AccountKey, AccountKeys, Failure, Query, SasTerms, ServiceKind, ServiceSas, VerifiedSas,
    Version, push_query_parameter,
};
use partita_model::EntityRange;
use std::borrow::Cow;

/// The terms of a new queue SAS (service document "Create a service SAS").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSasTerms {
    /// The queue.
    pub queue: String,
    /// `sp`, letters of `raup` in this order; empty if the stored policy has them.
    pub permissions: String,
    /// `si`: a stored policy of the queue.
    pub policy_id: Option<String>,
    /// Times, addresses and protocol.
    pub terms: SasTerms,
}

impl QueueSasTerms {
    /// The signature as a query string, to be appended to any URL of the queue.
    pub fn sign(&self, account: &str, key: &AccountKey) -> String {
        let sas = QueueSas {
            terms: self.terms.signed(&self.permissions),
            policy_id: self.policy_id.as_deref().unwrap_or_default().into(),
        };
        let mut query = push_terms(&sas.terms);
        push_unless_empty([("si", &*sas.policy_id)], &mut query);
        let signature = key.sign(&sas.parts(account, &self.queue, SasTerms::VERSION));
        push_query_parameter("sig", &signature, &mut query);
        query
    }
}

/// A queue SAS as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSas<'a> {
    terms: SignedTerms<'a>,
    policy_id: Cow<'a, str>,
}

impl<'a> ServiceSas<'a> for QueueSas<'a> {
    /// A queue SAS has no parameter of its own; an account SAS names its services and resource types.
    fn is_in(query: Query<'a>) -> bool {
        !query.has("ss") && !query.has("srt")
    }

    fn parse(query: Query<'a>) -> Result<Self, Failure> {
        Ok(Self {
            terms: SignedTerms::parse(query)?,
            policy_id: text(query, "si")?,
        })
    }
}

impl<'a> QueueSas<'a> {
    /// Checks the signature against the keys of the addressed account, for the queue in the URL.
    ///
    /// # Errors
    /// 403 AuthenticationFailed, also for a URL without a queue.
    pub fn verify(
        self,
        account: &str,
        queue: Option<&str>,
        keys: &AccountKeys,
    ) -> Result<VerifiedSas<'a, QueueRules>, Failure> {
        let version = self.terms.service_version()?;
        let queue = queue.ok_or_else(|| {
            Failure::authentication("the signature is for a queue, and the URL names none")
        })?;
        let parts = self.parts(account, queue, version);
        if !self.terms.is_signed_by(keys, &parts) {
            return Err(mismatch(&parts));
        }
        let Self { terms, policy_id } = self;
        let everything = EntityRange::whole_table();
        Ok(VerifiedSas::new(
            terms,
            policy_id,
            queue.to_owned(),
            everything,
        ))
    }

    /// The string to sign, in pieces.
    fn parts<'p>(&'p self, account: &'p str, queue: &'p str, version: Version) -> [&'p str; 20] {
        let [sv, sp, st, se, ..] = self.terms.texts();
        let lf = "\n";
        let [root, service, slash] = resource_root(ServiceKind::Queue, version);
        let [sip, sip_end, spr, spr_end] = self.terms.address_and_protocol(version);
        [
            sp,
            lf,
            st,
            lf,
            se,
            lf,
            root,
            service,
            slash,
            account,
            "/",
            queue,
            lf,
            &self.policy_id,
            lf,
            sip,
            sip_end,
            spr,
            spr_end,
            sv,
        ]
    }
}
