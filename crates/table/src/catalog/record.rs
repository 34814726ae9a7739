//! The records of the catalog's rows. `docs/format/catalog.md` lists them.

use partita_service::PolicyRecord;
use serde::{Deserialize, Serialize};

/// The record of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableRecord {
    /// Its [`partita_model::TableId`].
    pub(crate) id: u64,
    /// The name in its original case.
    pub(crate) name: String,
    /// The creation time in ticks.
    pub(crate) created: u64,
    /// Its stored access policies.
    pub(crate) policies: Vec<PolicyRecord>,
    /// The time to live of the entities, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ttl_seconds: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::{AccessPolicy, DateTime, SignedIdentifier};
    use partita_service::{Error, decode_record, encode_record};

    #[test]
    fn rows_are_those_of_the_format_document() {
        let policy = SignedIdentifier {
            id: "p".into(),
            policy: AccessPolicy {
                start: Some(DateTime::UNIX_EPOCH),
                ..AccessPolicy::default()
            },
        };
        let record = TableRecord {
            id: 7,
            name: "People".into(),
            created: 5,
            policies: vec![PolicyRecord::from(&policy)],
            ttl_seconds: None,
        };
        let row = encode_record(&record);
        assert_eq!(
            &row[..],
            b"\x01{\"id\":7,\"name\":\"People\",\"created\":5,\"policies\":[{\"id\":\"p\",\"start\":621355968000000000}]}"
        );
        assert_eq!(decode_record::<TableRecord>(&row).unwrap(), record);
        let mortal = TableRecord {
            ttl_seconds: Some(60),
            policies: Vec::new(),
            ..record
        };
        let row = encode_record(&mortal);
        assert_eq!(
            &row[..],
            b"\x01{\"id\":7,\"name\":\"People\",\"created\":5,\"policies\":[],\"ttl_seconds\":60}"
        );
        assert_eq!(decode_record::<TableRecord>(&row).unwrap(), mortal);
    }

    #[test]
    fn unknown_versions_and_fields_are_refused() {
        assert!(matches!(
            decode_record::<TableRecord>(b"\x02{}"),
            Err(Error::Corrupt(_))
        ));
        assert!(matches!(
            decode_record::<TableRecord>(b""),
            Err(Error::Corrupt(_))
        ));
        let more = b"\x01{\"id\":7,\"name\":\"x\",\"created\":5,\"policies\":[],\"more\":1}";
        assert!(matches!(
            decode_record::<TableRecord>(more),
            Err(Error::Corrupt(_))
        ));
    }
}
