//! What a shared access signature grants, read from its text.

use super::permissions::{ACCOUNT, QUEUE, RESOURCE_TYPES, SERVICES, TABLE, words};
use super::seconds;
use crate::error::CommandError;
use crate::output::Field;
use partita_client::DateTime;
use partita_wire::queue::QueueSas;
use partita_wire::table::TableSas;
use partita_wire::{AccountKey, AccountKeys, AccountSas, Failure, Query, ServiceSas as _};
use std::fmt::Write as _;

/// What a signature is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Account,
    Table,
    Queue,
}

/// Whether the times of a signature permit its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Valid,
    NotYetValid,
    Expired,
    /// Its policy has the times.
    OfPolicy,
    /// Nothing has the expiry, so it is never valid.
    NoExpiry,
}

impl State {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::NotYetValid => "not yet valid",
            Self::Expired => "expired",
            Self::OfPolicy => "as its policy says",
            Self::NoExpiry => "invalid: no expiry",
        }
    }
}

/// The terms of a signature. Texts are empty if it does not have them.
pub(super) struct Grant<'a> {
    kind: Kind,
    query: Query<'a>,
    /// The table or the queue.
    pub(super) resource: Option<String>,
    terms: Terms,
}

struct Terms {
    permissions: String,
    start: String,
    expiry: String,
    addresses: String,
    protocols: String,
    policy: String,
    services: String,
    resource_types: String,
    /// `spk`, `srk`, `epk`, `erk`.
    keys: [String; 4],
    version: String,
}

impl<'a> Grant<'a> {
    /// Reads a signature: a query without `?`. It does not name its queue: `queue` does, if it is known.
    pub(super) fn read(token: &'a str, queue: Option<&str>) -> Result<Self, CommandError> {
        let query = Query::new(token);
        let text = |name: &str| match query.get(name) {
            Ok(value) => Ok(value.unwrap_or_default().into_owned()),
            Err(_) => Err(CommandError::usage(format!(
                "parameter {name} of the signature is not valid UTF-8"
            ))),
        };
        if !query.has("sig") {
            return Err(CommandError::usage(
                "this is not a shared access signature: parameter sig is missing",
            ));
        }
        let kind = match (query.has("tn"), query.has("ss") || query.has("srt")) {
            (true, _) => Kind::Table,
            (false, true) => Kind::Account,
            (false, false) => Kind::Queue,
        };
        let resource = match kind {
            Kind::Account => None,
            Kind::Table => Some(text("tn")?),
            Kind::Queue => queue.map(str::to_owned),
        };
        Ok(Self {
            kind,
            query,
            resource,
            terms: Terms {
                permissions: text("sp")?,
                start: text("st")?,
                expiry: text("se")?,
                addresses: text("sip")?,
                protocols: text("spr")?,
                policy: text("si")?,
                services: text("ss")?,
                resource_types: text("srt")?,
                keys: [text("spk")?, text("srk")?, text("epk")?, text("erk")?],
                version: text("sv")?,
            },
        })
    }

    /// Whether the key of the account made the signature.
    pub(super) fn is_signed_by(
        &self,
        account: &str,
        key: &AccountKey,
    ) -> Result<bool, CommandError> {
        let keys = AccountKeys::new(key.clone(), None);
        let checked: Result<(), Failure> = match (self.kind, &self.resource) {
            (Kind::Account, _) => {
                AccountSas::parse(self.query).and_then(|sas| sas.check_signature(account, &keys))
            }
            (Kind::Table, _) => TableSas::parse(self.query)
                .and_then(|sas| sas.verify(account, &keys))
                .map(|_| ()),
            (Kind::Queue, Some(queue)) => QueueSas::parse(self.query)
                .and_then(|sas| sas.verify(account, Some(queue), &keys))
                .map(|_| ()),
            (Kind::Queue, None) => {
                return Err(CommandError::usage(
                    "the signature does not name its queue: add --queue NAME, or give its URL",
                ));
            }
        };
        Ok(checked.is_ok())
    }

    /// `table people`, `a queue`, or `tables and queues`.
    fn subject(&self) -> String {
        let terms = &self.terms;
        match (self.kind, &self.resource) {
            (Kind::Account, _) => format!(
                "{} ({})",
                words(&terms.services, SERVICES),
                words(&terms.resource_types, RESOURCE_TYPES)
            ),
            (Kind::Table, name) => format!("table {}", name.as_deref().unwrap_or_default()),
            (Kind::Queue, Some(name)) => format!("queue {name}"),
            (Kind::Queue, None) => "the queue".to_owned(),
        }
    }

    /// The permissions in words.
    fn permissions(&self) -> String {
        let known = match self.kind {
            Kind::Account => ACCOUNT,
            Kind::Table => TABLE,
            Kind::Queue => QUEUE,
        };
        words(&self.terms.permissions, known)
    }

    /// Whether the times permit its use.
    pub(super) fn state(&self, now: DateTime) -> State {
        let time = |text: &str| DateTime::parse(text).ok();
        let (start, expiry) = (time(&self.terms.start), time(&self.terms.expiry));
        match (start, expiry) {
            (Some(start), _) if now < start => State::NotYetValid,
            (_, Some(expiry)) if expiry < now => State::Expired,
            (_, Some(_)) => State::Valid,
            (_, None) if !self.terms.policy.is_empty() => State::OfPolicy,
            (_, None) => State::NoExpiry,
        }
    }

    /// One sentence for a person.
    pub(super) fn sentence(&self, now: DateTime) -> String {
        let terms = &self.terms;
        let mut text = format!("grants {} on {}", self.permissions(), self.subject());
        if terms.permissions.is_empty() {
            text = format!("grants on {} what its policy has", self.subject());
        }
        let [spk, srk, epk, erk] = &terms.keys;
        for (word, partition_key, row_key) in [("from", spk, srk), ("to", epk, erk)] {
            if !partition_key.is_empty() {
                let _ = write!(text, ", {word} PartitionKey {partition_key:?}");
            }
            if !row_key.is_empty() {
                let _ = write!(text, " and RowKey {row_key:?}");
            }
        }
        for (word, value) in [
            ("from address", &terms.addresses),
            ("by policy", &terms.policy),
        ] {
            if !value.is_empty() {
                let _ = write!(text, ", {word} {value}");
            }
        }
        if terms.protocols == "https" {
            text.push_str(", over HTTPS only");
        }
        if !terms.start.is_empty() {
            let _ = write!(text, ", from {}", terms.start);
        }
        if !terms.expiry.is_empty() {
            let _ = write!(text, ", until {}", terms.expiry);
        }
        let state = self.state(now).text();
        let _ = write!(text, " ({state}; it is now {})", seconds(now));
        text
    }

    /// The fields of a row: those that the signature has.
    pub(super) fn fields(&self) -> Vec<(&'static str, Field<'_>)> {
        let terms = &self.terms;
        let kind = match self.kind {
            Kind::Account => "account",
            Kind::Table => "table",
            Kind::Queue => "queue",
        };
        let resource = match self.kind {
            Kind::Queue => "queue",
            _ => "table",
        };
        let [spk, srk, epk, erk] = &terms.keys;
        let name = self.resource.as_deref().unwrap_or_default();
        let fields: [(&str, &str); 15] = [
            ("kind", kind),
            (resource, name),
            ("services", &terms.services),
            ("resource_types", &terms.resource_types),
            ("permissions", &terms.permissions),
            ("start", &terms.start),
            ("expiry", &terms.expiry),
            ("start_pk", spk),
            ("start_rk", srk),
            ("end_pk", epk),
            ("end_rk", erk),
            ("ip", &terms.addresses),
            ("protocols", &terms.protocols),
            ("policy", &terms.policy),
            ("version", &terms.version),
        ];
        let present = fields.into_iter().filter(|(_, text)| !text.is_empty());
        present
            .map(|(name, text)| (name, Field::text(text)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "sv=2019-02-02&sp=ra&se=2026-11-26T12%3A00%3A00Z&spr=https&tn=people&spk=a&srk=1&epk=b&sig=x";

    fn now() -> DateTime {
        DateTime::parse("2026-11-26T10:00:00.5Z").unwrap()
    }

    #[test]
    fn a_signature_is_explained() {
        let grant = Grant::read(TOKEN, None).unwrap();
        let expected = "grants read, add on table people, from PartitionKey \"a\" and RowKey \"1\", to PartitionKey \"b\", over HTTPS only, until 2026-11-26T12:00:00Z (valid; it is now 2026-11-26T10:00:00Z)";
        assert_eq!(grant.sentence(now()), expected);
        let account = "sv=1&ss=qt&srt=co&sp=rwl&st=2026-11-27&se=2026-11-28&sig=x";
        let grant = Grant::read(account, None).unwrap();
        let expected = "grants read, write, list on queues, tables (containers, objects), from 2026-11-27, until 2026-11-28 (not yet valid; it is now 2026-11-26T10:00:00Z)";
        assert_eq!(grant.sentence(now()), expected);
        let queue = Grant::read("sv=1&si=nightly&sig=x", Some("jobs")).unwrap();
        let expected = "grants on queue jobs what its policy has, by policy nightly (as its policy says; it is now 2026-11-26T10:00:00Z)";
        assert_eq!(queue.sentence(now()), expected);
    }

    #[test]
    fn other_texts_are_refused() {
        let refused = Grant::read("sv=1&sp=r", None).err().unwrap().chain();
        assert!(refused.contains("parameter sig is missing"), "{refused}");
        let refused = Grant::read("sv=%FF&sig=x", None).err().unwrap().chain();
        assert!(refused.contains("parameter sv"), "{refused}");
    }
}
