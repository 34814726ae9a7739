//! Service properties (service documents "Get Table Service Properties", "Set Table Service Properties").

use super::element::{
    Element, invalid, write_bool, write_declaration, write_empty, write_end, write_start,
    write_text,
};
use crate::{Failure, cors};
use partita_model::{AnalyticsVersion, CorsRule, Logging, Metrics, ServiceProperties};

/// The maximum retention of logs and metrics, in days.
const RETENTION_DAYS_MAX: u16 = 365;

/// The body of Set Table Service Properties. Each section that is present replaces the stored section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServicePropertiesUpdate {
    /// New settings of logging.
    pub logging: Option<Logging>,
    /// New settings of hourly metrics.
    pub hour_metrics: Option<Metrics>,
    /// New settings of minute metrics.
    pub minute_metrics: Option<Metrics>,
    /// New cross-origin rules; an empty list clears them.
    pub cors: Option<Vec<CorsRule>>,
}

impl ServicePropertiesUpdate {
    /// Reads the body. A section must be complete.
    ///
    /// # Errors
    /// 400 InvalidXmlDocument.
    pub fn read(body: &[u8]) -> Result<Self, Failure> {
        let root = Element::parse(body, "StorageServiceProperties")?;
        root.check_children(&["Logging", "HourMetrics", "MinuteMetrics", "Cors"])?;
        Ok(Self {
            logging: root.child("Logging")?.map(read_logging).transpose()?,
            hour_metrics: root.child("HourMetrics")?.map(read_metrics).transpose()?,
            minute_metrics: root.child("MinuteMetrics")?.map(read_metrics).transpose()?,
            cors: root.child("Cors")?.map(read_cors).transpose()?,
        })
    }

    /// Replaces stored sections with the sections of the update.
    pub fn apply(self, properties: &mut ServiceProperties) {
        replace(&mut properties.logging, self.logging);
        replace(&mut properties.hour_metrics, self.hour_metrics);
        replace(&mut properties.minute_metrics, self.minute_metrics);
        replace(&mut properties.cors, self.cors);
    }
}

fn replace<T>(stored: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *stored = new;
    }
}

fn read_logging(element: &Element) -> Result<Logging, Failure> {
    element.check_children(&["Version", "Delete", "Read", "Write", "RetentionPolicy"])?;
    Ok(Logging {
        version: read_version(element)?,
        delete: bool_in(element, "Delete")?,
        read: bool_in(element, "Read")?,
        write: bool_in(element, "Write")?,
        retention_days: read_retention(element)?,
    })
}

fn read_metrics(element: &Element) -> Result<Metrics, Failure> {
    element.check_children(&["Version", "Enabled", "IncludeAPIs", "RetentionPolicy"])?;
    let enabled = bool_in(element, "Enabled")?;
    let include_apis = element.bool_of("IncludeAPIs")?;
    if enabled && include_apis.is_none() {
        return Err(invalid());
    }
    Ok(Metrics {
        version: read_version(element)?,
        enabled,
        include_apis: include_apis.filter(|_| enabled),
        retention_days: read_retention(element)?,
    })
}

fn bool_in(element: &Element, name: &str) -> Result<bool, Failure> {
    element.bool_of(name)?.ok_or_else(invalid)
}

fn read_version(element: &Element) -> Result<AnalyticsVersion, Failure> {
    let text = element.text_of("Version")?.ok_or_else(invalid)?;
    let is_number = |part: &str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (major, minor) = text.split_once('.').ok_or_else(invalid)?;
    let is_version = is_number(major) && is_number(minor);
    is_version
        .then(|| AnalyticsVersion(text.to_owned()))
        .ok_or_else(invalid)
}

/// The days of an enabled policy; `None` for a disabled one.
fn read_retention(element: &Element) -> Result<Option<u16>, Failure> {
    let policy = element.child("RetentionPolicy")?.ok_or_else(invalid)?;
    policy.check_children(&["Enabled", "Days"])?;
    if !bool_in(policy, "Enabled")? {
        return Ok(None);
    }
    let days = policy.text_of("Days")?.and_then(|days| days.parse().ok());
    let days = days.filter(|days| (1..=RETENTION_DAYS_MAX).contains(days));
    days.map(Some).ok_or_else(invalid)
}

fn read_cors(element: &Element) -> Result<Vec<CorsRule>, Failure> {
    element.check_children(&["CorsRule"])?;
    let rules: Vec<CorsRule> = element
        .children
        .iter()
        .map(read_rule)
        .collect::<Result<_, _>>()?;
    let is_valid = cors::are_within_limits(&rules);
    is_valid.then_some(rules).ok_or_else(invalid)
}

fn read_rule(element: &Element) -> Result<CorsRule, Failure> {
    let names = [
        "AllowedOrigins",
        "AllowedMethods",
        "MaxAgeInSeconds",
        "ExposedHeaders",
        "AllowedHeaders",
    ];
    element.check_children(&names)?;
    let list = |name| {
        let text = element.text_of(name)?.ok_or_else(invalid)?;
        let items = text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty());
        Ok::<Vec<String>, Failure>(items.map(str::to_owned).collect())
    };
    let max_age = element
        .text_of("MaxAgeInSeconds")?
        .and_then(|seconds| seconds.parse().ok());
    Ok(CorsRule {
        allowed_origins: list("AllowedOrigins")?,
        allowed_methods: list("AllowedMethods")?,
        allowed_headers: list("AllowedHeaders")?,
        exposed_headers: list("ExposedHeaders")?,
        // The type in the service's schema is a signed 32-bit number.
        max_age_seconds: max_age
            .filter(|seconds| i32::try_from(*seconds).is_ok())
            .ok_or_else(invalid)?,
    })
}

/// Appends the body of Get Table Service Properties: always all four sections, in the recorded order of nodes;
/// `IncludeAPIs` and `Days` only if enabled (recording go--TestSetMinuteMetrics).
pub fn write_service_properties(properties: &ServiceProperties, out: &mut Vec<u8>) {
    write_declaration(out);
    write_start("StorageServiceProperties", out);
    write_logging(&properties.logging, out);
    write_metrics("HourMetrics", &properties.hour_metrics, out);
    write_metrics("MinuteMetrics", &properties.minute_metrics, out);
    if properties.cors.is_empty() {
        write_empty("Cors", out);
    } else {
        write_start("Cors", out);
        for rule in &properties.cors {
            write_rule(rule, out);
        }
        write_end("Cors", out);
    }
    write_end("StorageServiceProperties", out);
}

fn write_logging(logging: &Logging, out: &mut Vec<u8>) {
    write_start("Logging", out);
    write_text("Version", &logging.version.0, out);
    write_bool("Read", logging.read, out);
    write_bool("Write", logging.write, out);
    write_bool("Delete", logging.delete, out);
    write_retention(logging.retention_days, out);
    write_end("Logging", out);
}

fn write_metrics(name: &str, metrics: &Metrics, out: &mut Vec<u8>) {
    write_start(name, out);
    write_text("Version", &metrics.version.0, out);
    write_bool("Enabled", metrics.enabled, out);
    if let Some(include) = metrics.include_apis.filter(|_| metrics.enabled) {
        write_bool("IncludeAPIs", include, out);
    }
    write_retention(metrics.retention_days, out);
    write_end(name, out);
}

fn write_retention(days: Option<u16>, out: &mut Vec<u8>) {
    write_start("RetentionPolicy", out);
    write_bool("Enabled", days.is_some(), out);
    if let Some(days) = days {
        write_text("Days", &days.to_string(), out);
    }
    write_end("RetentionPolicy", out);
}

/// The headers in the order of the service: literal ones before prefixes (azure-sdk-for-python, recording of
/// test_table_service_properties test_set_cors).
fn headers_text(headers: &[String]) -> String {
    cors::by_kind(headers).concat().join(",")
}

fn write_rule(rule: &CorsRule, out: &mut Vec<u8>) {
    write_start("CorsRule", out);
    write_text("AllowedMethods", &rule.allowed_methods.join(","), out);
    write_text("AllowedOrigins", &rule.allowed_origins.join(","), out);
    write_text("AllowedHeaders", &headers_text(&rule.allowed_headers), out);
    write_text("ExposedHeaders", &headers_text(&rule.exposed_headers), out);
    write_text("MaxAgeInSeconds", &rule.max_age_seconds.to_string(), out);
    write_end("CorsRule", out);
}
