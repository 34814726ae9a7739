//! The service properties of an account: analytics settings and CORS rules.
//!
//! Serialized as JSON, [`ServiceProperties`] is the stored form that `docs/format/catalog.md` describes.

use serde::{Deserialize, Serialize};

/// The service properties of an account. The service always returns all four sections.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceProperties {
    /// Request logging.
    pub logging: Logging,
    /// Metrics by the hour.
    pub hour_metrics: Metrics,
    /// Metrics by the minute.
    pub minute_metrics: Metrics,
    /// Cross-origin rules, at most five; the first match applies.
    pub cors: Vec<CorsRule>,
}

/// Settings of request logging. Partita stores and returns them but has its own logs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logging {
    /// The version of analytics.
    pub version: AnalyticsVersion,
    /// Log deletes.
    pub delete: bool,
    /// Log reads.
    pub read: bool,
    /// Log writes.
    pub write: bool,
    /// Days to keep logs, 1 to 365; `None` when the policy is not enabled.
    pub retention_days: Option<u16>,
}

/// Settings of metrics. Partita stores and returns them but has its own metrics.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The version of analytics.
    pub version: AnalyticsVersion,
    /// Whether metrics are enabled; if so, `include_apis` is present.
    pub enabled: bool,
    /// Whether to add a summary for each API.
    pub include_apis: Option<bool>,
    /// Days to keep metrics, 1 to 365; `None` when the policy is not enabled.
    pub retention_days: Option<u16>,
}

/// A version of analytics, by default `1.0`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnalyticsVersion(pub String);

impl Default for AnalyticsVersion {
    fn default() -> Self {
        Self("1.0".to_owned())
    }
}

/// A cross-origin rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorsRule {
    /// Allowed origins, or `*`.
    pub allowed_origins: Vec<String>,
    /// Allowed HTTP methods.
    pub allowed_methods: Vec<String>,
    /// Allowed request headers; `prefix*` matches by prefix.
    pub allowed_headers: Vec<String>,
    /// Response headers that the browser exposes to scripts; `prefix*` matches by prefix.
    pub exposed_headers: Vec<String>,
    /// How long a browser may cache the response to a preflight request, in seconds.
    pub max_age_seconds: u32,
}
