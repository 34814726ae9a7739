//! Headers of the Queue protocol.

use hyper::header::HeaderName;

pub(super) const APPROXIMATE_MESSAGES_COUNT: HeaderName =
    HeaderName::from_static("x-ms-approximate-messages-count");
pub(super) const POP_RECEIPT: HeaderName = HeaderName::from_static("x-ms-popreceipt");
pub(super) const TIME_NEXT_VISIBLE: HeaderName = HeaderName::from_static("x-ms-time-next-visible");
pub(super) const X_PARTITA_WAIT_SECONDS: HeaderName =
    HeaderName::from_static("x-partita-wait-seconds");
