//! Writes the body of a batch request: one change set. The client's side of [`super::read_batch`].

use crate::Method;

/// What an operation without a body takes, in bytes, about.
const PART_BYTES: usize = 384;

/// Writes the operations of a change set one by one.
#[derive(Debug)]
pub struct BatchRequestWriter {
    out: Vec<u8>,
    boundary: String,
    inner: String,
}

impl BatchRequestWriter {
    /// A change set of so many operations, whose bodies have so many bytes together. The boundaries are made of two GUIDs of
    /// the caller's.
    #[must_use]
    pub fn new(batch_id: &str, change_set_id: &str, parts: usize, body_bytes: usize) -> Self {
        let boundary = format!("batch_{batch_id}");
        let inner = format!("changeset_{change_set_id}");
        let mut out = Vec::with_capacity(body_bytes + (parts + 1) * PART_BYTES);
        let head =
            format!("--{boundary}\r\nContent-Type: multipart/mixed; boundary={inner}\r\n\r\n");
        out.extend_from_slice(head.as_bytes());
        Self {
            out,
            boundary,
            inner,
        }
    }

    /// The `Content-Type` of the request.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("multipart/mixed; boundary={}", self.boundary)
    }

    /// Appends an operation: `url` is absolute, `if_match` the value of that header. A body is JSON; without one there is
    /// none. None of the texts may hold a line end.
    pub fn part(&mut self, method: Method, url: &str, if_match: Option<&str>, body: Option<&[u8]>) {
        let Self { out, inner, .. } = self;
        let mut push = |pieces: &[&str]| {
            for piece in pieces {
                out.extend_from_slice(piece.as_bytes());
            }
        };
        push(&["--", inner, "\r\nContent-Type: application/http\r\n"]);
        push(&["Content-Transfer-Encoding: binary\r\n\r\n"]);
        push(&[method.name(), " ", url, " HTTP/1.1\r\n"]);
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
        self.out.extend_from_slice(b"\r\n");
    }

    /// The whole body.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        for boundary in [&self.inner, &self.boundary] {
            self.out.extend_from_slice(b"--");
            self.out.extend_from_slice(boundary.as_bytes());
            self.out.extend_from_slice(b"--\r\n");
        }
        self.out
    }
}
