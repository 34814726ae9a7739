// Servers with tables, and rows to fill them, for tests, which include this file as a module.

use crate::server;
use partita_client::{
    DateTime, Entity, Guid, TableClient, TableServiceClient, TransactionAction, UpdateMode, Value,
};
use partita_server::Server;

/// A server and its client.
pub(crate) async fn started() -> (Server, TableServiceClient) {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let client = TableServiceClient::from_connection_string(&text).unwrap();
    (server, client)
}

/// Rows with unusual keys, several types for one property, and one large and many small partitions.
pub(crate) fn rows(count: usize) -> Vec<Entity> {
    let partitions = [
        "",
        "O'Brien, \"Miles\"",
        "a b%+&=;:@",
        "é\u{D7FF}",
        "\u{10000}",
        "\u{1F600}x",
        "\u{FFFD}",
        "\u{FFFF}",
        "zzz",
    ];
    let row = |at: usize| {
        // The partition "half" has half of the rows.
        let partition = if at.is_multiple_of(2) {
            "half"
        } else {
            partitions[at / 2 % partitions.len()]
        };
        let mut entity = Entity::new(partition, format!("{:06}'\u{10FFFF}", at * 7919 % count));
        entity.insert("N", i32::try_from(at).unwrap());
        let value = match at % 11 {
            0 => Value::String(String::new()),
            1 => Value::String("line 1\r\nline \"2\", \u{1}\u{FFFF}\u{1F600}".to_owned()),
            2 => Value::Binary(vec![0, 255, 10]),
            3 => Value::Binary(Vec::new()),
            4 => Value::Int64(i64::MIN + 1),
            5 => Value::Double(f64::NAN),
            6 => Value::Double(f64::NEG_INFINITY),
            7 => Value::Double(5.0),
            8 => Value::DateTime(DateTime::from_ticks(DateTime::MIN.ticks() + at as u64).unwrap()),
            9 => Value::Guid(Guid([u8::try_from(at % 256).unwrap(); 16])),
            _ => Value::Boolean(at.is_multiple_of(2)),
        };
        entity.insert("Any", value);
        if at.is_multiple_of(5) {
            entity
                .insert("When", DateTime::UNIX_EPOCH)
                .insert("Größe", 1.5);
        }
        entity
    };
    (0..count).map(row).collect()
}

/// Creates a table with these rows.
pub(crate) async fn table(client: &TableServiceClient, name: &str, rows: &[Entity]) -> TableClient {
    let table = client.create_table(name).await.unwrap();
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.partition_key().cmp(b.partition_key()));
    for partition in sorted.chunk_by(|a, b| a.partition_key() == b.partition_key()) {
        for batch in partition.chunks(100) {
            let upsert = |row: &Entity| TransactionAction::Upsert(row.clone(), UpdateMode::Replace);
            let actions: Vec<_> = batch.iter().map(upsert).collect();
            table.submit_transaction(&actions).await.unwrap();
        }
    }
    table
}
