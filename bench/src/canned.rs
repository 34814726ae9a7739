//! Prepared answers of the bare server, with the shape and size of Partita's answers.

use std::fmt::Write;

use crate::entity;

/// An entity tag of full length.
pub const ETAG: &str = "W/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'\"";

/// The `Location` header of the answer to an insert: the URL of the entity.
pub const LOCATION: &str = "http://127.0.0.1:10002/devstoreaccount1/benchmany(PartitionKey='p000000000000000',\
                            RowKey='r000000000000000')";

/// The type of a batch answer.
pub const BATCH_CONTENT_TYPE: &str =
    "multipart/mixed; boundary=batchresponse_3c2f4f6e-5d0f-4f6f-9df1-8f1c2b7a9e01";

/// One entity at minimal metadata.
pub fn entity() -> String {
    let metadata = r#"{"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#benchread/@Element","#;
    format!("{metadata}{}", &with_annotations(0)[1..])
}

/// A page of 1,000 entities at minimal metadata.
pub fn page() -> String {
    let mut text = r#"{"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#benchread","value":["#.to_owned();
    for row in 0..entity::PARTITION_ROWS {
        if row > 0 {
            text.push(',');
        }
        text += &with_annotations(row);
    }
    text + "]}"
}

/// The answer to a successful batch of 100 inserts.
pub fn batch() -> String {
    let changes = "changesetresponse_9b1d6d3a-0c3e-4c59-8a55-6a4e7c0b2d02";
    let batch = "batchresponse_3c2f4f6e-5d0f-4f6f-9df1-8f1c2b7a9e01";
    let mut text =
        format!("--{batch}\r\nContent-Type: multipart/mixed; boundary={changes}\r\n\r\n");
    for _ in 0..100 {
        write!(
            text,
            "--{changes}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
             Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\nLocation: {LOCATION}\r\n\
             DataServiceId: {LOCATION}\r\nETag: {ETAG}\r\n\r\n\r\n"
        )
        .expect("writing to a string cannot fail");
    }
    text + &format!("--{changes}--\r\n--{batch}--\r\n")
}

fn with_annotations(row: u64) -> String {
    let (partition_key, row_key) = entity::prepared_keys(row);
    let body = entity::body(&partition_key, &row_key, row);
    let keys_end = body
        .find(r#","Carrier""#)
        .expect("the first property follows the keys");
    let (keys, properties) = body.split_at(keys_end);
    format!(
        r#"{{"odata.etag":"{}",{},"Timestamp":"2024-01-02T03:04:05.1234567Z"{properties}"#,
        ETAG.replace('"', "\\\""),
        keys.trim_start_matches('{'),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_valid_json_of_the_right_size() {
        let one: serde_json::Value = serde_json::from_str(&entity()).unwrap();
        assert_eq!(one["odata.etag"], ETAG);
        let page: serde_json::Value = serde_json::from_str(&page()).unwrap();
        assert_eq!(page["value"].as_array().unwrap().len(), 1_000);
        assert_eq!(batch().matches("HTTP/1.1 204").count(), 100);
    }
}
