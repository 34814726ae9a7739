//! Tests of shared access signatures, bearer tokens and TLS.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use partita_client::{
    AccountSasTerms, ClientOptions, Credential, DateTime, Endpoint, Entity, EntityPosition,
    ErrorCode, ErrorKind, QueryOptions, Rotating, SasTerms, TableSasTerms, TableServiceClient,
    TokenError, TokenProvider, TransactionAction, UpdateMode,
};

use partita_server::Server;

use crate::faulty_server::{FaultyServer, status};
use crate::on_the_server::{everything, filled, properties, started};
use crate::server;

fn until_2999() -> SasTerms {
    SasTerms {
        expiry: Some(DateTime::parse("2999-01-01T00:00:00Z").unwrap()),
        ..SasTerms::default()
    }
}

#[tokio::test]
async fn signatures_grant_only_what_they_permit() {
    let (server, client) = started().await;
    let table = client.create_table("signed").await.unwrap();
    filled(&table).await;
    let with_sas = |sas: &str| {
        let endpoint = client.endpoint().clone();
        TableServiceClient::new(endpoint, Credential::sas(sas), ClientOptions::default()).unwrap()
    };
    let account = AccountSasTerms {
        permissions: "rl".to_owned(),
        resource_types: "so".to_owned(),
        terms: until_2999(),
    };
    let reader = with_sas(&client.generate_sas(&account).unwrap());
    let names: Vec<String> = reader.list_tables().try_collect().await.unwrap();
    assert_eq!(names, ["signed"]);
    let error = reader
        .table_client("signed")
        .create_entity(&Entity::new("p", "r"))
        .await
        .unwrap_err();
    assert_eq!(
        error.code(),
        Some(ErrorCode::AuthorizationPermissionMismatch)
    );
    assert_eq!(
        reader.generate_sas(&account).unwrap_err().kind(),
        ErrorKind::Credential
    );

    let position = |partition_key: &str| {
        Some(EntityPosition {
            partition_key: partition_key.to_owned(),
            row_key: None,
        })
    };
    let terms = TableSasTerms {
        table: String::new(),
        permissions: "raud".to_owned(),
        terms: until_2999(),
        policy_id: None,
        low: position("p1"),
        high: position("p2"),
    };
    let guest = with_sas(&table.generate_sas(&terms).unwrap()).table_client("SIGNED");
    let seen: Vec<Entity> = guest
        .query_entities(QueryOptions::new().page_size(4))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(seen.len(), 10);
    let inside = TransactionAction::Upsert(Entity::new("p1", "new"), UpdateMode::Merge);
    guest.submit_transaction(&[inside]).await.unwrap();
    let error = guest
        .upsert_entity(&Entity::new("p3", "new"), UpdateMode::Merge)
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(403));

    let wrong = Credential::shared_key("devstoreaccount1", "d3Jvbmc=").unwrap();
    let intruder =
        TableServiceClient::new(client.endpoint().clone(), wrong, ClientOptions::default())
            .unwrap();
    let error = intruder
        .table_client("signed")
        .get_entity("p1", "r1")
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.attempts()),
        (Some(ErrorCode::AuthenticationFailed), 1)
    );
    server.stop().await;
}

/// Provides this token, or fails if it is `None`. The server's basic mode does not check signatures of tokens.
#[derive(Debug)]
struct Tokens(Option<&'static str>);

impl TokenProvider for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<String, TokenError>> {
        let token = self
            .0
            .map(str::to_owned)
            .ok_or_else(|| TokenError::from("not logged in"));
        async { token }.boxed()
    }
}

/// A token without signature: `{"alg":"none"}`, then issuer
/// `https://sts.windows.net/00000000-0000-0000-0000-000000000000/`, audience `https://storage.azure.com`, and times
/// from 1970 to 2999.
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL3N0cy53aW5kb3dzLm5ldC8wMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDAvIiwiYXVkIjoiaHR0cHM6Ly9zdG9yYWdlLmF6dXJlLmNvbSIsIm5iZiI6MCwiaWF0IjowLCJleHAiOjMyNDcyMTQ0MDAwfQ.eA";

/// The data directory of a server with TLS and tokens, the server, its connection string, and its certificate
/// authority.
pub(crate) async fn started_with_tls() -> (tempfile::TempDir, Server, String, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let server = server::start(&[
        ("location", directory.path().to_str().unwrap()),
        ("in-memory", "false"),
        ("tls", "dev"),
        ("oauth", "basic"),
    ])
    .await;
    let pem = std::fs::read(server.authority().unwrap()).unwrap();
    let text = server::connection_string(&server).replace("http://", "https://");
    (directory, server, text, pem)
}

#[tokio::test]
async fn clients_trust_only_known_authorities() {
    let (_directory, server, text, pem) = started_with_tls().await;
    let trusting = ClientOptions {
        authorities_pem: vec![pem],
        ..ClientOptions::default()
    };
    let client = TableServiceClient::from_connection_string_with(&text, trusting.clone()).unwrap();
    let table = client.create_table("secret").await.unwrap();
    let sent = everything("r");
    table.create_entity(&sent).await.unwrap();
    let read = table.get_entity(sent.partition_key(), "r").await.unwrap();
    assert_eq!(properties(&read), properties(&sent));
    table
        .submit_transaction(&[TransactionAction::Upsert(sent, UpdateMode::Replace)])
        .await
        .unwrap();

    // With an untrusted certificate, the handshake fails and is not retried.
    let strict = ClientOptions {
        authorities_pem: vec![untrusted_authority()],
        ..ClientOptions::default()
    };
    let client = TableServiceClient::from_connection_string_with(&text, strict).unwrap();
    let error = client.create_table("never").await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Tls, 1));
    assert_eq!(error.outcome(), partita_client::Outcome::DidNotHappen);

    let endpoint = Endpoint::parse(&format!(
        "https://{}/devstoreaccount1",
        server.listening().table.unwrap()
    ))
    .unwrap();
    let with_token = |token| {
        let credential = Credential::Token(Arc::new(Tokens(token)));
        TableServiceClient::new(endpoint.clone(), credential, trusting.clone()).unwrap()
    };
    let names: Vec<String> = with_token(Some(TOKEN))
        .list_tables()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(names, ["secret"]);
    let error = with_token(None).create_table("never").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.status()),
        (ErrorKind::Credential, None)
    );
    let error = with_token(Some("x"))
        .create_table("never")
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(401));
    server.stop().await;
}

/// A self-signed certificate that no server uses, so trusting it does not help.
pub(crate) fn untrusted_authority() -> Vec<u8> {
    rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])
        .unwrap()
        .cert
        .pem()
        .into_bytes()
}

#[tokio::test]
async fn tokens_need_https_or_the_local_machine() {
    let endpoint = Endpoint::parse("http://tables.example/account").unwrap();
    let credential = Credential::Token(Arc::new(Tokens(Some("secret"))));
    let refused = TableServiceClient::new(endpoint, credential, ClientOptions::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Credential);
}

#[tokio::test]
async fn a_key_is_replaced_in_use() {
    let server = server::start(&[]).await;
    let url = format!(
        "http://{}/devstoreaccount1",
        server.listening().table.unwrap()
    );
    let key = |key: &str| Credential::shared_key("devstoreaccount1", key).unwrap();
    let rotating = Rotating::new(key("b2xkIGtleQ=="));
    let credential = Credential::Rotating(rotating.clone());
    let endpoint = Endpoint::parse(&url).unwrap();
    let service = TableServiceClient::new(endpoint, credential, ClientOptions::default()).unwrap();
    let error = service.create_table("mytable").await.unwrap_err();
    assert_eq!(error.status(), Some(403));
    rotating.set(key(partita_server::config::WELL_KNOWN_KEY));
    service.create_table("mytable").await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn reads_go_to_the_secondary_and_writes_to_the_primary() {
    let faulty = FaultyServer::start([status(404)], None).await;
    let text = format!(
        "AccountName=acct;AccountKey=a2V5;TableEndpoint=http://{0}/acct;TableSecondaryEndpoint=http://{0}/other",
        faulty.address
    );
    let service = TableServiceClient::from_connection_string(&text).unwrap();
    let table = service.table_client("mytable").on_secondary();
    table.get_entity("p", "r").await.unwrap_err();
    table
        .query_page(&QueryOptions::new(), None)
        .await
        .unwrap_err();
    table
        .create_entity(&Entity::new("p", "r"))
        .await
        .unwrap_err();
    let heads = faulty.heads();
    let starts = ["GET /other/", "GET /other/", "POST /acct/"];
    for (head, start) in heads.iter().zip(starts) {
        assert!(head.starts_with(start), "{head}");
    }
    assert_eq!(heads.len(), 3);
}
