//! Writes the body of a batch request: one change set. [`super::read_batch`] reads it.

use super::multipart::Multipart;
use crate::Method;

/// Approximate size of an operation without a body, in bytes.
const PART_BYTES: usize = 384;

/// Writes the operations of a change set one by one.
#[derive(Debug)]
pub struct BatchRequestWriter(Multipart);

impl BatchRequestWriter {
    /// Starts an empty change set. `parts`, the expected number of operations, and `body_bytes`, the expected size of
    /// their bodies, only reserve memory. The ids are two GUIDs, for the boundaries.
    pub fn new(batch_id: &str, change_set_id: &str, parts: usize, body_bytes: usize) -> Self {
        Self(Multipart::change_set(
            format!("batch_{batch_id}"),
            format!("changeset_{change_set_id}"),
            body_bytes + (parts + 1) * PART_BYTES,
        ))
    }

    /// The `Content-Type` of the request.
    pub fn content_type(&self) -> String {
        format!("multipart/mixed; boundary={}", self.0.boundary())
    }

    /// Appends an operation. `url` is absolute, `if_match` is the value of `If-Match`, and the body is JSON. None of
    /// the texts may contain a line end.
    pub fn part(&mut self, method: Method, url: &str, if_match: Option<&str>, body: Option<&[u8]>) {
        let out = self.0.part();
        let mut push = |pieces: &[&str]| {
            for piece in pieces {
                out.extend_from_slice(piece.as_bytes());
            }
        };
        push(&["\r\n", method.name(), " ", url, " HTTP/1.1\r\n"]);
        push(&["Accept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0;\r\n"]);
        if let Some(etag) = if_match {
            push(&["If-Match: ", etag, "\r\n"]);
        }
        if method == Method::Post {
            push(&["Prefer: return-no-content\r\n"]);
        }
        if let Some(body) = body {
            let length = body.len().to_string();
            push(&[
                "Content-Type: application/json\r\nContent-Length: ",
                &length,
                "\r\n\r\n",
            ]);
            out.extend_from_slice(body);
        } else {
            push(&["\r\n"]);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The whole body.
    pub fn finish(self) -> Vec<u8> {
        self.0.finish()
    }
}
