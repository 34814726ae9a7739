//! Tests that observers get the reason why a server is busy.

use crate::server;
use partita_client::{
    AttemptEvent, ClientOptions, Entity, RetryObserver, RetryPolicy, TableServiceClient,
    TransactionAction,
};
use std::sync::{Arc, Mutex};

/// Status and reason of each attempt.
#[derive(Debug, Default)]
struct Reasons(Mutex<Vec<(Option<u16>, Option<String>)>>);

impl RetryObserver for Reasons {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let reason = event.busy_reason.map(str::to_owned);
        self.0.lock().unwrap().push((event.status, reason));
    }
}

#[tokio::test]
async fn observers_get_the_reason_of_a_refusal() {
    let server = server::start(&[("target-partition-entities", "20")]).await;
    let reasons = Arc::new(Reasons::default());
    let options = ClientOptions {
        retry: RetryPolicy::None,
        observer: Some(Arc::<Reasons>::clone(&reasons)),
        ..ClientOptions::default()
    };
    let text = server::connection_string(&server);
    let service = TableServiceClient::from_connection_string_with(&text, options).unwrap();
    let table = service.create_table("busy").await.unwrap();
    // The server admits a transaction of 100 rows, which exhausts the partition's target for 4 s.
    let rows = (0..100).map(|row| TransactionAction::Create(Entity::new("hot", row.to_string())));
    let rows: Vec<_> = rows.collect();
    table.submit_transaction(&rows).await.unwrap();
    let refused = table.get_entity("hot", "1").await.unwrap_err();
    assert_eq!(refused.status(), Some(503));
    let seen = reasons.0.lock().unwrap().clone();
    let busy = (Some(503), Some("partition-target".to_owned()));
    assert_eq!(seen[2..], [busy], "{seen:?}");
    assert!(
        seen[..2].iter().all(|(_, reason)| reason.is_none()),
        "{seen:?}"
    );
    server.stop().await;
}
