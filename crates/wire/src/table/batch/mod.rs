//! Entity group transactions: the multipart bodies of request and answer (service document "Performing entity
//! group transactions").
//!
//! ```text
//! --batch_1                                            outer part
//! Content-Type: multipart/mixed; boundary=changeset_1
//!
//! --changeset_1                                        one part for each operation
//! Content-Type: application/http
//! Content-Transfer-Encoding: binary
//!
//! POST http://host/account/Table HTTP/1.1
//! Content-Type: application/json
//!
//! {"PartitionKey":"p","RowKey":"r"}
//! --changeset_1--
//! --batch_1--
//! ```

mod answer;
mod answer_reader;
mod content_type;
mod multipart;
mod reader;
mod request_writer;
mod sections;
#[cfg(test)]
mod tests;

pub use answer::{BatchWriter, NextPage, PartOutcome};
pub use answer_reader::{AnswerPart, read_batch_answer};
pub use reader::{Batch, BatchRefusal, ContentId, Part, read_batch};
pub use request_writer::BatchRequestWriter;
