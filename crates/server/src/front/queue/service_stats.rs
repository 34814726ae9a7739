//! Get Queue Service Stats: when the secondary endpoint was last synchronised, which is now.

use super::call::XML;
use super::{Call, Reply};
use hyper::StatusCode;
use partita_wire::write_service_stats;

pub(super) fn run(call: &Call<'_>) -> Reply {
    let mut body = Vec::with_capacity(256);
    write_service_stats(call.head.caller.now, &mut body);
    Reply::new(StatusCode::OK).body(XML, body)
}
