//! A server that does only the work with requests and answers that no table server can avoid: the ceiling for batches
//! and pages.
//!
//! It is the bare server plus this project's parser and writer. It reads batches and inserts into their stored form, and
//! writes pages and entities from the stored form of 100,000 rows in memory. It stores nothing. With a file as its
//! argument, it also writes what it has read to that file, a group of requests with one write and one sync, before it
//! answers.
//!
//! It is a package of its own, so that the load driver shares no code with the server.

#![allow(
    clippy::print_stdout,
    reason = "the ready line is this program's interface"
)]

mod log;
mod rows;

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, StatusCode};
use partita_bench::{canned, ceiling};

use crate::log::Log;
use crate::rows::{Codec, PreparedRows, Row};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Server {
    codec: Codec,
    rows: PreparedRows,
    /// The answer to every batch.
    batch: Bytes,
    log: Option<Log>,
}

impl Server {
    /// # Errors
    /// When the request is not one of the benchmark's.
    async fn answer(&self, head: &Parts, body: &[u8]) -> anyhow::Result<ceiling::Answer> {
        let path = head.uri.path();
        Ok(match head.method {
            Method::GET if path.ends_with("()") => {
                ceiling::answer(StatusCode::OK, self.rows.page()?.into(), ceiling::JSON)
            }
            Method::GET => ceiling::entity(self.rows.entity()?.into()),
            _ if path.ends_with("$batch") => {
                let content_type = head.headers.get(CONTENT_TYPE).context("no Content-Type")?;
                let rows = self.codec.read_batch(content_type.to_str()?, body)?;
                self.store(rows).await?;
                let batch = self.batch.clone();
                ceiling::answer(StatusCode::ACCEPTED, batch, canned::BATCH_CONTENT_TYPE)
            }
            _ => {
                self.store(vec![self.codec.read_insert(body)?]).await?;
                ceiling::inserted()
            }
        })
    }

    /// Writes rows to the log, if there is one, and drops them.
    async fn store(&self, rows: Vec<Row>) -> anyhow::Result<()> {
        match &self.log {
            Some(log) => log.write(rows).await,
            None => {
                std::hint::black_box(rows);
                Ok(())
            }
        }
    }
}

fn main() -> anyhow::Result<()> {
    let file = std::env::args_os().nth(1);
    let log = file.map(|file| Log::start(file.as_ref())).transpose()?;
    let server = Arc::new(Server {
        codec: Codec::new()?,
        rows: PreparedRows::new()?,
        batch: canned::batch().into(),
        log,
    });
    let ready =
        |addr| println!("payload: Table service is successfully listening at http://{addr}");
    ceiling::serve(ready, move |head, body| {
        let server = Arc::clone(&server);
        async move {
            server.answer(&head, &body).await.unwrap_or_else(|error| {
                let text = format!("{error:#}").into();
                ceiling::answer(StatusCode::BAD_REQUEST, text, "text/plain")
            })
        }
    })
}
