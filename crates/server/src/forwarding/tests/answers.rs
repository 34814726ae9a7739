//! The same requests, directly and through another server: the same answers.

use super::script::{By, Step};
use super::*;
use crate::Server;
use crate::config::tests::from_flags;
use crate::metrics::ForwardOutcome;
use partita_wire::ServiceKind;
use std::net::SocketAddr;

/// Sends the requests of a script, and returns each with its answer.
async fn run(steps: Vec<Step>, address: SocketAddr) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let mut message = String::new();
    for step in steps {
        let path = step.path.replace("{message}", &message);
        let mut headers: Vec<(String, String)> = step
            .headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let target = match step.by {
            By::Sas => with_sas(step.service, &path),
            By::Path => format!("/{ACCOUNT}{path}"),
            By::Key => {
                let signed = signed(step.service, step.method, &path, &step.headers, &step.body);
                headers = signed;
                format!("/{ACCOUNT}{path}")
            }
        };
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        let bytes = request(step.method, &target, &headers, &step.body, "close");
        let answer = exchange(address, &bytes).await;
        if let Some(found) = message_of(&answer) {
            message = found;
        }
        answers.push((format!("{} {path}", step.method), answer));
    }
    answers
}

/// The id of the message in an answer, with its receipt as it stands in a query.
fn message_of(answer: &str) -> Option<String> {
    let receipt = element(answer, "PopReceipt")?;
    let receipt = receipt
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    Some(format!(
        "{}?popreceipt={receipt}",
        element(answer, "MessageId")?
    ))
}

fn element<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = answer.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0)
}

/// An answer without what differs from one execution to the next: numbers after the status (times, sizes of times), ids,
/// receipts, and the token that has a time.
fn normal(answer: &str) -> String {
    let (status, rest) = answer.split_once("\r\n").unwrap();
    let mut rest = rest.to_owned();
    let mut blank = |from: &str, to: &str| {
        let mut at = 0;
        while let Some(found) = rest[at..].find(from) {
            let begin = at + found + from.len();
            let end = begin + rest[begin..].find(to).unwrap();
            rest.replace_range(begin..end, "…");
            at = begin;
        }
    };
    blank("<PopReceipt>", "<");
    blank("x-ms-popreceipt: ", "\r\n");
    blank("x-ms-continuation-nexttablename: ", "\r\n");
    blank("date: ", "\r\n");
    let mut text = String::new();
    while let Some(c) = rest.chars().next() {
        let (taken, put) = match rest.get(..36) {
            Some(guid) if partita_model::Guid::parse(guid).is_ok() => (36, "GUID"),
            _ => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        text.push_str(put);
        rest.drain(..taken);
    }
    let mut normal = format!("{status}\r\n");
    for c in text.chars() {
        match c {
            '0'..='9' if normal.ends_with('#') => {}
            '0'..='9' => normal.push('#'),
            c => normal.push(c),
        }
    }
    normal
}

/// Runs a script on a server of its own, on the owner's port and on the port of a server that forwards.
async fn compare(service: ServiceKind, script: impl Fn() -> Vec<Step>) {
    let flags = [
        ("in-memory", "true"),
        ("table-port", "0"),
        ("admin-port", "0"),
    ];
    let alone = Server::start(from_flags(&flags)).await.unwrap();
    let address = match service {
        ServiceKind::Queue => alone.listening().queue.unwrap(),
        _ => alone.listening().table.unwrap(),
    };
    let expected = run(script(), address).await;
    alone.stop().await;
    for is_forwarded in [false, true] {
        let (_map, front, owner) = front_and_owner().await;
        let asked = if is_forwarded { &front } else { &owner };
        let address = match service {
            ServiceKind::Queue => asked.queues(),
            _ => asked.tables(),
        };
        let answers = run(script(), address).await;
        for ((request, expected), (_, answer)) in expected.iter().zip(&answers) {
            assert_eq!(
                normal(answer),
                normal(expected),
                "{request}, forwarded: {is_forwarded}"
            );
        }
        let forwarded = front.outcomes(ForwardOutcome::Answered);
        assert_eq!(forwarded > script().len() as u64 / 2, is_forwarded);
        front.stop().await;
        owner.stop().await;
    }
}

#[tokio::test]
async fn tables_answer_the_same_through_another_server() {
    compare(ServiceKind::Table, script::tables).await;
}

#[tokio::test]
async fn queues_answer_the_same_through_another_server() {
    compare(ServiceKind::Queue, script::queues).await;
}

/// The address of the client, not of the server that forwards, decides about a SAS with addresses.
#[tokio::test]
async fn the_owner_sees_the_client_as_the_front_does() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    for (addresses, expected) in [("127.0.0.1", 200), ("10.0.0.1", 403)] {
        let sas = partita_wire::AccountSasTerms {
            permissions: "r".to_owned(),
            resource_types: "o".to_owned(),
            terms: partita_wire::SasTerms {
                addresses: Some(addresses.to_owned()),
                ..terms()
            },
        };
        let sas = sas.sign(ACCOUNT, &key(), ServiceKind::Table);
        let target = format!("/{ACCOUNT}/Tab()?{sas}");
        let answer = exchange(front.tables(), &request("GET", &target, &[], b"", "close")).await;
        assert_eq!(status(&answer), expected, "{answer}");
    }
    front.stop().await;
    owner.stop().await;
}
