//! Partita's extensions: rename, truncate, time to live.

use crate::server;
use futures::TryStreamExt as _;
use partita_client::{Entity, QueryOptions, TableClient, TableServiceClient, TimeToLive};

async fn rows(table: &TableClient) -> Vec<String> {
    let rows: Vec<Entity> = table
        .query_entities(QueryOptions::new())
        .try_collect()
        .await
        .unwrap();
    rows.iter().map(|row| row.row_key().to_owned()).collect()
}

#[tokio::test]
async fn a_table_is_renamed_truncated_and_expires() {
    let server = server::start(&[]).await;
    let client =
        TableServiceClient::from_connection_string(&server::connection_string(&server)).unwrap();
    let table = client.create_table("People").await.unwrap();
    table.create_entity(&Entity::new("p", "r")).await.unwrap();

    let ttl = Some(TimeToLive::from_seconds(3_600).unwrap());
    table.set_time_to_live(ttl).await.unwrap();
    let renamed = table.rename("Folk").await.unwrap();
    let settings = renamed.settings().await.unwrap().unwrap();
    assert_eq!((settings.name.as_str(), settings.ttl), ("Folk", ttl));
    assert_eq!(rows(&renamed).await, ["r"]);
    let missing = table.settings().await.unwrap_err();
    assert_eq!(missing.status(), Some(404));
    let taken = renamed.rename("Folk!").await.unwrap_err();
    assert_eq!(taken.status(), Some(400));

    renamed.truncate().await.unwrap();
    assert_eq!(rows(&renamed).await, [""; 0]);
    renamed.set_time_to_live(None).await.unwrap();
    assert_eq!(renamed.settings().await.unwrap().unwrap().ttl, None);
    server.stop().await;
}
