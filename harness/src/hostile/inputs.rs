//! The inputs. The seed and the number of an input determine it.

use std::net::SocketAddr;

use partita_bench::Account;
use partita_bench::batch::{self, Batch};
use partita_bench::client::{Client, Request};
use partita_load::Random;

use super::{KEPT, SCRATCH, pick, shared_access};

/// How the server must answer an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// With a refusal.
    Refused,
    /// With a refusal, or with 202 for the batch and a refusal of its operation.
    RefusedBatch,
    /// With a refusal or as a read, without a change of the table that must not change.
    RefusedOrRead,
    /// With at least this number of answers.
    All(usize),
    /// With an answer, or by closing the connection: the input is incomplete.
    Any,
}

/// Bytes for one connection.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
    /// Number of bytes that are sent before each pause; `None` to send all bytes without a pause.
    pub(super) piece: Option<usize>,
    pub(super) answer: Answer,
}

/// Makes inputs, and signs those that the server must not refuse for a wrong signature.
pub(super) struct Generator {
    client: Client,
    other_key: Client,
    account: Account,
    addr: SocketAddr,
    seed: u64,
}

/// Makes an input of one kind.
type Make = fn(&Generator, &mut Random) -> (Vec<u8>, Answer);

const KINDS: [(&str, Make); 18] = [
    ("request line", Generator::request_line),
    ("URL", Generator::url),
    ("header", Generator::header),
    ("length of the body", Generator::length),
    ("chunked body", Generator::chunked),
    ("batch without its end", Generator::cut_batch),
    ("batch", Generator::batch),
    ("batch, lax", Generator::lax_batch),
    ("filter", Generator::filter),
    ("query option", Generator::option),
    ("JSON", Generator::json),
    ("JSON that is cut", Generator::cut_json),
    ("XML", Generator::xml),
    ("signature", Generator::signature),
    ("shared access signature", Generator::shared_access),
    ("pipeline", Generator::pipeline),
    ("changed bytes", Generator::changed),
    ("incomplete request", Generator::incomplete),
];

const JSON: &str = "application/json";

impl Generator {
    pub(super) fn new(addr: SocketAddr, account: &Account, seed: u64) -> anyhow::Result<Self> {
        // The well-known account with another key.
        let other_key = Account::new(account.name(), "c3RyYW5nZXI=")?;
        Ok(Self {
            client: Client::connect(addr, account.clone())?,
            other_key: Client::connect(addr, other_key)?,
            account: account.clone(),
            addr,
            seed,
        })
    }

    pub(super) fn input(&self, number: u64) -> Input {
        let mut random = Random::of(self.seed, number);
        let (kind, make) = KINDS[number as usize % KINDS.len()];
        let (bytes, answer) = make(self, &mut random);
        // About one of eight inputs is sent slowly, if it is short.
        let is_slow = random.chance(12) && bytes.len() < 2_000;
        Input {
            kind,
            bytes,
            piece: is_slow.then(|| 1 + random.below(40) as usize),
            answer,
        }
    }

    /// A signed request with a body.
    fn write(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
        self.client.encode(&Request {
            content_type,
            body,
            ..Request::new(method, path)
        })
    }

    /// A signed query of the table that must not change.
    fn query(&self, query: &str) -> Vec<u8> {
        let path = format!("/{KEPT}()");
        let request = Request::new("GET", &path);
        self.client.encode(&Request { query, ..request })
    }

    /// The head of a signed insert, without the last line, so that headers can follow.
    fn insert_head(&self) -> Vec<u8> {
        let path = format!("/{SCRATCH}");
        let mut head = self.client.encode(&Request {
            content_type: JSON,
            ..Request::new("PUT", &format!("{path}(PartitionKey='a',RowKey='b')"))
        });
        head.truncate(head.len() - 2);
        head
    }

    fn request_line(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let lines: [&[u8]; 16] = [
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1 more\r\nHost: a\r\n\r\n",
            b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /\x01\x02 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"get / http/1.1\r\nHost: a\r\n\r\n",
            b"G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefgh\r\n\r\n",
            b"CONNECT localhost:1 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"DELETE * HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET http://elsewhere/devstoreaccount1/kept() HTTP/1.1\r\nHost: a\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\xff\xfe\xfd /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
            b"/ HTTP/1.1\r\nHost: a\r\n\r\n",
        ];
        let line = *pick(random, &lines);
        (line.to_vec(), Answer::Refused)
    }

    fn url(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let long = "a".repeat(1 + random.below(120_000) as usize);
        let nested = "(".repeat(1 + random.below(5_000) as usize);
        let paths = [
            format!("/{KEPT}(PartitionKey='%zz',RowKey='r')"),
            format!("/{KEPT}(PartitionKey='%c0%af',RowKey='r')"),
            format!("/{KEPT}(PartitionKey='%00',RowKey='%1f')"),
            format!("/{KEPT}(PartitionKey='%ed%a0%80',RowKey='r')"),
            format!("/{KEPT}(PartitionKey='a,RowKey='r')"),
            format!("/{KEPT}(PartitionKey='a')"),
            format!("/{KEPT}(RowKey='a',RowKey='a')"),
            format!("/{KEPT}{nested}"),
            format!("/{long}()"),
            format!("/{KEPT}(PartitionKey='{long}',RowKey='r')"),
            "/../../etc/passwd".to_owned(),
            "/%2e%2e/%2e%2e".to_owned(),
            "//".to_owned(),
            format!("/{KEPT}()/{KEPT}()"),
            "/Tables('')".to_owned(),
            "/Tables('a','b')".to_owned(),
            format!("/Tables('{KEPT}%27')"),
        ];
        let path = pick(random, &paths);
        let method = *pick(random, &["GET", "DELETE", "PUT", "PATCH", "POST"]);
        let request = Request {
            headers: &[("If-Match", "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"")],
            ..Request::new(method, path)
        };
        // The server may answer 404 to a get of an unusual key, and a page to an unusual URL of the list of tables.
        (self.client.encode(&request), Answer::RefusedOrRead)
    }

    fn header(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let long = "h".repeat(200_000);
        let many: String = (0..2_000).map(|at| format!("x-{at}: v\r\n")).collect();
        let (lines, answer) = match random.below(16) {
            0 => ("no colon\r\n".to_owned(), Answer::Refused),
            1 => ("name : value\r\n".to_owned(), Answer::Refused),
            2 => (": value\r\n".to_owned(), Answer::Refused),
            3 => ("x-a: b\r\n folded\r\n".to_owned(), Answer::Refused),
            4 => ("x-a: \0\r\n".to_owned(), Answer::Refused),
            5 => (format!("x-a: {long}\r\n"), Answer::Refused),
            6 => (many, Answer::Refused),
            7 => ("x-a: b\rx-b: c\r\n".to_owned(), Answer::Refused),
            8 => ("Host: other\r\n".to_owned(), Answer::RefusedOrRead),
            9 => ("If-Match: \u{e9}\r\n".to_owned(), Answer::RefusedOrRead),
            10 => (
                "x-ms-version: 1900-01-01\r\n".to_owned(),
                Answer::RefusedOrRead,
            ),
            11 => ("x-ms-date: yesterday\r\n".to_owned(), Answer::RefusedOrRead),
            12 => ("Accept: \u{1}\r\n".to_owned(), Answer::Refused),
            13 => (
                "Range: bytes=0-,-1,5-2\r\n".to_owned(),
                Answer::RefusedOrRead,
            ),
            14 => ("Expect: a-miracle\r\n".to_owned(), Answer::RefusedOrRead),
            _ => (
                "Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n".to_owned(),
                Answer::RefusedOrRead,
            ),
        };
        let mut bytes = self.query("$top=1");
        bytes.truncate(bytes.len() - 2);
        bytes.extend_from_slice(lines.as_bytes());
        bytes.extend_from_slice(b"\r\n");
        (bytes, answer)
    }

    fn length(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let (lines, answer) = match random.below(10) {
            0 => ("Content-Length: -1\r\n", Answer::Refused),
            1 => (
                "Content-Length: 99999999999999999999999\r\n",
                Answer::Refused,
            ),
            2 => ("Content-Length: 18446744073709551615\r\n", Answer::Refused),
            3 => ("Content-Length: 9223372036854775807\r\n", Answer::Refused),
            4 => ("Content-Length: 5000000000\r\n", Answer::Refused),
            5 => (
                "Content-Length: 2\r\nContent-Length: 3\r\n",
                Answer::Refused,
            ),
            6 => (
                "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                Answer::Any,
            ),
            7 => ("Content-Length: 0x2\r\n", Answer::Refused),
            8 => ("Content-Length: 2, 2\r\n", Answer::Any),
            _ => ("Content-Length: +2\r\n", Answer::Refused),
        };
        let mut bytes = self.insert_head();
        bytes.extend_from_slice(lines.as_bytes());
        bytes.extend_from_slice(b"\r\n{}");
        (bytes, answer)
    }

    fn chunked(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let long = format!("1;{}\r\n{{\r\n", "x".repeat(100_000));
        let trailers = format!("0\r\n{}\r\n", "x: y\r\n".repeat(10_000));
        let bodies: [(&[u8], Answer); 9] = [
            (b"zz\r\n{}\r\n0\r\n\r\n", Answer::Refused),
            (b"-2\r\n{}\r\n0\r\n\r\n", Answer::Refused),
            (b"ffffffffffffffff\r\n{}\r\n", Answer::Any),
            (b"fffffffffffffffff\r\n{}\r\n", Answer::Refused),
            (b"2{}0\r\n\r\n", Answer::Refused),
            (b"2\r\n{}x\r\n0\r\n\r\n", Answer::Refused),
            (b"2\r\n{}\r\n", Answer::Any),
            (long.as_bytes(), Answer::Any),
            (trailers.as_bytes(), Answer::Any),
        ];
        let (body, answer) = *pick(random, &bodies);
        let codings = [
            "chunked",
            "chunked, chunked",
            "gzip",
            "gzip, chunked",
            "identity",
        ];
        let coding = match random.below(3) {
            0 => *pick(random, &codings),
            _ => "chunked",
        };
        let mut bytes = self.insert_head();
        bytes.extend_from_slice(format!("Transfer-Encoding: {coding}\r\n\r\n").as_bytes());
        bytes.extend_from_slice(body);
        let answer = if coding == "chunked" {
            answer
        } else {
            Answer::Any
        };
        (bytes, answer)
    }

    /// A batch of writes to the table that must not change, cut anywhere.
    fn cut_batch(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let body = self.batch_body(KEPT, 1 + random.below(20));
        // Cut before the last boundary's name ends: the server accepts a batch that lacks only what follows the name.
        let end = body.len() as u64 - 60;
        let body = &body[..random.below(end) as usize];
        let bytes = self.write("POST", "/$batch", batch::CONTENT_TYPE, body.as_bytes());
        (bytes, Answer::RefusedBatch)
    }

    fn batch_body(&self, table: &str, rows: u64) -> String {
        let mut batch = Batch::new(&self.account, self.addr);
        for row in 0..rows {
            let json = format!(r#"{{"PartitionKey":"new","RowKey":"n{row}"}}"#);
            batch.push("POST", &format!("/{table}"), &[], &json);
        }
        batch.finish()
    }

    fn batch(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let good = self.batch_body(KEPT, 2);
        let long = format!("multipart/mixed; boundary={}", "b".repeat(10_000));
        let types = [
            "multipart/mixed",
            "multipart/mixed; boundary=",
            "multipart/mixed; boundary=\"",
            "multipart/mixed; boundary=other",
            "text/plain",
            long.as_str(),
        ];
        let type_is_bad = random.chance(40);
        let content_type = if type_is_bad {
            *pick(random, &types)
        } else {
            batch::CONTENT_TYPE
        };
        let body = if type_is_bad {
            good
        } else {
            match random.below(8) {
                0 => self.batch_body(KEPT, 101 + random.below(4_000)),
                1 => good.replace("RowKey\":\"n1", "RowKey\":\"n0"),
                2 => good.replacen("PartitionKey\":\"new", "PartitionKey\":\"other", 1),
                3 => good.replace("POST http", "BREW http"),
                4 => good.replace("\r\n\r\n", "\r\n"),
                5 => good.replace("devstoreaccount1", "otheraccount"),
                6 => good.replacen("{\"", "{{\"", 1),
                _ => good.replace("/kept", "/nothere"),
            }
        };
        let bytes = self.write("POST", "/$batch", content_type, body.as_bytes());
        (bytes, Answer::RefusedBatch)
    }

    /// A batch with a fault that the server may overlook.
    fn lax_batch(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let good = self.batch_body(SCRATCH, 2);
        let body = match random.below(4) {
            0 => good.replace(" HTTP/1.1\r\nAccept", "\r\nAccept"),
            1 => good.replace("application/http", "text/plain"),
            2 => good.replace("Content-Length: ", "Content-Length: 9"),
            _ => good.replace("\r\n", "\n"),
        };
        let bytes = self.write("POST", "/$batch", batch::CONTENT_TYPE, body.as_bytes());
        (bytes, Answer::RefusedOrRead)
    }

    fn filter(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let deep = 1 + random.below(9_000) as usize;
        let filters = [
            format!("{}a%20eq%201{}", "(".repeat(deep), ")".repeat(deep)),
            "(".repeat(deep),
            format!("{}a", "not%20".repeat(deep)),
            format!("a%20eq%201{}", "%20or%20a%20eq%201".repeat(deep)),
            format!("a%20eq%20'{}'", "x".repeat(60_000)),
            "a%20eq%20'%ff%fe'".to_owned(),
            "a%20eq%20'open".to_owned(),
            "a%20eq%20datetime'9999-99-99T99:99:99Z'".to_owned(),
            "a%20eq%20guid'0'".to_owned(),
            "a%20eq%2099999999999999999999999999L".to_owned(),
            "a%20eq%201e999999".to_owned(),
            "a%20eq%20X'zz'".to_owned(),
            "substringof(a,b)".to_owned(),
            "a%20add%20b%20eq%201".to_owned(),
            "a%20eq".to_owned(),
            "%00".to_owned(),
            "eq%20eq%20eq".to_owned(),
        ];
        let filter = pick(random, &filters);
        (
            self.query(&format!("$filter={filter}")),
            Answer::RefusedOrRead,
        )
    }

    fn option(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let names = vec!["Name"; 1 + random.below(9_000) as usize].join(",");
        let options = [
            "$top=-1".to_owned(),
            "$top=0".to_owned(),
            "$top=99999999999999999999".to_owned(),
            "$top=1&$top=2".to_owned(),
            "$top=%00".to_owned(),
            format!("$select={names}"),
            "$select=%ff".to_owned(),
            "$skip=1".to_owned(),
            "$format=application/xml".to_owned(),
            "NextPartitionKey=%ff%ff&NextRowKey=%00".to_owned(),
            "NextPartitionKey=1!999999999!AAAA".to_owned(),
            "NextRowKey=1!8!cmV3".to_owned(),
            "timeout=-5".to_owned(),
            "timeout=abc".to_owned(),
            "comp=nothing".to_owned(),
            "restype=service&comp=nothing".to_owned(),
            "&&&===&%zz".to_owned(),
            "a=b".repeat(20_000),
        ];
        (
            self.query(pick(random, &options).as_str()),
            Answer::RefusedOrRead,
        )
    }

    fn json(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let deep = 1 + random.below(300_000) as usize;
        let many: String = (0..300).map(|at| format!("\"P{at}\":1,")).collect();
        let long = "x".repeat(70_000);
        let bodies: [Vec<u8>; 20] = [
            vec![b'['; deep],
            [vec![b'['; deep], vec![b']'; deep]].concat(),
            "{\"a\":".repeat(deep).into_bytes(),
            format!("{{{many}\"a\":1}}").into_bytes(),
            format!("{{\"A\":\"{long}\"}}").into_bytes(),
            format!("{{\"{}\":1}}", "n".repeat(300)).into_bytes(),
            b"{\"A\":\"\xff\xfe\"}".to_vec(),
            b"{\"A\":\"\\ud800\"}".to_vec(),
            b"{\"A\":1e99999}".to_vec(),
            format!("{{\"A\":{}}}", "9".repeat(deep.min(100_000))).into_bytes(),
            b"{\"A@odata.type\":\"Edm.Int64\",\"A\":\"abc\"}".to_vec(),
            b"{\"A@odata.type\":\"Edm.Nothing\",\"A\":\"abc\"}".to_vec(),
            b"{\"A@odata.type\":\"Edm.DateTime\",\"A\":\"2024-13-45\"}".to_vec(),
            b"{\"A\":{\"B\":1}}".to_vec(),
            b"{\"A\":[1,2]}".to_vec(),
            b"{} trailing".to_vec(),
            b"\0\0\0\0".to_vec(),
            b"null".to_vec(),
            b"{\"A B\":1}".to_vec(),
            b"{\"A\":1".to_vec(),
        ];
        let path = format!("/{SCRATCH}(PartitionKey='a',RowKey='b')");
        let method = *pick(random, &["PUT", "PATCH", "MERGE"]);
        let bytes = self.write(method, &path, JSON, pick(random, &bodies).as_slice());
        (bytes, Answer::RefusedOrRead)
    }

    /// An insert into the table that must not change, cut anywhere.
    fn cut_json(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let json = br#"{"PartitionKey":"new","RowKey":"new","A@odata.type":"Edm.Int64","A":"12"}"#;
        let end = random.below(json.len() as u64) as usize;
        let bytes = self.write("POST", &format!("/{KEPT}"), JSON, &json[..end]);
        (bytes, Answer::Refused)
    }

    fn xml(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let deep = 1 + random.below(50_000) as usize;
        let many = "<SignedIdentifier><Id>a</Id></SignedIdentifier>".repeat(6);
        let bodies = [
            "<!DOCTYPE a [<!ENTITY b \"c\"><!ENTITY d \"&b;&b;&b;&b;&b;&b;\">]><SignedIdentifiers>&d;</SignedIdentifiers>".to_owned(),
            "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><SignedIdentifiers/>".to_owned(),
            "<a>".repeat(deep),
            format!("{}{}", "<a>".repeat(deep), "</a>".repeat(deep)),
            "<SignedIdentifiers>".to_owned(),
            "<SignedIdentifiers></StorageServiceProperties>".to_owned(),
            format!("<SignedIdentifiers>{many}</SignedIdentifiers>"),
            format!("<SignedIdentifiers><SignedIdentifier><Id>{}</Id></SignedIdentifier></SignedIdentifiers>", "i".repeat(100)),
            "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Expiry>never</Expiry></AccessPolicy></SignedIdentifier></SignedIdentifiers>".to_owned(),
            "<StorageServiceProperties><Logging><Version>9</Version></Logging></StorageServiceProperties>".to_owned(),
            "<StorageServiceProperties><Cors><CorsRule/></Cors></StorageServiceProperties>".to_owned(),
            format!("<a {}>", "b=\"c\" ".repeat(deep)),
            "\u{0}<a/>".to_owned(),
            "&#x110000;".to_owned(),
            "not xml".to_owned(),
        ];
        let (path, query) = *pick(
            random,
            &[
                ("/scratch", "comp=acl"),
                ("/", "restype=service&comp=properties"),
            ],
        );
        let bytes = self.client.encode(&Request {
            query,
            content_type: "application/xml",
            body: pick(random, &bodies).as_bytes(),
            ..Request::new("PUT", path)
        });
        (bytes, Answer::RefusedOrRead)
    }

    fn signature(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let path = format!("/{KEPT}(PartitionKey='p1',RowKey='r0001')");
        let delete = Request {
            headers: &[("If-Match", "*")],
            ..Request::new("DELETE", &path)
        };
        let text = String::from_utf8_lossy(&self.other_key.encode(&delete)).into_owned();
        let line = text.lines().find(|line| line.starts_with("Authorization"));
        let line = line.unwrap_or_default().to_owned();
        let long = format!(
            "Authorization: SharedKey devstoreaccount1:{}",
            "A".repeat(30_000)
        );
        let lines = [
            line.as_str(),
            "Authorization: SharedKey devstoreaccount1:",
            "Authorization: SharedKey devstoreaccount1:!!!!",
            "Authorization: SharedKey :AAAA",
            "Authorization: SharedKey nobodyshome:AAAA",
            "Authorization: SharedKeyLite devstoreaccount1:AAAA",
            "Authorization: Bearer eyJhbGciOiJub25lIn0.e30.",
            "Authorization: Basic YTpi",
            "Authorization: SharedKey",
            "Authorization:",
            "Authorization: \u{ff}\u{fe}",
            "X-Authorization: none",
            long.as_str(),
        ];
        let text = text.replace(&line, pick::<&str>(random, &lines));
        let dates = [
            "yesterday",
            "Mon, 01 Jan 1601 00:00:00 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT",
            "",
        ];
        let text = match (random.below(3), text.split_once("x-ms-date: ")) {
            (0, Some((before, rest))) => {
                let rest = rest.split_once("\r\n").map_or("", |(_, rest)| rest);
                format!("{before}x-ms-date: {}\r\n{rest}", pick(random, &dates))
            }
            _ => text,
        };
        (text.into_bytes(), Answer::Refused)
    }

    fn shared_access(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let bytes = shared_access::delete(&self.account, self.addr, random);
        (bytes, Answer::Refused)
    }

    fn pipeline(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let count = 1 + random.below(60) as usize;
        let mut bytes = Vec::new();
        for _ in 0..count {
            let top = 1 + random.below(3);
            bytes.extend_from_slice(&self.query(&format!("$top={top}&$select=RowKey")));
        }
        match random.below(3) {
            0 => bytes.extend_from_slice(b"\0\0\0 garbage\r\n\r\n"),
            1 => {
                let path = format!("/{KEPT}()");
                bytes.extend_from_slice(&self.other_key.encode(&Request::new("GET", &path)));
            }
            _ => bytes.extend_from_slice(b"GET / HTTP/1.1\r\nbroken\r\n\r\n"),
        }
        (bytes, Answer::All(count))
    }

    /// An ordinary request to the table that may change, with changed bytes.
    fn changed(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let path = format!("/{SCRATCH}(PartitionKey='a',RowKey='b')");
        let mut bytes = match random.below(4) {
            0 => self.write(
                "PUT",
                &path,
                JSON,
                br#"{"A":1,"B":"text","C@odata.type":"Edm.Guid"}"#,
            ),
            1 => self.write(
                "POST",
                &format!("/{SCRATCH}"),
                JSON,
                br#"{"PartitionKey":"a","RowKey":"b"}"#,
            ),
            2 => {
                let body = self.batch_body(SCRATCH, 3);
                self.write("POST", "/$batch", batch::CONTENT_TYPE, body.as_bytes())
            }
            _ => self.query("$filter=PartitionKey%20eq%20'p1'%20and%20Number%20gt%205&$top=3"),
        };
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"\0\r\n :%'{}\xff/"[random.below(11) as usize]),
            }
        }
        // If the length or the end of the head has changed, the server may wait for more bytes.
        (bytes, Answer::Any)
    }

    fn incomplete(&self, random: &mut Random) -> (Vec<u8>, Answer) {
        let body = self.batch_body(KEPT, 3);
        let mut bytes = self.write("POST", "/$batch", batch::CONTENT_TYPE, body.as_bytes());
        bytes.truncate(random.below(bytes.len() as u64) as usize);
        (bytes, Answer::Any)
    }
}
