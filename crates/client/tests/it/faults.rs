//! Tests of retries and errors of the client when a server fails.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::TryStreamExt as _;
use partita_client::{
    AttemptEvent, ClientOptions, Credential, Decision, ETag, Endpoint, Entity, Error, ErrorKind,
    GiveUp, IfMatch, Outcome, QueryOptions, RetryBudget, RetryObserver, RetryPolicy, RetryReason,
    TableClient, TableServiceClient, TransactionAction, UpdateMode,
};
use partita_server::Server;

use crate::faulty_server::{Act, FaultyServer, status};
use crate::server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Records the decision after each attempt.
#[derive(Debug, Default)]
pub(crate) struct Decisions(Mutex<Vec<Decision>>);

impl RetryObserver for Decisions {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let mut decisions = self.0.lock().unwrap();
        let before = decisions.iter().rev();
        let retries = before
            .take_while(|before| matches!(before, Decision::Retry { .. }))
            .count();
        assert_eq!(event.attempt as usize, retries + 1);
        decisions.push(event.decision);
        assert_eq!(event.error.is_none(), event.decision == Decision::Done);
    }
}

impl Decisions {
    pub(crate) fn all(&self) -> Vec<Decision> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) const QUICK: RetryPolicy = RetryPolicy::Fixed {
    retries: 2,
    wait: Duration::from_millis(1),
};

pub(crate) fn quick() -> (ClientOptions, Arc<Decisions>) {
    let decisions = Arc::new(Decisions::default());
    let observer: Arc<dyn RetryObserver> = Arc::clone(&decisions) as _;
    let options = ClientOptions {
        retry: QUICK,
        observer: Some(observer),
        ..ClientOptions::default()
    };
    (options, decisions)
}

pub(crate) fn table(address: std::net::SocketAddr, options: ClientOptions) -> TableClient {
    let endpoint = Endpoint::parse(&format!("http://{address}/devstoreaccount1")).unwrap();
    let key = partita_server::config::WELL_KNOWN_KEY;
    let credential = Credential::shared_key("devstoreaccount1", key).unwrap();
    TableServiceClient::new(endpoint, credential, options)
        .unwrap()
        .table_client("mytable")
}

pub(crate) fn entity() -> Entity {
    let mut entity = Entity::new("p", "r");
    entity
        .insert("A", 1)
        .insert("B", f64::NAN)
        .insert("C", "é'");
    entity
}

pub(crate) fn retry(reason: RetryReason) -> Decision {
    Decision::Retry {
        reason,
        wait: Duration::from_millis(1),
        asked: false,
    }
}

/// A real server with the table, and a failing server in front of it, each with a client.
pub(crate) async fn behind(
    script: impl IntoIterator<Item = Act>,
) -> (Server, TableClient, FaultyServer, TableClient) {
    let real = server::start(&[]).await;
    let straight = table(real.listening().table.unwrap(), ClientOptions::default());
    straight.create().await.unwrap();
    let faulty = FaultyServer::start(script, Some(real.listening().table.unwrap())).await;
    let through = table(faulty.address, quick().0);
    (real, straight, faulty, through)
}

/// The error of an insert on a server with this script, and the client's decisions after its attempts.
pub(crate) async fn failed_insert(script: impl IntoIterator<Item = Act>) -> (Error, Vec<Decision>) {
    let faulty = FaultyServer::start(script, None).await;
    let (options, decisions) = quick();
    let inserted = table(faulty.address, options)
        .create_entity(&entity())
        .await;
    (inserted.unwrap_err(), decisions.all())
}

/// The error of a get on a server with this reaction, and the client's decisions after its attempts.
pub(crate) async fn failed_get(act: Act) -> (Error, Vec<Decision>) {
    let faulty = FaultyServer::start([act], None).await;
    let (options, decisions) = quick();
    let read = table(faulty.address, options).get_entity("p", "r").await;
    (read.unwrap_err(), decisions.all())
}

#[tokio::test]
async fn each_status_is_retried_or_not() {
    for code in [
        400, 401, 403, 404, 405, 408, 409, 411, 412, 413, 415, 429, 500, 501, 502, 503, 504, 505,
        507, 301,
    ] {
        let (error, decisions) = failed_insert([status(code)]).await;
        let retried = [408, 429, 500, 502, 503, 504].contains(&code);
        let expected = if retried {
            let again = retry(RetryReason::Status(code));
            vec![again, again, Decision::GiveUp(GiveUp::AttemptsUsedUp)]
        } else {
            vec![Decision::GiveUp(GiveUp::NotRetried)]
        };
        assert_eq!(decisions, expected, "{code}");
        assert_eq!(
            (error.status(), error.kind()),
            (Some(code), ErrorKind::Service)
        );
        assert_eq!(error.attempts() as usize, expected.len());
        let is_unknown = [408, 500, 502, 504, 505, 507].contains(&code);
        let outcome = if is_unknown {
            Outcome::MayHaveHappened
        } else {
            Outcome::DidNotHappen
        };
        assert_eq!(error.outcome(), outcome, "{code}");
        let (read, _) = failed_get(status(code)).await;
        assert_eq!(
            (read.status(), read.outcome()),
            (Some(code), Outcome::DidNotHappen)
        );
    }
}

#[tokio::test]
async fn an_unknown_outcome_stays_unknown_after_retries() {
    let (error, _) = failed_insert([status(500), status(503)]).await;
    assert_eq!(
        (error.status(), error.outcome()),
        (Some(503), Outcome::MayHaveHappened)
    );
    let (error, _) = failed_insert([status(503), status(429), status(400)]).await;
    assert_eq!(
        (error.status(), error.outcome()),
        (Some(400), Outcome::DidNotHappen)
    );
}

#[tokio::test]
async fn a_write_with_a_refused_connection_did_not_happen() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (options, decisions) = quick();
    let table = table(address, options);
    let error = table.create_entity(&entity()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert_eq!(error.outcome(), Outcome::DidNotHappen);
    let again = retry(RetryReason::Connect);
    assert_eq!(
        decisions.all(),
        [again, again, Decision::GiveUp(GiveUp::AttemptsUsedUp)]
    );
}

#[tokio::test]
async fn broken_connections_are_replaced() {
    let page = Act::Answer(
        "200 OK\r\n".to_owned(),
        "{\"value\":[{\"PartitionKey\":\"p\"}]}".to_owned(),
    );
    let faulty = FaultyServer::start([Act::Close, Act::CloseHalfway, page], None).await;
    let (options, decisions) = quick();
    let pages = table(faulty.address, options)
        .query_page(&QueryOptions::new(), None)
        .await
        .unwrap();
    assert_eq!(pages.entities().unwrap()[0].partition_key(), "p");
    let again = retry(RetryReason::Broken);
    assert_eq!(decisions.all(), [again, again, Decision::Done]);
    let ids: HashSet<String> = faulty
        .heads()
        .iter()
        .map(|head| header(head, "x-ms-client-request-id"))
        .collect();
    assert_eq!(ids.len(), 3);
}

fn header(head: &str, name: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(other, _)| other.eq_ignore_ascii_case(name))
        .unwrap()
        .1
        .to_owned()
}

/// If the client never connected, requests fail soon; if it connected before, they get all retries.
#[tokio::test]
async fn the_first_connection_has_its_own_timeout() {
    for answers in [false, true] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (mut options, decisions) = quick();
        options.first_connection_timeout = Some(Duration::ZERO);
        let table = table(listener.local_addr().unwrap(), options);
        if answers {
            let answer = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let page = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 12\r\n\r\n{\"value\":[]}";
                stream.write_all(page).await.unwrap();
            };
            let options = QueryOptions::new();
            let (page, ()) = tokio::join!(table.query_page(&options, None), answer);
            page.unwrap();
        }
        drop(listener);
        let error = table.query_page(&QueryOptions::new(), None).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Connect);
        let again = retry(RetryReason::Connect);
        let (done, used_up) = (Decision::Done, Decision::GiveUp(GiveUp::AttemptsUsedUp));
        let expected = match answers {
            false => vec![Decision::GiveUp(GiveUp::OutOfTime)],
            true => vec![done, again, again, used_up],
        };
        assert_eq!(decisions.all(), expected);
    }
}

#[tokio::test]
async fn an_empty_budget_ends_retries() {
    let faulty = FaultyServer::start([status(500)], None).await;
    let (mut options, decisions) = quick();
    options.retry_budget = RetryBudget {
        tokens_max: 1.0,
        tokens_per_success: 0.0,
    };
    table(faulty.address, options)
        .get_entity("p", "r")
        .await
        .unwrap_err();
    let given_up = Decision::GiveUp(GiveUp::BudgetUsedUp);
    let again = retry(RetryReason::Status(500));
    assert_eq!(decisions.all(), [again, given_up]);

    let (options, decisions) = quick();
    let none = ClientOptions {
        retry: RetryPolicy::None,
        ..options
    };
    table(faulty.address, none)
        .get_entity("p", "r")
        .await
        .unwrap_err();
    assert_eq!(decisions.all(), [Decision::GiveUp(GiveUp::AttemptsUsedUp)]);
}

#[tokio::test]
async fn invalid_answers_are_not_retried() {
    let cut = Act::Answer("200 OK\r\n".to_owned(), "{\"value\":[{\"A\":1}".to_owned());
    let faulty = FaultyServer::start([cut], None).await;
    let through = table(faulty.address, quick().0);
    let found: Result<Vec<Entity>, Error> = through
        .query_entities(QueryOptions::new())
        .try_collect()
        .await;
    assert_eq!(found.unwrap_err().kind(), ErrorKind::Unreadable);
    assert_eq!(faulty.heads().len(), 1);
    // The transaction may have happened before the server sent its invalid answer.
    let actions = [TransactionAction::Create(entity())];
    let odd = Act::Answer(
        "202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\n".to_owned(),
        "--b".to_owned(),
    );
    let faulty = FaultyServer::start([odd], None).await;
    let error = table(faulty.address, quick().0)
        .submit_transaction(&actions)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Unreadable, Outcome::MayHaveHappened)
    );
}

#[tokio::test]
async fn a_busy_operation_in_a_transaction_is_retried() {
    let part = |status: &str, code: &str| {
        let body = format!(
            "{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"value\":\"1:no\"}}}}}}"
        );
        let part = format!(
            "--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n{body}\r\n--c--\r\n"
        );
        let body =
            format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{part}--b--\r\n");
        Act::Answer(
            "202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\n".to_owned(),
            body,
        )
    };
    let script = [
        part("503 Busy", "ServerBusy"),
        part("409 Conflict", "EntityAlreadyExists"),
    ];
    let faulty = FaultyServer::start(script, None).await;
    let (options, decisions) = quick();
    let actions = ["a", "b"].map(|row_key| TransactionAction::Create(Entity::new("p", row_key)));
    let error = table(faulty.address, options)
        .submit_transaction(&actions)
        .await
        .unwrap_err();
    let given_up = Decision::GiveUp(GiveUp::NotRetried);
    let again = retry(RetryReason::Status(503));
    assert_eq!(decisions.all(), [again, given_up]);
    assert_eq!(
        (error.status(), error.operation_index(), error.message()),
        (Some(409), Some(1), "no")
    );
    assert_eq!(error.outcome(), Outcome::DidNotHappen);
}

#[tokio::test]
async fn invalid_requests_are_not_sent() {
    let faulty = FaultyServer::start([Act::Close], None).await;
    let (options, _) = quick();
    let through = table(faulty.address, options);
    let etag = IfMatch::ETag(ETag::from("a\r\nX: y"));
    let action = TransactionAction::Update(entity(), UpdateMode::Merge, etag.clone());
    let other = TransactionAction::Create(Entity::new("q", "r"));
    let create = TransactionAction::Create(entity());
    let faults = [
        through.submit_transaction(&[]).await.unwrap_err(),
        through
            .submit_transaction(&vec![create.clone(); 101])
            .await
            .unwrap_err(),
        through
            .submit_transaction(&[create, other])
            .await
            .unwrap_err(),
        through.submit_transaction(&[action]).await.unwrap_err(),
        through.delete_entity("p", "r", &etag).await.unwrap_err(),
        through
            .get_entity(&"x".repeat(70_000), "r")
            .await
            .unwrap_err(),
    ];
    for error in faults {
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::Input, Outcome::DidNotHappen),
            "{error}"
        );
    }
    assert!(faulty.heads().is_empty());
}

#[tokio::test]
async fn connections_are_reused() {
    let script = [
        Act::AnswerAndStay,
        Act::AnswerAndStay,
        Act::AnswerAndStay,
        Act::Close,
        Act::AnswerAndStay,
    ];
    let faulty = FaultyServer::start(script, None).await;
    let through = table(faulty.address, quick().0);
    for _ in 0..20 {
        through
            .query_page(&QueryOptions::new(), None)
            .await
            .unwrap();
    }
    // Two connections: the first one, and another one after the server closed it.
    assert_eq!((faulty.heads().len(), faulty.connections()), (21, 2));
}

/// Sends a message at the end of each attempt.
#[derive(Debug)]
pub(crate) struct Ended(pub(crate) tokio::sync::mpsc::Sender<()>);

impl RetryObserver for Ended {
    fn attempt(&self, _: &AttemptEvent<'_>) {
        self.0.try_send(()).unwrap();
    }
}

#[tokio::test]
async fn reading_ahead_requests_the_next_page_before_it_is_polled() {
    let page = |next: &str, row_key: &str| {
        let head = format!("200 OK\r\n{next}");
        let body = format!("{{\"value\":[{{\"PartitionKey\":\"p\",\"RowKey\":\"{row_key}\"}}]}}");
        Act::Answer(head, body)
    };
    let next = "x-ms-continuation-NextPartitionKey: a\r\n";
    for ahead in [true, false] {
        let faulty = FaultyServer::start([page(next, "1"), page("", "2")], None).await;
        let (sender, mut ended) = tokio::sync::mpsc::channel(8);
        let observer: Arc<dyn RetryObserver> = Arc::new(Ended(sender));
        let options = ClientOptions {
            observer: Some(observer),
            ..quick().0
        };
        let query = if ahead {
            QueryOptions::new().read_ahead()
        } else {
            QueryOptions::new()
        };
        let mut rows = table(faulty.address, options).query_entities(query);
        assert_eq!(rows.try_next().await.unwrap().unwrap().row_key(), "1");
        ended.recv().await.unwrap();
        if ahead {
            // The client requests the second page before the stream is polled for it.
            let second = tokio::time::timeout(Duration::from_secs(30), ended.recv()).await;
            second.unwrap().unwrap();
        }
        assert_eq!(faulty.heads().len(), if ahead { 2 } else { 1 });
        let rest: Vec<Entity> = rows.try_collect().await.unwrap();
        assert_eq!((rest.len(), faulty.heads().len()), (1, 2));
        assert!(faulty.heads()[1].contains("NextPartitionKey=a "));
    }
}
