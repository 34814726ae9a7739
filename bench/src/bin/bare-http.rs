//! The bare server of the comparison: hyper, with one task per connection, reads each request to its end and answers
//! prepared bytes of the right size and headers. Its speed is the ceiling for any server on this machine.

#![allow(
    clippy::print_stdout,
    reason = "the ready line is this program's interface"
)]

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use partita_bench::{canned, ceiling};

/// The prepared bodies.
struct Canned {
    entity: Bytes,
    page: Bytes,
    batch: Bytes,
}

impl Canned {
    fn answer(&self, method: &Method, path: &str) -> ceiling::Answer {
        match *method {
            Method::GET if path.ends_with("()") => {
                ceiling::answer(StatusCode::OK, self.page.clone(), ceiling::JSON)
            }
            Method::GET => ceiling::entity(self.entity.clone()),
            _ if path.ends_with("$batch") => ceiling::answer(
                StatusCode::ACCEPTED,
                self.batch.clone(),
                canned::BATCH_CONTENT_TYPE,
            ),
            _ => ceiling::inserted(),
        }
    }
}

fn main() -> anyhow::Result<()> {
    let canned = Arc::new(Canned {
        entity: canned::entity().into(),
        page: canned::page().into(),
        batch: canned::batch().into(),
    });
    let ready = |addr| println!("bare: Table service is successfully listening at http://{addr}");
    ceiling::serve(ready, move |head, body| {
        let canned = Arc::clone(&canned);
        async move {
            std::hint::black_box(body);
            canned.answer(&head.method, head.uri.path())
        }
    })
}
