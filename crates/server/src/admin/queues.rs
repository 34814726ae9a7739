//! `/admin/v1/queues`: the fullest queues. `docs/admin-api.md` lists the fields.

use hyper::StatusCode;
use partita_queue::QueueReport;
use partita_wire::admin::{QueueSummary, Queues};

use super::answer::{Answer, Answered};
use super::params::Params;
use crate::status::OpenStore;

/// The default number of queues in the answer.
const LIMIT: usize = 20;
/// The maximum number of queues in the answer.
const LIMIT_MAX: usize = 1_000;

/// The queues with the most messages.
pub(super) async fn list(store: &OpenStore, query: Option<&str>) -> Answered {
    Answer::ok(&fullest(store, limit(query)?).await?)
}

/// How many queues are asked for.
pub(super) fn limit(query: Option<&str>) -> Result<usize, Answer> {
    let params = Params::new(query, &["limit"])?;
    Ok(params.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT))
}

/// The fullest queues of this server.
pub(super) async fn fullest(store: &OpenStore, limit: usize) -> Result<Queues, Answer> {
    let reports = store.queues.queue_reports(limit).await;
    let (reports, all) = reports.map_err(|error| {
        Answer::refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", error.to_string())
    })?;
    Ok(Queues {
        queues: reports.into_iter().map(summary).collect(),
        total: all as u64,
        silent: None,
    })
}

fn summary(report: QueueReport) -> QueueSummary {
    let age = report.next_message_age;
    QueueSummary {
        account: report.account,
        queue: report.queue,
        messages: report.messages,
        next_message_age_seconds: age.map(|age| age.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Heated, ask, documented};
    use bytes::Bytes;
    use partita_model::{AccountName, Metadata, QueueName};
    use partita_queue::PutMessage;
    use partita_wire::admin::{Hot, Queues};
    use std::time::Duration;

    #[tokio::test]
    async fn queues_are_listed_and_named_where_they_are_hot() {
        let heated = Heated::start(None).await;
        let (_, none) = heated.get("/admin/v1/queues").await;
        assert_eq!(none["total"], 0);

        let store = heated.server.status().open().unwrap();
        let account = AccountName::new("devstoreaccount1").unwrap();
        let name = QueueName::new("work").unwrap();
        let created = store
            .queues
            .create_queue(&account, &name, Metadata::default());
        created.await.unwrap();
        let queue = store.queues.queue(&account, &name).await.unwrap();
        for _ in 0..50 {
            let message = PutMessage {
                text: Bytes::from_static(b"x"),
                visibility_timeout: Duration::ZERO,
                time_to_live: None,
            };
            store.queues.put_message(&queue, message).await.unwrap();
        }

        let (status, queues) = heated.get("/admin/v1/queues?limit=5").await;
        documented::<Queues>(&queues);
        assert_eq!((status, &queues["total"]), (200, &1.into()));
        let [first] = &queues["queues"].as_array().unwrap()[..] else {
            panic!("{queues}");
        };
        assert_eq!(
            (&first["queue"], &first["messages"]),
            (&"work".into(), &50.into())
        );
        assert!(first["next_message_age_seconds"].as_f64().unwrap() >= 0.0);

        let (_, hot) = heated.get("/admin/v1/hot").await;
        documented::<Hot>(&hot);
        assert_eq!(hot["partitions"][0]["partition"]["queue"], "work");
        let (_, metrics) = ask(heated.admin, "GET /metrics").await;
        let line = r#"partita_queue_messages{account="devstoreaccount1",queue="work"} 50"#;
        assert!(metrics.contains(line), "{metrics}");
    }
}
