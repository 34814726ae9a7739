//! Writes a multipart body: parts in a change set, or in the outer multipart.

/// A multipart body under construction.
#[derive(Debug)]
pub(super) struct Multipart {
    out: Vec<u8>,
    boundary: String,
    /// The boundary of the change set; `None` without one.
    inner: Option<String>,
}

impl Multipart {
    /// A body without a change set: its parts are in the outer multipart.
    pub(super) const fn flat(boundary: String) -> Self {
        Self {
            out: Vec::new(),
            boundary,
            inner: None,
        }
    }

    /// A body with a change set of about `capacity` bytes.
    pub(super) fn change_set(boundary: String, inner: String, capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        for piece in [
            "--",
            &boundary,
            "\r\nContent-Type: multipart/mixed; boundary=",
            &inner,
        ] {
            out.extend_from_slice(piece.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        Self {
            out,
            boundary,
            inner: Some(inner),
        }
    }

    /// The boundary in the content type of the body.
    pub(super) fn boundary(&self) -> &str {
        &self.boundary
    }

    /// Begins a part, and returns the buffer for its remaining headers and its body.
    pub(super) fn part(&mut self) -> &mut Vec<u8> {
        let boundary = self.inner.as_ref().unwrap_or(&self.boundary);
        for piece in ["--", boundary, "\r\nContent-Type: application/http\r\n"] {
            self.out.extend_from_slice(piece.as_bytes());
        }
        self.out
            .extend_from_slice(b"Content-Transfer-Encoding: binary\r\n");
        &mut self.out
    }

    /// Ends the body.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for boundary in [self.inner, Some(self.boundary)].into_iter().flatten() {
            for piece in ["--", &boundary, "--\r\n"] {
                self.out.extend_from_slice(piece.as_bytes());
            }
        }
        self.out
    }
}
