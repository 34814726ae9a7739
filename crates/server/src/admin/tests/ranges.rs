//! The pages and actions of ranges.

use partita_wire::admin::{
    ActionDone, CheckpointResult, ErrorDocument, MergeResult, Ranges, SplitResult,
};

use super::*;

/// Ranges are listed with the names of tables and keys, split at a named key, and merged again; errors name the wrong
/// parameter.
#[tokio::test]
async fn ranges_are_shown_and_changed() {
    let (server, address) = started(&IN_MEMORY).await;
    let ranges = async || {
        let (status, body) = ask(address, "GET /admin/v1/ranges").await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    let first = ranges().await;
    assert_eq!(first["ranges"][0]["id"], 1);
    assert_eq!(first["ranges"][0]["start"], serde_json::Value::Null);
    assert_eq!(first["ranges"][0]["lineage"], 0);
    documented::<Ranges>(&first);

    let service = &server.status().open().unwrap().service;
    let account = partita_model::AccountName::new("devstoreaccount1").unwrap();
    let name = partita_model::TableName::new("People").unwrap();
    service.create_table(&account, &name).await.unwrap();

    for (headers, code) in [
        ("Host: localhost:1\r\n", "HeaderMissing"),
        (
            "Host: evil.example\r\nX-Partita-Admin: 1\r\n",
            "ForeignHost",
        ),
    ] {
        let (status, body) = send(address, "POST /admin/v1/ranges/1/split", headers, "").await;
        assert!(status == 403 && body.contains(code), "{body}");
    }
    for (path, status, code) in [
        ("balance/off", 409, "NotManager"),
        ("balance/half", 404, "NoSuchAction"),
        ("version/finalize", 409, "NotManager"),
        ("version/undo", 404, "NoSuchAction"),
    ] {
        let (found, body) = act(address, path, "").await;
        assert_eq!((found, &body["error"]["code"]), (status, &code.into()));
    }
    for page in ["hot", "ranges", "status", "snapshots"] {
        let path = format!("GET /admin/v1/{page}");
        let (status, body) = send(address, &path, "Host: evil.example\r\n", "").await;
        assert!(status == 403 && body.contains("ForeignHost"), "{body}");
    }
    let (status, body) = act(address, "ranges/1/split", "").await;
    assert_eq!(
        (status, &body["error"]["code"]),
        (409, &"NoSplitKey".into())
    );
    let at = r#"{"account":"devstoreaccount1","table":"people","partition_key":"m"}"#;
    let (status, split) = act(address, "ranges/1/split", at).await;
    assert_eq!(
        (status, &split["left"], &split["right"]),
        (200, &2.into(), &3.into())
    );
    assert_eq!(split["at"]["table"], "People");
    documented::<SplitResult>(&split);
    let two = ranges().await;
    assert_eq!(two["ranges"][1]["start"]["partition_key"], "m");
    assert_eq!(two["ranges"][0]["end"], two["ranges"][1]["start"]);
    documented::<Ranges>(&two);

    for (path, status, code) in [
        ("1/merge", 404, "NoSuchRange"),
        ("3/merge", 409, "NoNeighbour"),
        ("x/split", 404, "NoSuchRange"),
        ("2/paint", 404, "NoSuchAction"),
    ] {
        let (answered, body) = act(address, &format!("ranges/{path}"), "").await;
        assert_eq!(
            (answered, &body["error"]["code"]),
            (status, &code.into()),
            "{path}"
        );
        documented::<ErrorDocument>(&body);
    }
    assert_eq!(act(address, "ranges/2/split", "{").await.0, 400);
    assert_eq!(
        act(address, "ranges/2/split", r#"{"table":"people"}"#)
            .await
            .0,
        400
    );
    for action in ["flush", "compact", "collect", "freeze"] {
        let (status, body) = act(
            address,
            &format!("ranges/2/{action}"),
            r#"{"milliseconds":1}"#,
        )
        .await;
        assert_eq!((status, &body["done"]), (200, &true.into()), "{action}");
        documented::<ActionDone>(&body);
    }
    let (status, kept) = act(address, "ranges/2/checkpoint", r#"{"seconds":5}"#).await;
    assert_eq!((status, &kept["seconds"]), (200, &5.into()), "{kept}");
    documented::<CheckpointResult>(&kept);
    for body in [
        r#"{"seconds":0}"#,
        r#"{"seconds":86401}"#,
        r#"{"seconds":-1}"#,
    ] {
        assert_eq!(
            act(address, "ranges/2/checkpoint", body).await.0,
            400,
            "{body}"
        );
    }
    let (status, merged) = act(address, "ranges/3/merge", r#"{"with":2}"#).await;
    assert_eq!((status, &merged["into"]), (200, &4.into()));
    documented::<MergeResult>(&merged);
    assert_eq!(ranges().await["ranges"].as_array().unwrap().len(), 1);
    assert_eq!(ask(address, "GET /admin/v1/ranges/4/split").await.0, 405);
    server.stop().await;
}
