//! A client's storage account, and its Shared Key signature.
//!
//! Source of the string to sign: "Authorize with Shared Key", section on the Table service. Only path-style URLs are
//! signed here, so the account occurs twice in the canonicalized resource.

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The key that every emulator shares; public knowledge, never a secret.
pub const WELL_KNOWN_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Bytes of a base64 signature in an `Authorization` header.
pub(crate) const SIGNATURE_LEN: usize = 44;

/// An account's name and its key, with the key's HMAC state computed once.
#[derive(Clone, Debug)]
pub struct Account {
    name: String,
    mac: Hmac<Sha256>,
}

impl Account {
    /// The account `devstoreaccount1` with the well-known key.
    pub fn well_known() -> Self {
        Self::new("devstoreaccount1", WELL_KNOWN_KEY).expect("the well-known key is base64")
    }

    /// An account from its name and base64 key.
    ///
    /// # Errors
    /// When the key is not base64.
    pub fn new(name: &str, key: &str) -> anyhow::Result<Self> {
        let key = BASE64_STANDARD
            .decode(key)
            .context("the account key is not base64")?;
        let mac = Hmac::new_from_slice(&key).expect("HMAC takes keys of any length");
        Ok(Self {
            name: name.to_owned(),
            mac,
        })
    }

    /// The account's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The signature of any text, base64: for shared access signatures.
    pub fn sign_text(&self, text: &str) -> String {
        let mut mac = self.mac.clone();
        mac.update(text.as_bytes());
        BASE64_STANDARD.encode(mac.finalize().into_bytes())
    }

    /// The Shared Key signature of a request, base64. `path` is the raw path of the request line with the account in
    /// it, without the query.
    pub fn sign(&self, method: &str, content_type: &str, date: &str, path: &str) -> String {
        let mut mac = self.mac.clone();
        for part in [
            method,
            "\n\n",
            content_type,
            "\n",
            date,
            "\n/",
            &self.name,
            path,
        ] {
            mac.update(part.as_bytes());
        }
        BASE64_STANDARD.encode(mac.finalize().into_bytes())
    }
}

/// A request to the Queue service, as its signature covers it.
#[derive(Clone, Copy, Debug)]
pub struct QueueRequest<'a> {
    /// HTTP verb.
    pub method: &'a str,
    /// Bytes of the body.
    pub content_length: usize,
    /// Value of `Content-Type`; empty for none.
    pub content_type: &'a str,
    /// The headers whose names begin with `x-ms-`, in lower case and in order.
    pub headers: &'a [(&'a str, &'a str)],
    /// The raw path of the request line with the account in it, without the query.
    pub path: &'a str,
    /// The query's names and decoded values, in order.
    pub query: &'a [(&'a str, String)],
}

impl Account {
    /// The Shared Key signature of a request to the Queue service, base64.
    pub fn sign_queue(&self, request: &QueueRequest<'_>) -> String {
        let length = match request.content_length {
            0 => String::new(),
            length => length.to_string(),
        };
        let mut text = format!(
            "{}\n\n\n{length}\n\n{}\n\n\n\n\n\n\n",
            request.method, request.content_type
        );
        for (name, value) in request.headers {
            text += &format!("{name}:{value}\n");
        }
        text += &format!("/{}{}", self.name, request.path);
        for (name, value) in request.query {
            text += &format!("\n{name}:{value}");
        }
        self.sign_text(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Tue, 02 Jan 2024 03:04:05 GMT";

    #[test]
    fn signs_like_the_official_clients() {
        let account = Account::well_known();
        let create = account.sign(
            "POST",
            "application/json;odata=nometadata",
            DATE,
            "/devstoreaccount1/Tables",
        );
        assert_eq!(create, "iiB1b35vtZOiKFEgyj4CUWkdW8t3ek43B3q++T8svbQ=");
        let get = account.sign(
            "GET",
            "",
            DATE,
            "/devstoreaccount1/MyTable(PartitionKey='p%27%271%20%C3%A9',RowKey='r%23%251')",
        );
        assert_eq!(get, "9Olm+Pu2gynqZ1vUcZzK6r1H/1uuvGUaMgv7fmCbHdc=");
        let batch = account.sign(
            "POST",
            "multipart/mixed; boundary=batch_1",
            DATE,
            "/devstoreaccount1/$batch",
        );
        assert_eq!(batch, "EqoXMcYc6tT1SRHHqk5k+tugxoKGjtsFulcAx/LZ2ro=");
        assert_eq!(batch.len(), SIGNATURE_LEN);
    }

    #[test]
    fn signs_requests_to_queues_like_the_official_clients() {
        let signature = Account::well_known().sign_queue(&QueueRequest {
            method: "POST",
            content_length: 103,
            content_type: "application/xml",
            headers: &[("x-ms-date", DATE), ("x-ms-version", "2021-02-12")],
            path: "/devstoreaccount1/queue1/messages",
            query: &[
                ("messagettl", "-1".to_owned()),
                ("visibilitytimeout", "3".to_owned()),
            ],
        });
        assert_eq!(signature, "vDr9TJRjofG7w9KagrVhBGJTS9ylCtIKdQ34QvaRS4Y=");
    }
}
