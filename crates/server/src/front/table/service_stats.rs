//! Get Table Service Stats.

use super::super::reply::Reply;
use super::call::Call;
use hyper::StatusCode;
use partita_wire::{Failure, write_service_stats};

pub(super) fn run(call: &Call<'_>) -> Result<Reply, Failure> {
    let mut body = Vec::with_capacity(256);
    write_service_stats(call.head.caller.now, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}
