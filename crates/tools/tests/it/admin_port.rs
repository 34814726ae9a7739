//! Tests the client of the admin port on a real server: pages, actions and errors.

use crate::server;
use partita_client::TableServiceClient;
use partita_server::Server;
use partita_tools::admin::{AdminError, AdminOptions, AdminPort, HeatQuery, HeatRows};
use partita_tools::split_points;
use partita_wire::admin::{ActionDone, HeatMetric, RangeActionParams, ServerState, SplitResult};
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
    (
        server,
        AdminPort::new(&url, AdminOptions::default(), Arc::default()).unwrap(),
    )
}

#[tokio::test]
async fn every_page_is_read() {
    let (server, port) = started().await;
    let status = port.status().await.unwrap().document;
    assert_eq!(
        (status.state, &*status.store.kind),
        (ServerState::Ready, "memory")
    );
    assert!(status.requests.total >= 11 && !status.version.is_empty());
    assert_eq!(status.ranges.unwrap().count, 1);

    let hot = port.hot(3).await.unwrap().document;
    let first = hot.partitions[0].partition.as_ref().unwrap();
    assert_eq!(first.to_string(), "people 'half'");
    assert!(hot.partitions[0].share > 0.1 && hot.partitions.len() == 3);
    assert_eq!(hot.splits[0].range, 1);

    let query = HeatQuery {
        to: None,
        last_seconds: 60,
        step_seconds: 10,
        metric: HeatMetric::Requests,
        table: None,
        by: HeatRows::Ranges,
        rows: 8,
    };
    let heat = port.heat(&query).await.unwrap().document;
    assert_eq!((heat.step_seconds, &*heat.metric), (10, "requests"));
    let columns = heat.columns;
    assert!(heat.rows.iter().all(|row| row.values().len() == columns));
    server.stop().await;
}

#[tokio::test]
async fn changed_ranges_give_new_split_points() {
    let (server, port) = started().await;
    let params = RangeActionParams {
        account: Some("devstoreaccount1".to_owned()),
        table: Some("people".to_owned()),
        partition_key: Some("O'Brien, \"Miles\"".to_owned()),
        ..RangeActionParams::default()
    };
    let split = port.range_action::<SplitResult>(1, "split", &params).await;
    assert_eq!(split.unwrap().document.left, 2);
    let ranges = port.ranges().await.unwrap().document;
    let start = ranges.ranges[1].start.as_ref().unwrap();
    assert_eq!(start.to_string(), "people 'O''Brien, \"Miles\"'");
    assert_eq!(ranges.ranges[0].end.as_ref(), Some(start));
    let points = split_points(&port.to_string(), &[], "devstoreaccount1", "People")
        .await
        .unwrap();
    assert_eq!(points, ["O'Brien, \"Miles\""]);

    let nothing = RangeActionParams::default();
    let refused = port.range_action::<ActionDone>(1, "flush", &nothing).await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(&refused, AdminError::Refused { status: 404, code, .. } if code == "NoSuchRange"),
        "{refused}"
    );
    let table_port = format!("http://{}", server.listening().table.unwrap());
    let table_port = AdminPort::new(&table_port, AdminOptions::default(), Arc::default()).unwrap();
    let unknown = table_port.ranges().await.unwrap_err();
    assert!(matches!(unknown, AdminError::UnknownPage(_)), "{unknown}");
    server.stop().await;
    let gone = port.ranges().await.unwrap_err();
    assert!(matches!(gone, AdminError::Unreachable { .. }), "{gone}");
}
