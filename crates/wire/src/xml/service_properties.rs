//! Service properties (service documents "Get Table Service Properties", "Set Table Service Properties").

use super::element::{
    Element, invalid, write_bool, write_declaration, write_empty, write_end, write_start,
    write_text,
};
use crate::{Failure, cors};
use partita_model::{CorsRule, Logging, Metrics, ServiceProperties};

/// Days that logs and metrics may be kept.
const RETENTION_DAYS_MAX: u16 = 365;

/// The body of Set Table Service Properties: a section that is there replaces the stored one, others stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServicePropertiesUpdate {
    /// New settings of logging.
    pub logging: Option<Logging>,
    /// New settings of hourly metrics.
    pub hour_metrics: Option<Metrics>,
    /// New settings of metrics by the minute.
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

    /// Puts the sections that are there in the place of the stored ones.
    pub fn apply(self, properties: &mut ServiceProperties) {
        let Self {
            logging,
            hour_metrics,
            minute_metrics,
            cors,
        } = self;
        if let Some(logging) = logging {
            properties.logging = logging;
        }
        if let Some(metrics) = hour_metrics {
            properties.hour_metrics = metrics;
        }
        if let Some(metrics) = minute_metrics {
            properties.minute_metrics = metrics;
        }
        if let Some(rules) = cors {
            properties.cors = rules;
        }
    }
}

fn read_logging(element: &Element) -> Result<Logging, Failure> {
    element.check_children(&["Version", "Delete", "Read", "Write", "RetentionPolicy"])?;
    Ok(Logging {
        version: read_version(element)?,
        delete: element.bool_of("Delete")?.ok_or_else(invalid)?,
        read: element.bool_of("Read")?.ok_or_else(invalid)?,
        write: element.bool_of("Write")?.ok_or_else(invalid)?,
        retention_days: read_retention(element)?,
    })
}

fn read_metrics(element: &Element) -> Result<Metrics, Failure> {
    element.check_children(&["Version", "Enabled", "IncludeAPIs", "RetentionPolicy"])?;
    let enabled = element.bool_of("Enabled")?.ok_or_else(invalid)?;
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

fn read_version(element: &Element) -> Result<String, Failure> {
    let text = element.text_of("Version")?.ok_or_else(invalid)?;
    let is_number = |part: &str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match text.split_once('.') {
        Some((major, minor)) if is_number(major) && is_number(minor) => Ok(text.to_owned()),
        _ => Err(invalid()),
    }
}

/// The days, if the policy is enabled.
fn read_retention(element: &Element) -> Result<Option<u16>, Failure> {
    let policy = element.child("RetentionPolicy")?.ok_or_else(invalid)?;
    policy.check_children(&["Enabled", "Days"])?;
    if !policy.bool_of("Enabled")?.ok_or_else(invalid)? {
        return Ok(None);
    }
    let days: u16 = policy
        .text_of("Days")?
        .and_then(|days| days.parse().ok())
        .ok_or_else(invalid)?;
    if (1..=RETENTION_DAYS_MAX).contains(&days) {
        Ok(Some(days))
    } else {
        Err(invalid())
    }
}

fn read_cors(element: &Element) -> Result<Vec<CorsRule>, Failure> {
    element.check_children(&["CorsRule"])?;
    let rules = element
        .children
        .iter()
        .map(read_rule)
        .collect::<Result<Vec<_>, _>>()?;
    if cors::are_within_limits(&rules) {
        Ok(rules)
    } else {
        Err(invalid())
    }
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
        // The schema's type is a signed 32-bit number.
        max_age_seconds: max_age
            .filter(|seconds| i32::try_from(*seconds).is_ok())
            .ok_or_else(invalid)?,
    })
}

/// Appends the body of Get Table Service Properties: always all four sections, in the recorded order of nodes, `IncludeAPIs`
/// and `Days` only where enabled (recording go--TestSetMinuteMetrics).
pub fn write_service_properties(properties: &ServiceProperties, out: &mut Vec<u8>) {
    let ServiceProperties {
        logging,
        hour_metrics,
        minute_metrics,
        cors,
    } = properties;
    write_declaration(out);
    write_start("StorageServiceProperties", out);
    write_logging(logging, out);
    write_metrics("HourMetrics", hour_metrics, out);
    write_metrics("MinuteMetrics", minute_metrics, out);
    if cors.is_empty() {
        write_empty("Cors", out);
    } else {
        write_start("Cors", out);
        cors.iter().for_each(|rule| write_rule(rule, out));
        write_end("Cors", out);
    }
    write_end("StorageServiceProperties", out);
}

fn write_logging(logging: &Logging, out: &mut Vec<u8>) {
    let Logging {
        version,
        delete,
        read,
        write,
        retention_days,
    } = logging;
    write_start("Logging", out);
    write_text("Version", version, out);
    write_bool("Read", *read, out);
    write_bool("Write", *write, out);
    write_bool("Delete", *delete, out);
    write_retention(*retention_days, out);
    write_end("Logging", out);
}

fn write_metrics(name: &str, metrics: &Metrics, out: &mut Vec<u8>) {
    let Metrics {
        version,
        enabled,
        include_apis,
        retention_days,
    } = metrics;
    write_start(name, out);
    write_text("Version", version, out);
    write_bool("Enabled", *enabled, out);
    if let Some(include) = include_apis.filter(|_| *enabled) {
        write_bool("IncludeAPIs", include, out);
    }
    write_retention(*retention_days, out);
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

fn write_rule(rule: &CorsRule, out: &mut Vec<u8>) {
    let CorsRule {
        allowed_origins,
        allowed_methods,
        allowed_headers,
        exposed_headers,
        max_age_seconds,
    } = rule;
    write_start("CorsRule", out);
    write_text("AllowedMethods", &allowed_methods.join(","), out);
    write_text("AllowedOrigins", &allowed_origins.join(","), out);
    write_text("AllowedHeaders", &allowed_headers.join(","), out);
    write_text("ExposedHeaders", &exposed_headers.join(","), out);
    write_text("MaxAgeInSeconds", &max_age_seconds.to_string(), out);
    write_end("CorsRule", out);
}
