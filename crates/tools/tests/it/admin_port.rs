//! What is read of a real admin port.

use crate::server;
use partita_client::TableServiceClient;
use partita_server::Server;
use partita_tools::admin::{AdminError, AdminPort, Heat, Hot, Ranges, Status};
use partita_tools::split_points;
use std::sync::Arc;

/// A server with an admin port on a free port, and a table of ten partitions.
async fn started() -> (Server, AdminPort) {
    let mut settings = server::settings(&[]);
    settings.admin.port = Some(0);
    let server = Server::start(settings).await.unwrap();
    let text = server::connection_string(&server);
    let client = TableServiceClient::from_connection_string(&text).unwrap();
    crate::tables::table(&client, "people", &crate::tables::rows(40)).await;
    let url = format!("http://{}", server.listening().admin.unwrap());
    (server, AdminPort::new(&url, Arc::default()).unwrap())
}

#[tokio::test]
async fn every_page_says_what_is_read_of_it() {
    let (server, port) = started().await;
    let status: Status = port.page("/admin/v1/status").await.unwrap().read().unwrap();
    assert_eq!((&*status.state, &*status.store.kind), ("ready", "memory"));
    assert!(status.requests.total >= 11 && !status.version.is_empty());
    assert_eq!(status.ranges.unwrap().count, 1);

    let hot: Hot = port
        .page("/admin/v1/hot?limit=3")
        .await
        .unwrap()
        .read()
        .unwrap();
    let first = hot.partitions[0].partition.as_ref().unwrap();
    assert_eq!(first.to_string(), "people 'half'");
    assert!(hot.partitions[0].share > 0.1 && hot.partitions.len() == 3);
    assert_eq!(hot.splits[0].range, 1);

    let heat: Heat = port
        .page("/admin/v1/heat?last=60&step=10")
        .await
        .unwrap()
        .read()
        .unwrap();
    assert_eq!((heat.step_seconds, &*heat.metric), (10, "requests"));
    assert!(heat.rows.iter().all(|row| row.values.len() == heat.columns));
    server.stop().await;
}

#[tokio::test]
async fn ranges_are_changed_and_seen_as_split_points() {
    let (server, port) = started().await;
    let wish =
        r#"{"account":"devstoreaccount1","table":"people","partition_key":"O'Brien, \"Miles\""}"#;
    port.act(1, "split", wish).await.unwrap();
    let ranges: Ranges = port.page("/admin/v1/ranges").await.unwrap().read().unwrap();
    let start = ranges.ranges[1].start.as_ref().unwrap();
    assert_eq!(start.to_string(), "people 'O''Brien, \"Miles\"'");
    assert_eq!(ranges.ranges[0].end.as_ref(), Some(start));
    let points = split_points(&port.to_string(), "devstoreaccount1", "People")
        .await
        .unwrap();
    assert_eq!(points, ["O'Brien, \"Miles\""]);

    let refused = port.act(1, "flush", "").await.unwrap_err();
    assert!(
        matches!(&refused, AdminError::Refused { status: 404, code, .. } if code == "NoSuchRange"),
        "{refused}"
    );
    let strange = port.page("/admin/v9/ranges").await.unwrap_err();
    assert!(matches!(strange, AdminError::Strange(_)), "{strange}");
    server.stop().await;
    let gone = port.page("/admin/v1/ranges").await.unwrap_err();
    assert!(matches!(gone, AdminError::Unreachable { .. }), "{gone}");
}
