//! The XML bodies that all services share: service properties, service stats, stored access policies.
//!
//! A wrong body has one code, InvalidXmlDocument: the service checks against a schema, so too many rules, a missing node
//! and a retention of 366 days are alike (recordings go--TestSetTooManyCors, go--TestSetInvalidAccessPolicy,
//! python--test_table_service_properties_test_retention_too_long). The order of nodes, attributes,
//! comments and name space prefixes do not matter. A byte order mark is read, and written.

mod element;
mod error;
mod service_properties;
mod service_stats;
mod signed_identifiers;
#[cfg(test)]
mod tests;

pub(crate) use error::read_error_xml;
pub use service_properties::{ServicePropertiesUpdate, write_service_properties};
pub use service_stats::{GeoReplication, read_service_stats, write_service_stats};
pub use signed_identifiers::{read_signed_identifiers, write_signed_identifiers};
