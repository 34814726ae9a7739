//! Tests deletes of row groups on a real server.

use super::delete::delete;
use super::{DeleteGroup, Deleted, RowToDelete};
use crate::server;
use partita_client::{ETag, Entity, IfMatch, TableServiceClient, UpdateMode};

fn doomed(rows: &[(&str, Option<&ETag>)]) -> DeleteGroup {
    let rows = rows.iter().map(|(row_key, etag)| RowToDelete {
        partition_key: "p".to_owned(),
        row_key: (*row_key).to_owned(),
        if_match: etag.map_or(IfMatch::Any, IfMatch::from),
    });
    rows.collect()
}

#[test]
fn changed_and_missing_rows_do_not_block_the_others() {
    server::on_a_server(async |connection_string| {
        let service = TableServiceClient::from_connection_string(&connection_string)?;
        let table = service.create_table("purged").await?;
        let mut etags = Vec::new();
        for row_key in ["1", "2", "3", "4"] {
            etags.push(table.create_entity(&Entity::new("p", row_key)).await?);
        }
        let rewritten = Entity::new("p", "2");
        table.upsert_entity(&rewritten, UpdateMode::Replace).await?;
        let rows = [
            ("1", Some(&etags[0])),
            ("2", Some(&etags[1])),
            ("2x", None),
            ("3", None),
            ("3x", None),
        ];
        let deleted = delete(&table, doomed(&rows)).await?;
        let expected = Deleted {
            rows: 2,
            gone: 2,
            changed: 1,
        };
        assert_eq!(deleted, expected);
        for (row_key, is_there) in [("1", false), ("2", true), ("3", false), ("4", true)] {
            let found = table.get_entity_if_exists("p", row_key).await?;
            assert_eq!(found.is_some(), is_there, "{row_key}");
        }
        // A single row is deleted without a transaction.
        let alone = delete(&table, doomed(&[("4", Some(&etags[3]))])).await?;
        assert_eq!((alone.rows, alone.changed), (1, 0));
        let changed = delete(&table, doomed(&[("2", Some(&etags[1]))])).await?;
        assert_eq!((changed.rows, changed.changed), (0, 1));
        Ok(())
    });
}

#[test]
fn a_missing_table_is_an_error() {
    server::on_a_server(async |connection_string| {
        let service = TableServiceClient::from_connection_string(&connection_string)?;
        let table = service.table_client("nothing");
        for rows in [&[("1", None)][..], &[("1", None), ("2", None)]] {
            let error = delete(&table, doomed(rows)).await.unwrap_err();
            assert_eq!(error.code_text(), "TableNotFound");
        }
        Ok(())
    });
}
