use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// The owned parts of a request, from which one that borrows is made.
#[derive(Debug, Clone)]
struct Parts {
    numbers: (u8, u32, u64, u64, [u8; 16]),
    version: Option<u32>,
    is_queue: bool,
    is_https: bool,
    client: Option<IpAddr>,
    grant: u8,
    bounds: (u8, u8),
    bits: (u32, u32),
    expires_ms: Option<u64>,
    texts: [String; 7],
    row: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
}

impl Parts {
    fn bound(&self, kind: u8) -> Option<KeyBound<'_>> {
        let [.., partition, row] = &self.texts;
        match kind % 5 {
            1 => Some(KeyBound::BeforePartition(partition)),
            2 => Some(KeyBound::AfterPartition(partition)),
            3 => Some(KeyBound::Before(partition, row)),
            4 => Some(KeyBound::After(partition, row)),
            _ => None,
        }
    }

    fn grant(&self) -> Grant<'_> {
        match self.grant % 6 {
            1 => Grant::AccountSas {
                resource_types: self.bits.0,
                permissions: self.bits.1,
            },
            2 => Grant::ContainerSas {
                container: &self.texts[4],
                permissions: self.bits.0,
                from: self.bound(self.bounds.0),
                to: self.bound(self.bounds.1),
            },
            3 => Grant::Roles(self.bits.0),
            4 => Grant::Unresolved,
            5 => Grant::Anonymous,
            _ => Grant::Owner,
        }
    }

    fn headers(&self) -> Headers<'_> {
        let headers = self.headers.iter();
        headers
            .map(|(name, value)| (name.as_str(), value.as_slice()))
            .collect()
    }

    fn request(&self) -> ForwardedRequest<'_> {
        let (hops, time_left, range, tenure, request_id) = self.numbers;
        let [account, base, method, target, ..] = &self.texts;
        ForwardedRequest {
            service: if self.is_queue {
                ServiceId::Queue
            } else {
                ServiceId::Table
            },
            scheme: if self.is_https {
                Scheme::Https
            } else {
                Scheme::Http
            },
            hops,
            time_left: Duration::from_millis(time_left.into()),
            range: RangeId(range),
            tenure: Tenure(tenure),
            request_id,
            service_version: self.version,
            client: self.client,
            access: Access {
                grant: self.grant(),
                expires_ms: self.expires_ms,
            },
            account,
            base,
            method,
            target,
            row: &self.row,
            headers: self.headers(),
        }
    }
}

fn parts() -> impl Strategy<Value = Parts> {
    let text = || "\\PC{0,40}";
    (
        (
            any::<(u8, u32, u64, u64, [u8; 16])>(),
            prop::option::of(1_u32..),
        ),
        any::<(bool, bool, Option<IpAddr>)>(),
        any::<(u8, (u8, u8), (u32, u32), Option<u64>)>(),
        [text(), text(), text(), text(), text(), text(), text()],
        any::<Vec<u8>>(),
        prop::collection::vec((text(), any::<Vec<u8>>()), 0..20),
    )
        .prop_map(|((numbers, version), kinds, access, texts, row, headers)| {
            let (is_queue, is_https, client) = kinds;
            let (grant, bounds, bits, expires_ms) = access;
            Parts {
                numbers,
                version,
                is_queue,
                is_https,
                client,
                grant,
                bounds,
                bits,
                expires_ms,
                texts,
                row,
                headers,
            }
        })
}

proptest! {
    #[test]
    fn requests_are_read_as_they_were_written(parts in parts()) {
        let request = parts.request();
        let bytes = request.encode();
        prop_assert_eq!(ForwardedRequest::decode(&bytes), Ok(request));
    }

    /// No shorter message is complete, and none has room for more.
    #[test]
    fn every_byte_of_a_request_counts(parts in parts(), cut in any::<prop::sample::Index>()) {
        let mut bytes = parts.request().encode();
        let short = &bytes[..cut.index(bytes.len())];
        prop_assert!(ForwardedRequest::decode(short).is_err());
        bytes.push(0);
        prop_assert_eq!(ForwardedRequest::decode(&bytes), Err(DecodeError::Trailing(1)));
    }

    /// What can be read is written to the same bytes.
    #[test]
    fn damaged_requests_are_refused_or_differ(parts in parts(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let request = parts.request();
        let mut bytes = request.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(read) = ForwardedRequest::decode(&bytes) {
            prop_assert_ne!(&read, &request);
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn answers_are_read_as_they_were_written(parts in parts(), status in any::<u16>()) {
        let answered = ForwardedAnswer::Answered {
            status,
            reason: &parts.texts[0],
            body_bytes: parts.numbers.2,
            entities: parts.numbers.3,
            code: &parts.texts[1],
            busy: &parts.texts[2],
            headers: parts.headers(),
        };
        let rights = ForwardedAnswer::Rights(parts.request().access);
        let not_here = ForwardedAnswer::NotHere(Tenure(parts.numbers.2));
        for answer in [answered, not_here, rights] {
            let bytes = answer.encode();
            prop_assert_eq!(ForwardedAnswer::decode(&bytes), Ok(answer.clone()));
            prop_assert!(ForwardedAnswer::decode(&bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in any::<Vec<u8>>()) {
        if let Ok(request) = ForwardedRequest::decode(&bytes) {
            prop_assert_eq!(request.encode(), bytes.clone());
        }
        if let Ok(answer) = ForwardedAnswer::decode(&bytes) {
            prop_assert_eq!(answer.encode(), bytes);
        }
    }
}

fn plain() -> ForwardedRequest<'static> {
    ForwardedRequest {
        service: ServiceId::Table,
        scheme: Scheme::Https,
        hops: 1,
        time_left: Duration::from_secs(30),
        range: RangeId(7),
        tenure: Tenure(42),
        request_id: [9; 16],
        service_version: Some(20_190_202),
        client: None,
        access: Access {
            grant: Grant::Owner,
            expires_ms: None,
        },
        account: "devstoreaccount1",
        base: "http://127.0.0.1:10002/devstoreaccount1",
        method: "GET",
        target: "/devstoreaccount1/people(PartitionKey='a',RowKey='b')",
        row: b"row",
        headers: vec![("Accept", b"application/json")],
    }
}

#[test]
fn parts_above_their_limits_are_refused() {
    let long = "x".repeat(limits::LONG_BYTES_MAX + 1);
    let usual = plain();
    let many = vec![("name", b"value".as_slice()); limits::HEADERS_MAX + 1];
    for (what, request) in [
        (
            "account",
            ForwardedRequest {
                account: &long,
                ..usual.clone()
            },
        ),
        (
            "base URL",
            ForwardedRequest {
                base: &long,
                ..usual.clone()
            },
        ),
        (
            "method",
            ForwardedRequest {
                method: &long,
                ..usual.clone()
            },
        ),
        (
            "request target",
            ForwardedRequest {
                target: &long,
                ..usual.clone()
            },
        ),
        (
            "row",
            ForwardedRequest {
                row: long.as_bytes(),
                ..usual.clone()
            },
        ),
        (
            "header value",
            ForwardedRequest {
                headers: vec![("n", long.as_bytes())],
                ..usual.clone()
            },
        ),
        (
            "list of headers",
            ForwardedRequest {
                headers: many,
                ..usual.clone()
            },
        ),
    ] {
        let bytes = request.encode();
        let expected = Err(DecodeError::TooLong(what));
        assert_eq!(ForwardedRequest::decode(&bytes), expected);
    }
}

#[test]
fn the_bytes_of_version_1_stay_the_same() {
    let hex: String = plain()
        .encode()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let expected = include_str!("request_v1.hex")
        .split_whitespace()
        .collect::<String>();
    assert_eq!(hex, expected);
    assert_eq!(ForwardedRequest::decode(&[2]), Err(DecodeError::Version(2)));
}
