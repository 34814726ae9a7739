//! Properties and policies for tests of both services.

use partita_client::{AccessPolicy, CorsRule, DateTime, ServiceProperties, SignedIdentifier};

/// Properties that differ from the defaults.
pub(crate) fn properties() -> ServiceProperties {
    let mut properties = ServiceProperties::default();
    properties.logging.read = true;
    properties.hour_metrics.retention_days = Some(7);
    properties.cors.push(CorsRule {
        allowed_origins: vec!["https://example.org".to_owned()],
        allowed_methods: vec!["GET".to_owned()],
        max_age_seconds: 60,
        ..CorsRule::default()
    });
    properties
}

/// A policy with a name that XML escapes.
pub(crate) fn policy(permission: &str) -> SignedIdentifier {
    SignedIdentifier {
        id: "read <&> only".to_owned(),
        policy: AccessPolicy {
            start: None,
            expiry: Some(DateTime::parse("2999-01-01T00:00:00Z").unwrap()),
            permission: Some(permission.to_owned()),
        },
    }
}
