//! The XML bodies that all services share: service properties, service stats, stored access policies.
//!
//! Every invalid body gets the code InvalidXmlDocument. The service checks a schema, so it answers the same for too
//! many rules, a missing node and a retention of 366 days (recordings go--TestSetTooManyCors,
//! go--TestSetInvalidAccessPolicy, python--test_table_service_properties_test_retention_too_long). The readers ignore
//! the order of nodes, attributes, comments and name space prefixes. They accept a byte order mark; the writers write
//! one.

mod element;
mod error;
mod service_properties;
mod service_stats;
mod signed_identifiers;
#[cfg(test)]
mod tests;

pub(crate) use element::{
    Bounds, Element, Malformed, invalid, is_xml_char, push_text, write_declaration,
    write_declaration_only, write_empty, write_end, write_start, write_text,
};
pub(crate) use error::read_error_xml;
pub use service_properties::{ServicePropertiesUpdate, write_service_properties};
pub use service_stats::{GeoReplication, read_service_stats, write_service_stats};
pub use signed_identifiers::{read_signed_identifiers, write_signed_identifiers};
