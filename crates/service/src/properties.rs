//! Service properties: analytics settings and CORS rules, one row for each account and service.
//!
//! Fields are destructured one by one, so that a new one in the model fails to compile here.

use crate::{Error, Storage, decode_record, encode_record};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::{
    AccountName, CorsRule, KeyKind, KeyWriter, Logging, Metrics, ServiceProperties,
};
use serde::{Deserialize, Serialize};

fn key(kind: KeyKind, account: &AccountName) -> Bytes {
    KeyWriter::new(kind, 32)
        .last_text(account.as_str())
        .finish()
}

fn read(row: Option<Bytes>) -> Result<ServiceProperties, Error> {
    match row {
        Some(row) => Ok(decode_record::<PropertiesRecord>(&row)?.into()),
        None => Ok(ServiceProperties::default()),
    }
}

impl Storage {
    /// The properties of an account in one service; the defaults before they are set. `kind` is that of the service's
    /// rows, such as [`KeyKind::TABLE_SERVICE_PROPERTIES`].
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn service_properties(
        &self,
        kind: KeyKind,
        account: &AccountName,
    ) -> Result<ServiceProperties, Error> {
        let key = key(kind, account);
        read(self.get(&key).await?)
    }

    /// Changes some of these properties: `change` receives the current ones. Cancel-safe: dropped during the write, it
    /// still completes.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn change_service_properties(
        &self,
        kind: KeyKind,
        account: &AccountName,
        change: impl FnOnce(&mut ServiceProperties) + Send,
    ) -> Result<(), Error> {
        let key = key(kind, account);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let mut properties = read(locked.read(&key).await?)?;
        change(&mut properties);
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode_record(&PropertiesRecord::from(&properties)));
        locked.commit(batch).await?;
        Ok(())
    }
}

/// The service properties of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertiesRecord {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let row = encode_record(&PropertiesRecord::from(&properties));
        assert_eq!(
            ServiceProperties::from(decode_record::<PropertiesRecord>(&row).unwrap()),
            properties
        );
    }
}
