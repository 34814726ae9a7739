//! Shared access signatures of a table (service document "Create a service SAS"): verified by servers, made by clients.
//!
//! The string to sign has, joined by line feeds:
//! ```text
//! since 2015-04-05:         sp st se canonical si sip spr sv spk srk epk erk
//! 2012-02-12 to 2015-02-21: sp st se canonical si         sv spk srk epk erk
//! canonical: /table/account/table since 2015-02-21, before that /account/table; the table in lower case
//! ```
//! A missing and an empty parameter have the same signature, so they mean the same: an empty `epk` is not a bound. A
//! RowKey bound without its PartitionKey has no meaning, so the signature is refused.

use super::TableRules;
use crate::auth::{SignedTerms, mismatch, push_terms, push_unless_empty, resource_root, text};
use crate::{
    AccountKey, AccountKeys, Failure, Query, SasTerms, ServiceKind, ServiceSas, VerifiedSas,
    Version, push_query_parameter,
};
use partita_model::{EntityPosition, EntityRange};
use std::borrow::Cow;

/// The terms of a new table SAS (service document "Create a service SAS").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSasTerms {
    /// `tn`
    pub table: String,
    /// `spk` and `srk`: the first entity that the signature grants access to. Without a RowKey, the first partition. A
    /// RowKey needs a PartitionKey that is not empty.
    pub low: Option<EntityPosition>,
    /// `epk` and `erk`: the last accessible entity. Without a RowKey, the last accessible partition. A RowKey needs a
    /// PartitionKey that is not empty.
    pub high: Option<EntityPosition>,
    /// `sp`, letters of `raud` in this order; empty if the stored policy has them.
    pub permissions: String,
    /// `si`: a stored policy of the table.
    pub policy_id: Option<String>,
    /// Times, addresses and protocol.
    pub terms: SasTerms,
}

impl TableSasTerms {
    /// The signature as a query string, to be appended to any URL of the table.
    pub fn sign(&self, account: &str, key: &AccountKey) -> String {
        let sas = TableSas {
            terms: self.terms.signed(&self.permissions),
            table: self.table.to_ascii_lowercase(),
            policy_id: self.policy_id.as_deref().unwrap_or_default().into(),
            low: keys_of(self.low.as_ref()),
            high: keys_of(self.high.as_ref()),
        };
        let mut query = push_terms(&sas.terms);
        push_query_parameter("tn", &self.table, &mut query);
        let ([spk, srk], [epk, erk]) = (&sas.low, &sas.high);
        let names = ["si", "spk", "srk", "epk", "erk"];
        let texts = [&sas.policy_id, spk, srk, epk, erk].map(|text| &**text);
        push_unless_empty(names.into_iter().zip(texts), &mut query);
        let signature = key.sign(&sas.parts(account, SasTerms::VERSION));
        push_query_parameter("sig", &signature, &mut query);
        query
    }
}

fn keys_of(position: Option<&EntityPosition>) -> [Cow<'_, str>; 2] {
    let partition_key = position.map_or("", |position| &position.partition_key);
    let row_key = position.and_then(|position| position.row_key.as_deref());
    [partition_key.into(), row_key.unwrap_or_default().into()]
}

/// A table SAS as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSas<'a> {
    terms: SignedTerms<'a>,
    /// `tn`, in lower case.
    table: String,
    policy_id: Cow<'a, str>,
    low: [Cow<'a, str>; 2],
    high: [Cow<'a, str>; 2],
}

impl<'a> ServiceSas<'a> for TableSas<'a> {
    fn is_in(query: Query<'a>) -> bool {
        query.has("tn")
    }

    fn parse(query: Query<'a>) -> Result<Self, Failure> {
        Ok(Self {
            terms: SignedTerms::parse(query)?,
            table: text(query, "tn")?.to_ascii_lowercase(),
            policy_id: text(query, "si")?,
            low: [text(query, "spk")?, text(query, "srk")?],
            high: [text(query, "epk")?, text(query, "erk")?],
        })
    }
}

impl<'a> TableSas<'a> {
    /// Checks the signature against the keys of the addressed account, and that each row key has its partition key
    /// (service document "Create a service SAS": `startPk` must accompany `startRk`, `endPk` must accompany `endRk`).
    ///
    /// # Errors
    /// 403 AuthenticationFailed.
    pub fn verify(
        self,
        account: &str,
        keys: &AccountKeys,
    ) -> Result<VerifiedSas<'a, TableRules>, Failure> {
        let terms = &self.terms;
        let version = terms.service_version()?;
        let parts = self.parts(account, version);
        if !terms.is_signed_by(keys, &parts) {
            return Err(mismatch(&parts));
        }
        let bounds = [
            (&self.low, "srk is given without spk"),
            (&self.high, "erk is given without epk"),
        ];
        for ([partition_key, row_key], reason) in bounds {
            if partition_key.is_empty() && !row_key.is_empty() {
                return Err(Failure::authentication(reason));
            }
        }
        let range = EntityRange::inclusive(position(self.low), position(self.high));
        Ok(VerifiedSas::new(
            self.terms,
            self.policy_id,
            self.table,
            range,
        ))
    }

    /// The string to sign, in pieces.
    fn parts<'p>(&'p self, account: &'p str, version: Version) -> [&'p str; 28] {
        let [sv, sp, st, se, ..] = self.terms.texts();
        let lf = "\n";
        let [root, service, slash] = resource_root(ServiceKind::Table, version);
        let [sip, sip_end, spr, spr_end] = self.terms.address_and_protocol(version);
        let (table, si) = (&self.table, &self.policy_id);
        let ([spk, srk], [epk, erk]) = (&self.low, &self.high);
        [
            sp, lf, st, lf, se, lf, root, service, slash, account, "/", table, lf, si, lf, sip,
            sip_end, spr, spr_end, sv, lf, spk, lf, srk, lf, epk, lf, erk,
        ]
    }
}

/// A bound of the range; `None` without a partition key.
fn position([partition_key, row_key]: [Cow<'_, str>; 2]) -> Option<EntityPosition> {
    (!partition_key.is_empty()).then(|| EntityPosition {
        partition_key: partition_key.into_owned(),
        row_key: (!row_key.is_empty()).then(|| row_key.into_owned()),
    })
}
