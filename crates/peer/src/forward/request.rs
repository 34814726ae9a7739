//! A forwarded request.

use std::net::IpAddr;
use std::time::Duration;

use super::access::Access;
use super::limits::{LONG_BYTES_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX};
use super::reader::{DecodeError, Reader};
use super::writer::Writer;

/// The version of the head.
const VERSION: u8 = 1;

/// The size of a usual head in bytes.
const USUAL_BYTES: usize = 512;

/// The service of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceId {
    /// Tables.
    Table,
    /// Queues.
    Queue,
}

/// How the client is connected to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

/// The id of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeId(pub u64);

/// The tenure of a range: the revision of the map under which its owner serves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenure(pub u64);

/// Names and values of headers, as the client spelled them.
pub type Headers<'a> = Vec<(&'a str, &'a [u8])>;

/// A request that a front has authenticated, for the owner of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedRequest<'a> {
    /// The service.
    pub service: ServiceId,
    /// How the client is connected.
    pub scheme: Scheme,
    /// How often it was forwarded, with this time.
    pub hops: u8,
    /// How long the front still waits.
    pub time_left: Duration,
    /// The range that the front has found.
    pub range: RangeId,
    /// The tenure of the range that the front knows.
    pub tenure: Tenure,
    /// The id of the request, in the order of its text form.
    pub request_id: [u8; 16],
    /// The protocol version, as the number YYYYMMDD.
    pub service_version: Option<u32>,
    /// The client's address.
    pub client: Option<IpAddr>,
    /// The rights of the caller.
    pub access: Access<'a>,
    /// The account.
    pub account: &'a str,
    /// The account's URL as the client addressed it.
    pub base: &'a str,
    /// The method.
    pub method: &'a str,
    /// The request target: path and query.
    pub target: &'a str,
    /// The stored row of the table or queue that the front has found; empty without one.
    pub row: &'a [u8],
    /// The headers that matter, as the client spelled them.
    pub headers: Headers<'a>,
}

impl<'a> ForwardedRequest<'a> {
    /// The bytes of the request. The time left is rounded down to milliseconds.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            service,
            scheme,
            hops,
            time_left,
            range,
            tenure,
            request_id,
            service_version,
            client,
            access,
            account,
            base,
            method,
            target,
            row,
            headers,
        } = self;
        let mut out = Writer::with_capacity(USUAL_BYTES + target.len() + row.len());
        out.byte(VERSION);
        out.byte(match service {
            ServiceId::Table => 0,
            ServiceId::Queue => 1,
        });
        out.byte(match scheme {
            Scheme::Http => 0,
            Scheme::Https => 1,
        });
        out.byte(*hops);
        out.u32(u32::try_from(time_left.as_millis()).unwrap_or(u32::MAX));
        out.u64(range.0);
        out.u64(tenure.0);
        out.raw(request_id);
        // No version is the number 0.
        out.u32(service_version.unwrap_or_default());
        out.address(*client);
        access.write(&mut out);
        out.text(account);
        out.text(base);
        out.text(method);
        out.text(target);
        out.bytes(row);
        out.headers(headers);
        out.finish()
    }

    /// Reads the bytes of a request.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut input = Reader::new(bytes, VERSION)?;
        let request = Self {
            service: match input.byte("service")? {
                0 => ServiceId::Table,
                1 => ServiceId::Queue,
                other => return Err(DecodeError::Unknown("service", other)),
            },
            scheme: if input.flag("scheme")? {
                Scheme::Https
            } else {
                Scheme::Http
            },
            hops: input.byte("number of hops")?,
            time_left: Duration::from_millis(input.u32("time left")?.into()),
            range: RangeId(input.u64("range")?),
            tenure: Tenure(input.u64("tenure")?),
            request_id: input.array("request id")?,
            service_version: Some(input.u32("service version")?).filter(|version| *version != 0),
            client: input.address("client address")?,
            access: Access::read(&mut input)?,
            account: input.text("account", NAME_BYTES_MAX)?,
            base: input.text("base URL", TEXT_BYTES_MAX)?,
            method: input.text("method", NAME_BYTES_MAX)?,
            target: input.text("request target", LONG_BYTES_MAX)?,
            row: input.bytes("row", LONG_BYTES_MAX)?,
            headers: input.headers()?,
        };
        input.finish()?;
        Ok(request)
    }
}
