//! Makes shared access signatures: the client's side of [`super::AccountSas`] and [`super::TableSas`], over the same strings.

use super::account_sas::AccountSas;
use super::key::AccountKey;
use super::sas::Terms;
use super::table_sas::TableSas;
use crate::{KeyBound, KeyRange, Version, push_query_parameter};
use partita_model::DateTime;
use std::borrow::Cow;

/// The version that signatures are made for: that of the Table SDKs.
const VERSION: (&str, Version) = ("2019-02-02", Version::from_date(20_190_202));

/// When, from where and how a signature may be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SasTerms {
    /// From when, to the second. Clocks differ: a start of now is refused by servers that are behind, so leave it away or
    /// set it some minutes back.
    pub start: Option<DateTime>,
    /// Until when, to the second. Only the signature of a table with a stored policy may lack it.
    pub expiry: Option<DateTime>,
    /// `sip`: an address, or two with `-` between them.
    pub addresses: Option<String>,
    /// Not over plain HTTP.
    pub https_only: bool,
}

/// What a signature of an account grants (service document "Create an account SAS").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSasTerms {
    /// `sp`, letters of `rwdlacu`.
    pub permissions: String,
    /// `srt`, letters of `sco`: service, container (tables), object (entities).
    pub resource_types: String,
    /// When, where, how.
    pub terms: SasTerms,
}

/// What a signature of one table grants (service document "Create a service SAS").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSasTerms {
    /// `tn`
    pub table: String,
    /// `sp`, a part of `raud` in this order; empty where the stored policy says it.
    pub permissions: String,
    /// When, where, how.
    pub terms: SasTerms,
    /// `si`: a stored policy of the table.
    pub policy_id: Option<String>,
    /// The entities it reaches.
    pub range: KeyRange,
}

impl SasTerms {
    fn signed<'a>(&'a self, permissions: &'a str) -> Terms<'a> {
        let time = |at: Option<DateTime>| at.map(to_seconds).unwrap_or_default();
        let protocols = if self.https_only {
            "https"
        } else {
            "https,http"
        };
        Terms {
            version: VERSION.0.into(),
            permissions: permissions.into(),
            start: time(self.start).into(),
            expiry: time(self.expiry).into(),
            addresses: self.addresses.as_deref().unwrap_or_default().into(),
            protocols: protocols.into(),
            signature: None,
        }
    }
}

impl AccountSasTerms {
    /// The signature as a query string, to be put behind any URL of the account's tables.
    #[must_use]
    pub fn sign(&self, account: &str, key: &AccountKey) -> String {
        let sas = AccountSas {
            terms: self.terms.signed(&self.permissions),
            services: "t".into(),
            resource_types: self.resource_types.as_str().into(),
            encryption_scope: Cow::Borrowed(""),
        };
        let mut query = terms_query(&sas.terms);
        push_query_parameter("ss", &sas.services, &mut query);
        push_query_parameter("srt", &sas.resource_types, &mut query);
        push_query_parameter("sig", &key.sign(&sas.parts(account, VERSION.1)), &mut query);
        query
    }
}

impl TableSasTerms {
    /// The signature as a query string, to be put behind any URL of the table.
    #[must_use]
    pub fn sign(&self, account: &str, key: &AccountKey) -> String {
        let sas = TableSas {
            terms: self.terms.signed(&self.permissions),
            table: self.table.to_ascii_lowercase(),
            policy_id: self.policy_id.as_deref().unwrap_or_default().into(),
            low: bound(self.range.low.as_ref()),
            high: bound(self.range.high.as_ref()),
        };
        let mut query = terms_query(&sas.terms);
        push_query_parameter("tn", &self.table, &mut query);
        let ([spk, srk], [epk, erk]) = (&sas.low, &sas.high);
        let optional = [
            ("si", &sas.policy_id),
            ("spk", spk),
            ("srk", srk),
            ("epk", epk),
            ("erk", erk),
        ];
        push_given(&optional, &mut query);
        push_query_parameter("sig", &key.sign(&sas.parts(account, VERSION.1)), &mut query);
        query
    }
}

fn bound(bound: Option<&KeyBound>) -> [Cow<'_, str>; 2] {
    let partition_key = bound.map_or("", |bound| &bound.partition_key);
    let row_key = bound.and_then(|bound| bound.row_key.as_deref());
    [partition_key.into(), row_key.unwrap_or_default().into()]
}

/// The parameters that both kinds share; an empty one is left away, which is signed alike.
fn terms_query(terms: &Terms<'_>) -> String {
    let Terms {
        version,
        permissions,
        start,
        expiry,
        addresses,
        protocols,
        signature: _,
    } = terms;
    let mut query = String::with_capacity(256);
    let given = [
        ("sv", version),
        ("sp", permissions),
        ("st", start),
        ("se", expiry),
        ("sip", addresses),
        ("spr", protocols),
    ];
    push_given(&given, &mut query);
    query
}

fn push_given(parameters: &[(&str, &Cow<'_, str>)], query: &mut String) {
    for (name, value) in parameters {
        if !value.is_empty() {
            push_query_parameter(name, value, query);
        }
    }
}

/// `2024-01-02T03:04:05Z`: fractions of a second are no part of the form.
fn to_seconds(at: DateTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.fields();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccountKeys, Caller, Credentials, Operation, Query};
    use std::net::Ipv4Addr;

    const ACCOUNT: &str = "devstoreaccount1";
    const KEY: &str =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    fn key() -> AccountKey {
        AccountKey::from_base64(KEY).unwrap()
    }

    fn at(text: &str) -> DateTime {
        DateTime::parse(text).unwrap()
    }

    fn terms() -> SasTerms {
        SasTerms {
            start: Some(at("2024-01-02T03:04:05.5Z")),
            expiry: Some(at("2034-01-02T03:04:05Z")),
            addresses: Some("10.0.0.1-10.0.0.9".to_owned()),
            https_only: false,
        }
    }

    /// The signature is that of the official Python SDK, version 12.7.0, for the same terms.
    #[test]
    fn a_table_sas_is_that_of_the_official_sdk() {
        let bound = |partition_key: &str, row_key: &str| KeyBound {
            partition_key: partition_key.to_owned(),
            row_key: Some(row_key.to_owned()),
        };
        let sas = TableSasTerms {
            table: "MyTable".to_owned(),
            permissions: "raud".to_owned(),
            terms: terms(),
            policy_id: None,
            range: KeyRange {
                low: Some(bound("a", "1")),
                high: Some(bound("z", "9")),
            },
        };
        assert_eq!(
            sas.sign(ACCOUNT, &key()),
            "sv=2019-02-02&sp=raud&st=2024-01-02T03%3A04%3A05Z&se=2034-01-02T03%3A04%3A05Z&sip=10.0.0.1-10.0.0.9\
             &spr=https%2Chttp&tn=MyTable&spk=a&srk=1&epk=z&erk=9&sig=Yfrs0B4KXOhqtYtxwhewKeEXRwaRf18evY030%2FIwOrM%3D"
        );
    }

    #[test]
    fn the_server_takes_both_kinds() {
        let caller = Caller {
            address: Some(Ipv4Addr::new(10, 0, 0, 5).into()),
            https: false,
            now: at("2025-01-01T00:00:00Z"),
        };
        let keys = AccountKeys::new(key(), None);
        let account = AccountSasTerms {
            permissions: "rla".to_owned(),
            resource_types: "so".to_owned(),
            terms: terms(),
        }
        .sign(ACCOUNT, &key());
        let Ok(Credentials::AccountSas(sas)) = Credentials::parse(None, Query::new(&account), None)
        else {
            panic!("{account}");
        };
        let access = sas.verify(ACCOUNT, &keys, &caller).unwrap();
        assert!(access.check(Operation::InsertEntity, Some("any")).is_ok());
        assert!(access.check(Operation::DeleteEntity, Some("any")).is_err());
        assert!(sas.verify("otheraccount", &keys, &caller).is_err());

        let stored = TableSasTerms {
            table: "MyTable".to_owned(),
            permissions: String::new(),
            terms: SasTerms::default(),
            policy_id: Some("read only".to_owned()),
            range: KeyRange::default(),
        }
        .sign(ACCOUNT, &key());
        let Ok(Credentials::TableSas(sas)) = Credentials::parse(None, Query::new(&stored), None)
        else {
            panic!("{stored}");
        };
        assert_eq!(
            sas.verify(ACCOUNT, &keys).unwrap().policy_id(),
            Some("read only")
        );
    }
}
