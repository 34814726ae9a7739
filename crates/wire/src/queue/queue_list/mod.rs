//! `EnumerationResults`: the answer of List Queues, for servers and for clients.

use super::list_parameters::{ListParameters, write_marker};
use super::metadata::invalid_metadata;
use crate::xml::{
    Bounds, Element, invalid, push_text, write_declaration, write_empty, write_end, write_start,
    write_text,
};
use crate::{Failure, Version};
use partita_model::Metadata;

/// The first version whose root has `ServiceEndpoint` instead of `AccountName`, and whose queues have no `Url` (service
/// document "List Queues").
const SERVICE_ENDPOINT: Version = Version::from_date(20_130_815);
/// The bounds of an answer: 5,000 queues with metadata of 8 KiB.
const BOUNDS: Bounds = Bounds {
    bytes_max: 64 * 1024 * 1024,
    nodes_max: 1_000_000,
};

/// Writes the answer of List Queues.
#[derive(Debug, Clone, Copy)]
pub struct QueueListWriter<'a> {
    /// The account's URL in the client's form, without a trailing slash ([`crate::Target::base`]).
    pub base: &'a str,
    /// The name of the account.
    pub account: &'a str,
    /// The parameters of the request.
    pub parameters: &'a ListParameters<'a>,
    /// The version of the request.
    pub version: Version,
}

impl QueueListWriter<'_> {
    /// Appends the body with these queues, names and metadata; `next` is the name of the first queue of the next page.
    pub fn write<'q>(
        &self,
        queues: impl IntoIterator<Item = (&'q str, &'q Metadata)>,
        next: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let parameters = self.parameters;
        write_declaration(out);
        self.write_root(out);
        for (name, sent) in [
            ("Prefix", &parameters.prefix),
            ("Marker", &parameters.marker),
        ] {
            if let Some(text) = sent {
                write_text(name, text, out);
            }
        }
        if let Some(count) = parameters.max_results {
            write_text("MaxResults", &count.to_string(), out);
        }
        let mut queues = queues.into_iter().peekable();
        if queues.peek().is_none() {
            write_empty("Queues", out);
        } else {
            write_start("Queues", out);
            queues.for_each(|(name, metadata)| self.write_queue(name, metadata, out));
            write_end("Queues", out);
        }
        let next = next.map(|next| write_marker(self.account, next));
        write_text("NextMarker", &next.unwrap_or_default(), out);
        write_end("EnumerationResults", out);
    }

    fn has_urls(&self) -> bool {
        self.version < SERVICE_ENDPOINT
    }

    fn write_root(&self, out: &mut Vec<u8>) {
        let attribute = if self.has_urls() {
            "AccountName"
        } else {
            "ServiceEndpoint"
        };
        for part in ["<EnumerationResults ", attribute, "=\""] {
            out.extend_from_slice(part.as_bytes());
        }
        // Neither a host nor the name of an account has a quote.
        push_text(self.base, out);
        out.extend_from_slice(b"/\">");
    }

    fn write_queue(&self, name: &str, metadata: &Metadata, out: &mut Vec<u8>) {
        write_start("Queue", out);
        write_text("Name", name, out);
        if self.has_urls() {
            write_text("Url", &format!("{}/{name}", self.base), out);
        }
        if self.parameters.include_metadata {
            write_metadata(metadata, out);
        }
        write_end("Queue", out);
    }
}

fn write_metadata(metadata: &Metadata, out: &mut Vec<u8>) {
    if metadata.iter().next().is_none() {
        return write_empty("Metadata", out);
    }
    write_start("Metadata", out);
    for (name, value) in metadata.iter() {
        write_text(name, value, out);
    }
    write_end("Metadata", out);
}

/// A page of List Queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueList {
    /// The queues in the order of their names.
    pub queues: Vec<ListedQueue>,
    /// The `marker` of the next page; `None` on the last page.
    pub next_marker: Option<String>,
}

/// A queue on a page of List Queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedQueue {
    /// The name.
    pub name: String,
    /// The metadata; empty if the request did not ask for it.
    pub metadata: Metadata,
}

/// Reads the answer of List Queues.
///
/// # Errors
/// 400 InvalidXmlDocument, or the failure of invalid metadata.
pub fn read_queue_list(body: &[u8]) -> Result<QueueList, Failure> {
    let root = Element::read(body, BOUNDS)?;
    if root.name != "EnumerationResults" {
        return Err(invalid());
    }
    let queues = root.child("Queues")?.ok_or_else(invalid)?;
    let next_marker = root.text_of("NextMarker")?;
    Ok(QueueList {
        queues: queues
            .children
            .iter()
            .filter(|child| child.name == "Queue")
            .map(read_queue)
            .collect::<Result<_, _>>()?,
        next_marker: next_marker
            .filter(|marker| !marker.is_empty())
            .map(str::to_owned),
    })
}

fn read_queue(element: &Element) -> Result<ListedQueue, Failure> {
    let mut metadata = Metadata::default();
    let pairs = element.child("Metadata")?;
    for pair in pairs.map_or(&[][..], |pairs| &pairs.children) {
        metadata
            .add(&pair.name, &pair.text)
            .map_err(invalid_metadata)?;
    }
    Ok(ListedQueue {
        name: element.text_of("Name")?.ok_or_else(invalid)?.to_owned(),
        metadata,
    })
}

#[cfg(test)]
mod tests;
