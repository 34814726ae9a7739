//! Headers of the Table protocol.

use hyper::header::HeaderName;

pub(super) const X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
pub(super) const DATA_SERVICE_ID: HeaderName = HeaderName::from_static("dataserviceid");
pub(super) const NEXT_PARTITION_KEY: HeaderName =
    HeaderName::from_static("x-ms-continuation-nextpartitionkey");
pub(super) const NEXT_ROW_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
pub(super) const NEXT_TABLE_NAME: HeaderName =
    HeaderName::from_static("x-ms-continuation-nexttablename");
pub(super) const X_PARTITA_EXPLAIN: HeaderName = HeaderName::from_static("x-partita-explain");
