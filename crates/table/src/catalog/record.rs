//! The stored form of the catalog's rows: a version byte, then JSON. They are few and cold; a person can read them.
//!
//! Fields are taken apart one by one, so that a new one in the model fails to compile here. Unknown fields and versions are
//! refused. `docs/format/catalog.md` lists them.

use crate::Error;
use bytes::Bytes;
use partita_model::{
    AccessPolicy, CorsRule, DateTime, Logging, Metrics, ServiceProperties, SignedIdentifier,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const VERSION: u8 = 1;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableRecord {
    /// Its [`partita_model::TableId`].
    pub(crate) id: u64,
    /// Its name in the case it was created with.
    pub(crate) name: String,
    /// When it was created, in ticks.
    pub(crate) created: u64,
    /// Its stored access policies.
    pub(crate) policies: Vec<PolicyRecord>,
    /// How long its entities live, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ttl_seconds: Option<u64>,
}

/// A table that was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DroppedRecord {
    /// The name it had, for people.
    pub(crate) name: String,
    /// When it was dropped, in ticks.
    pub(crate) dropped: u64,
}

/// A stored access policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyRecord {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    expiry: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    permission: Option<String>,
}

impl From<&SignedIdentifier> for PolicyRecord {
    fn from(identifier: &SignedIdentifier) -> Self {
        let SignedIdentifier {
            id,
            policy:
                AccessPolicy {
                    start,
                    expiry,
                    permission,
                },
        } = identifier;
        Self {
            id: id.clone(),
            start: start.map(DateTime::ticks),
            expiry: expiry.map(DateTime::ticks),
            permission: permission.clone(),
        }
    }
}

impl From<&PolicyRecord> for SignedIdentifier {
    fn from(record: &PolicyRecord) -> Self {
        let PolicyRecord {
            id,
            start,
            expiry,
            permission,
        } = record;
        Self {
            id: id.clone(),
            policy: AccessPolicy {
                start: start.and_then(DateTime::from_ticks),
                expiry: expiry.and_then(DateTime::from_ticks),
                permission: permission.clone(),
            },
        }
    }
}

/// The service properties of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PropertiesRecord {
    logging: LoggingRecord,
    hour_metrics: MetricsRecord,
    minute_metrics: MetricsRecord,
    cors: Vec<CorsRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoggingRecord {
    version: String,
    delete: bool,
    read: bool,
    write: bool,
    retention_days: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsRecord {
    version: String,
    enabled: bool,
    include_apis: Option<bool>,
    retention_days: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CorsRecord {
    allowed_origins: Vec<String>,
    allowed_methods: Vec<String>,
    allowed_headers: Vec<String>,
    exposed_headers: Vec<String>,
    max_age_seconds: u32,
}

impl From<&ServiceProperties> for PropertiesRecord {
    fn from(properties: &ServiceProperties) -> Self {
        let ServiceProperties {
            logging,
            hour_metrics,
            minute_metrics,
            cors,
        } = properties;
        let Logging {
            version,
            delete,
            read,
            write,
            retention_days,
        } = logging;
        Self {
            logging: LoggingRecord {
                version: version.clone(),
                delete: *delete,
                read: *read,
                write: *write,
                retention_days: *retention_days,
            },
            hour_metrics: hour_metrics.into(),
            minute_metrics: minute_metrics.into(),
            cors: cors.iter().map(CorsRecord::from).collect(),
        }
    }
}

impl From<PropertiesRecord> for ServiceProperties {
    fn from(record: PropertiesRecord) -> Self {
        let PropertiesRecord {
            logging,
            hour_metrics,
            minute_metrics,
            cors,
        } = record;
        let LoggingRecord {
            version,
            delete,
            read,
            write,
            retention_days,
        } = logging;
        Self {
            logging: Logging {
                version,
                delete,
                read,
                write,
                retention_days,
            },
            hour_metrics: hour_metrics.into(),
            minute_metrics: minute_metrics.into(),
            cors: cors.into_iter().map(CorsRule::from).collect(),
        }
    }
}

impl From<&Metrics> for MetricsRecord {
    fn from(metrics: &Metrics) -> Self {
        let Metrics {
            version,
            enabled,
            include_apis,
            retention_days,
        } = metrics.clone();
        Self {
            version,
            enabled,
            include_apis,
            retention_days,
        }
    }
}

impl From<MetricsRecord> for Metrics {
    fn from(record: MetricsRecord) -> Self {
        let MetricsRecord {
            version,
            enabled,
            include_apis,
            retention_days,
        } = record;
        Self {
            version,
            enabled,
            include_apis,
            retention_days,
        }
    }
}

impl From<&CorsRule> for CorsRecord {
    fn from(rule: &CorsRule) -> Self {
        let CorsRule {
            allowed_origins,
            allowed_methods,
            allowed_headers,
            exposed_headers,
            max_age_seconds,
        } = rule.clone();
        Self {
            allowed_origins,
            allowed_methods,
            allowed_headers,
            exposed_headers,
            max_age_seconds,
        }
    }
}

impl From<CorsRecord> for CorsRule {
    fn from(record: CorsRecord) -> Self {
        let CorsRecord {
            allowed_origins,
            allowed_methods,
            allowed_headers,
            exposed_headers,
            max_age_seconds,
        } = record;
        Self {
            allowed_origins,
            allowed_methods,
            allowed_headers,
            exposed_headers,
            max_age_seconds,
        }
    }
}

/// The row of a record.
pub(crate) fn encode(record: &impl Serialize) -> Bytes {
    let mut bytes = vec![VERSION];
    serde_json::to_writer(&mut bytes, record).expect("records hold nothing that JSON cannot say");
    Bytes::from(bytes)
}

/// The record of a row.
pub(crate) fn decode<T: DeserializeOwned>(row: &[u8]) -> Result<T, Error> {
    match row.split_first() {
        Some((&VERSION, json)) => serde_json::from_slice(json)
            .map_err(|error| Error::Corrupt(format!("catalog row: {error}").into())),
        Some((version, _)) => Err(Error::Corrupt(
            format!("catalog row has unknown version {version}").into(),
        )),
        None => Err(Error::Corrupt("catalog row is empty".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_format_document() {
        let record = TableRecord {
            id: 7,
            name: "People".into(),
            created: 5,
            policies: vec![PolicyRecord {
                id: "p".into(),
                start: Some(3),
                expiry: None,
                permission: None,
            }],
            ttl_seconds: None,
        };
        let row = encode(&record);
        assert_eq!(
            &row[..],
            b"\x01{\"id\":7,\"name\":\"People\",\"created\":5,\"policies\":[{\"id\":\"p\",\"start\":3}]}"
        );
        assert_eq!(decode::<TableRecord>(&row).unwrap(), record);
        let mortal = TableRecord {
            ttl_seconds: Some(60),
            policies: Vec::new(),
            ..record
        };
        let row = encode(&mortal);
        assert_eq!(
            &row[..],
            b"\x01{\"id\":7,\"name\":\"People\",\"created\":5,\"policies\":[],\"ttl_seconds\":60}"
        );
        assert_eq!(decode::<TableRecord>(&row).unwrap(), mortal);
    }

    #[test]
    fn properties_round_trip() {
        let properties = ServiceProperties {
            cors: vec![CorsRule {
                allowed_origins: vec!["*".into()],
                max_age_seconds: 5,
                ..CorsRule::default()
            }],
            ..ServiceProperties::default()
        };
        let row = encode(&PropertiesRecord::from(&properties));
        assert_eq!(
            ServiceProperties::from(decode::<PropertiesRecord>(&row).unwrap()),
            properties
        );
    }

    #[test]
    fn unknown_versions_and_fields_are_refused() {
        assert!(matches!(
            decode::<TableRecord>(b"\x02{}"),
            Err(Error::Corrupt(_))
        ));
        assert!(matches!(decode::<TableRecord>(b""), Err(Error::Corrupt(_))));
        let more = b"\x01{\"id\":7,\"name\":\"x\",\"created\":5,\"policies\":[],\"more\":1}";
        assert!(matches!(
            decode::<TableRecord>(more),
            Err(Error::Corrupt(_))
        ));
    }
}
