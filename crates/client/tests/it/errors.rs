//! Tests of the texts of errors.

use crate::faults::{failed_get, failed_insert, quick, table};
use crate::faulty_server::{Act, FaultyServer};
use futures::TryStreamExt as _;
use partita_client::{ConvertError, ErrorCode, ErrorKind, QueryOptions};

#[tokio::test]
async fn errors_contain_the_servers_message() {
    let body = "{\"odata.error\":{\"code\":\"OutOfRangeInput\",\"message\":{\"lang\":\"en-US\",\"value\":\"too far\\nRequestId:x\"}}}";
    let head = "400 Bad\r\nx-ms-request-id: theirs\r\n".to_owned();
    let (error, _) = failed_get(Act::Answer(head, body.to_owned())).await;
    assert_eq!(error.code(), Some(ErrorCode::OutOfRangeInput));
    assert_eq!(error.message(), "too far\nRequestId:x");
    assert_eq!(error.request_id(), Some("theirs"));
    assert_eq!(
        error.to_string(),
        "QueryEntity mytable(PartitionKey='p',RowKey='r'): 400 OutOfRangeInput: too far"
    );
    let html = Act::Answer(
        "403 No\r\nx-ms-error-code: Odd\r\n".to_owned(),
        "<html>no</html>".to_owned(),
    );
    let (error, _) = failed_get(html).await;
    assert_eq!((error.code_text(), error.code()), ("Odd", None));
}

#[tokio::test]
async fn r5_errors_say_operation_keys_and_cause_in_one_line() {
    let body = "{\"PartitionKey\":\"p\",\"RowKey\":\"it's\",\"Count\":\"x\"}";
    let answer = || Act::Answer("200 OK\r\n".to_owned(), body.to_owned());
    let faulty = FaultyServer::start([answer()], None).await;
    let table = table(faulty.address, quick().0);
    let read = table.get_entity_as::<Counted>("p", "it's").await;
    let error = read.unwrap_err();
    assert_eq!(
        error.to_string(),
        "QueryEntity mytable(PartitionKey='p',RowKey='it''s'): the entity does not match the Rust type: \
         Count: invalid type: string \"x\", expected i32"
    );
    assert!(error.cause().unwrap().is::<ConvertError>());
    assert_eq!(
        format!("{error:?}"),
        format!("Error(Unreadable, DidNotHappen, \"{error}\")")
    );

    let missing = "{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}]}";
    let faulty = FaultyServer::start(
        [Act::Answer("200 OK\r\n".to_owned(), missing.to_owned())],
        None,
    )
    .await;
    let through = self::table(faulty.address, quick().0);
    let mut rows = through.query_entities_as::<Counted>(QueryOptions::new());
    assert_eq!(
        rows.try_next().await.unwrap_err().to_string(),
        "QueryEntities mytable(PartitionKey='p',RowKey='r'): the entity does not match the Rust type: \
         missing field `Count`"
    );

    let error = table
        .create_entity_from(&Counted { count: 1 })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert_eq!(
        error.to_string(),
        "InsertEntity mytable: the value cannot be an entity: PartitionKey is missing"
    );
    let (error, _) = failed_insert([Act::Close]).await;
    let text = error.to_string();
    let begin = "InsertEntity mytable(PartitionKey='p',RowKey='r'): the connection broke: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.ends_with(" (it may have happened)"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Counted {
    #[serde(rename = "Count")]
    #[allow(dead_code, reason = "read by serde")]
    count: i32,
}
