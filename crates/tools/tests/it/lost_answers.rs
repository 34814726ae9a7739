//! Tests transfers that lose the answers to writes, although the server has executed the writes.

use crate::lossy::lossy;
use crate::server;
use crate::tables::{assert_same, reader, rows, silent, started, table};
use partita_client::{ClientOptions, RetryBudget, RetryPolicy, TableServiceClient};
use partita_tools::transfer::{Mode, WriteOptions, copy};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Copies a table through the proxy in three modes. Asserts that the copy equals the source, and that at least
/// `lost_min` answers were lost.
async fn copies(retry: RetryPolicy, jobs: usize, is_lost: fn(usize) -> bool, lost_min: usize) {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(1000)).await;
    let direct = server::connection_string(&server);
    for mode in [Mode::Insert, Mode::Replace, Mode::SkipExisting] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lost = Arc::new(AtomicUsize::new(0));
        let mut proxy = JoinSet::new();
        proxy.spawn(lossy(
            server.listening().table.unwrap(),
            listener,
            is_lost,
            Arc::clone(&lost),
        ));
        let text = direct.replace(
            &server.listening().table.unwrap().to_string(),
            &address.to_string(),
        );
        let options = ClientOptions {
            retry,
            retry_budget: RetryBudget::UNBOUNDED,
            ..ClientOptions::default()
        };
        let through = TableServiceClient::from_connection_string_with(&text, options).unwrap();
        let target = client.create_table("target").await.unwrap();
        let options = WriteOptions {
            mode,
            create_table: false,
            jobs,
            ..WriteOptions::default()
        };
        let through = through.table_client("target");
        copy(&reader(&source, 100), &through, &options, &silent())
            .await
            .unwrap();
        assert!(
            lost.load(Ordering::SeqCst) >= lost_min,
            "enough answers are lost"
        );
        assert_same(&source, &target, 1000).await;
        target.delete().await.unwrap();
    }
    server.stop().await;
}

/// The client retries writes, and recognises that an earlier attempt has succeeded.
#[tokio::test]
async fn lost_answers_do_not_lose_rows() {
    let retry = RetryPolicy::Fixed {
        retries: 20,
        wait: Duration::ZERO,
    };
    copies(retry, 3, |answer| answer % 4 == 1, 5).await;
}

/// Without retries, the client reports an unknown outcome, and the transfer must find out what was written. Each round
/// loses the answer to another request.
#[tokio::test]
async fn an_unknown_outcome_is_resolved() {
    copies(RetryPolicy::None, 1, |answer| answer == 2, 1).await;
    copies(RetryPolicy::None, 1, |answer| answer == 0, 1).await;
}
