//! Deletes with a shared access signature that does not permit them.

use std::net::SocketAddr;

use partita_bench::Account;
use partita_load::Random;

use super::{KEPT, pick};

/// The terms in the order in which they are signed. The table (`tn`) is not among them: the signed text has it as the
/// resource after `se`.
const TERMS: [&str; 12] = [
    "sp", "st", "se", "tn", "si", "sip", "spr", "sv", "spk", "srk", "epk", "erk",
];

/// Terms that exclude the delete although it is among the permissions: another table, time, address, protocol or key, an
/// unknown policy, a row without a partition.
const EXCLUDING: [(&str, &str); 9] = [
    ("se", "2001-01-01T00:00:00Z"),
    ("st", "2098-01-01T00:00:00Z"),
    ("tn", "scratch"),
    ("sip", "1.2.3.4"),
    ("spr", "https"),
    ("spk", "p2"),
    ("epk", "p0"),
    ("si", "nothere"),
    ("srk", "r"),
];

const VALUES: [&str; 15] = [
    "",
    "r",
    "raud",
    "zz",
    "2001-01-01T00:00:00Z",
    "2098-01-01",
    "0.0.0.0",
    "https",
    "p1",
    "p3",
    "nothere",
    "9999-99-99",
    "\u{e9}",
    "a-b-c",
    "1.2.3.4-5",
];

/// Terms that are given a second time.
const REPEATED: [&str; 5] = ["sig=AAAA", "sp=raud", "se=2099-01-01", "tn=scratch", "sv="];

/// A delete of a row that must not change.
pub(super) fn delete(account: &Account, addr: SocketAddr, random: &mut Random) -> Vec<u8> {
    let mut terms = TERMS.map(|name| (name, ""));
    let mut set = |name: &str, value: &'static str| {
        for term in terms.iter_mut().filter(|term| term.0 == name) {
            term.1 = value;
        }
    };
    set("se", "2099-01-01T00:00:00Z");
    set("tn", KEPT);
    set("sv", "2019-02-02");
    if random.chance(50) {
        set("sp", "raud");
        let (name, value) = *pick(random, &EXCLUDING);
        set(name, value);
    } else {
        set("sp", "r");
        // Changes any term but the permissions (`sp`).
        set(
            pick::<&str>(random, &TERMS[1..]),
            pick::<&str>(random, &VALUES),
        );
    }
    let signed = terms.map(|(name, value)| match name {
        "tn" => format!("/table/{}/{}", account.name(), value.to_lowercase()),
        _ => value.to_owned(),
    });
    let signature = match random.below(6) {
        0 => "AAAA".to_owned(),
        1 => String::new(),
        _ => account.sign_text(&signed.join("\n")),
    };
    let terms = terms.iter().filter(|(_, value)| !value.is_empty());
    let terms = terms.map(|(name, value)| format!("{name}={}", escape(value)));
    let mut query: Vec<String> = terms.collect();
    query.push(format!("sig={}", escape(&signature)));
    if random.chance(20) {
        query.push((*pick(random, &REPEATED)).to_owned());
    }
    let text = format!(
        "DELETE /{}/{KEPT}(PartitionKey='p1',RowKey='r0001')?{} HTTP/1.1\r\nHost: {addr}\r\nIf-Match: *\r\n\
         x-ms-version: 2019-02-02\r\n\r\n",
        account.name(),
        query.join("&"),
    );
    text.into_bytes()
}

/// Percent-encodes what a query needs encoded.
fn escape(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b':' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    bytes.collect()
}
