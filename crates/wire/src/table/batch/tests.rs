use super::*;
use crate::table::{MetadataLevel, Prefer};
use crate::testing::occurrence;
use crate::{ErrorCode, Failure};
use partita_model::{DateTime, ETag};
use proptest::prelude::*;

const TYPE: &str = "multipart/mixed; boundary=batch_1";

fn read(body: &str) -> Batch<'_> {
    match read_batch(TYPE, body.as_bytes()) {
        Ok(batch) => batch,
        Err(refusal) => panic!("{refusal:?} for {body}"),
    }
}

fn refused(content_type: &str, body: &str) -> BatchRefusal {
    let refusal = read_batch(content_type, body.as_bytes()).unwrap_err();
    assert_eq!(refusal.failure.code, ErrorCode::InvalidInput);
    refusal
}

fn lines(lines: &[&str]) -> String {
    lines.join("\r\n")
}

/// A change set of these operations.
fn change_set(operations: &[&str]) -> String {
    let mut body =
        "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n".to_owned();
    for operation in operations {
        body += "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
        body += operation;
        body += "\r\n";
    }
    body + "--changeset_1--\r\n--batch_1--\r\n"
}

#[test]
fn the_javascript_dialect() {
    // Recording js--batch_operations_should_send_a_set_of_create_batch_operations: lower-case headers, extra blank
    // lines.
    let body = lines(&[
        "--batch_1",
        "content-type: multipart/mixed; boundary=changeset_fakeId",
        "",
        "",
        "--changeset_fakeId",
        "content-type: application/http",
        "content-transfer-encoding: binary",
        "",
        "POST http://h/acct/T HTTP/1.1",
        "Content-Type: application/json;odata=nometadata",
        "Accept: application/json;odata=minimalmetadata",
        "DataServiceVersion: 3.0",
        "Prefer: return-no-content",
        "",
        "",
        "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}",
        "--changeset_fakeId--",
        "--batch_1--",
        "",
    ]);
    let batch = read(&body);
    assert!(batch.in_change_set);
    let expected = Part {
        method: "POST",
        target: "http://h/acct/T",
        prefer: Some("return-no-content"),
        accept: Some("application/json;odata=minimalmetadata"),
        content_type: Some("application/json;odata=nometadata"),
        data_service_version: Some("3.0"),
        body: b"{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}",
        ..Part::default()
    };
    assert_eq!(batch.parts, [expected]);
}

#[test]
fn the_old_python_dialect() {
    // Recording cosmosdbpython--test_table_batch_test_batch_all_operations_together: LF alone, path only, Content-ID
    // inside.
    let body = "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_2\n\n--changeset_2\nContent-Type: application/http\n\
        Content-Transfer-Encoding: binary\n\nPOST /T HTTP/1.1\nContent-ID: 1\nContent-Length: 2\n\n{}\n\n--changeset_2\n\
        Content-Type: application/http\nContent-Transfer-Encoding: binary\n\nDELETE /T(PartitionKey='003',RowKey='a') HTTP/1.1\n\
        Content-ID: 2\nIf-Match: *\n\n--changeset_2--\n--batch_1--";
    let batch = read(body);
    let insert = Part {
        method: "POST",
        target: "/T",
        content_id: Some(ContentId::OfOperation("1")),
        body: b"{}",
        ..Part::default()
    };
    let delete = Part {
        method: "DELETE",
        target: "/T(PartitionKey='003',RowKey='a')",
        content_id: Some(ContentId::OfOperation("2")),
        if_match: Some("*"),
        ..Part::default()
    };
    assert_eq!(batch.parts, [insert, delete]);
}

#[test]
fn the_new_python_and_go_dialects() {
    // Recordings python--test_table_batch_test_batch_all_operations_together (Content-ID in the part's own headers) and
    // gostorage--TableBatchSuite_Test_BatchInsertDeleteSameEntity (encoded parentheses, an empty body).
    let body = lines(&[
        "--batch_1",
        "Content-Type: multipart/mixed; boundary=changeset_3",
        "",
        "--changeset_3",
        "Content-Type: application/http",
        "Content-ID: 0",
        "",
        "POST http://h/T?%24format=x HTTP/1.1",
        "X-Http-Method: MERGE",
        "",
        "{}",
        "--changeset_3",
        "Content-Transfer-Encoding: binary",
        "Content-Type: application/http",
        "",
        "DELETE http://h/T%28PartitionKey=%27a%27,%20RowKey=%27b%27%29 HTTP/1.1",
        "IF-MATCH: W/\"datetime'x'\"",
        "",
        "",
        "--changeset_3--",
        "",
        "--batch_1--",
        "",
    ]);
    let batch = read(&body);
    assert_eq!(batch.parts[0].content_id, Some(ContentId::OfPart("0")));
    assert_eq!(batch.parts[0].x_http_method, Some("MERGE"));
    assert_eq!(batch.parts[1].if_match, Some("W/\"datetime'x'\""));
    assert_eq!(
        batch.parts[1].target,
        "http://h/T%28PartitionKey=%27a%27,%20RowKey=%27b%27%29"
    );
    assert_eq!(batch.parts[1].body, b"");
}

#[test]
fn a_query_is_the_only_operation_of_its_batch() {
    let query =
        "GET http://h/T(PartitionKey='a', RowKey='b') HTTP/1.1\r\nAccept: application/json\r\n\r\n";
    let part = format!(
        "--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n{query}"
    );
    let body = format!("{part}\r\n--batch_1--\r\n");
    let batch = read(&body);
    assert!(!batch.in_change_set);
    assert_eq!(batch.parts.len(), 1);
    assert_eq!(
        batch.parts[0].target,
        "http://h/T(PartitionKey='a', RowKey='b')"
    );
    refused(TYPE, &format!("{part}\r\n{body}"));
    refused(TYPE, &format!("{part}\r\n{}", change_set(&[query])));
}

#[test]
fn delimiters_may_lack_their_final_hyphens() {
    let whole = change_set(&[
        "POST /T HTTP/1.1\r\n\r\n{}",
        "PUT /U HTTP/1.1\r\n\r\n{\"a\":1}",
    ]);
    let expected = read(&whole);
    assert_eq!(expected.parts.len(), 2);
    for other in [
        whole.replace(
            "--changeset_1--\r\n--batch_1--\r\n",
            "--changeset_1\r\n--batch_1\r\n",
        ),
        whole.replace("--batch_1--\r\n", "--batch_1--"),
        whole.replace("--batch_1--\r\n", "--batch_1--\r\nepilogue --batch_1\r\n"),
        format!("preamble\r\n{whole}"),
        format!("\r\n{whole}"),
        whole.replace("--changeset_1\r\n", "--changeset_1 \t\r\n"),
        whole.replace("\r\n", "\n"),
    ] {
        assert_eq!(read(&other), expected, "{other}");
    }
}

#[test]
fn a_body_that_was_cut_short_is_refused() {
    let whole = change_set(&[
        "POST /T HTTP/1.1\r\n\r\n{}",
        "PUT /U HTTP/1.1\r\n\r\n{\"a\":1}",
    ]);
    // A batch that ends with the last boundary is complete, even without the boundary's `--`.
    let complete = whole.rfind("--batch_1").unwrap() + "--batch_1".len();
    for length in (0..complete).chain([complete + 1]) {
        assert_eq!(refused(TYPE, &whole[..length]).index, None, "{length}");
    }
    assert_eq!(read(&whole[..complete]), read(&whole));
    for cut in [
        whole.replace("--changeset_1--\r\n--batch_1--\r\n", ""),
        whole.replace("--changeset_1--\r\n", ""),
        whole.replace("--batch_1--\r\n", ""),
        "--batch_1\r\nContent-Type: application/http\r\n\r\nGET /T HTTP/1.1\r\n\r\n".to_owned(),
    ] {
        let refusal = refused(TYPE, &cut);
        let text = "The batch request ends without its closing boundary.";
        assert_eq!(refusal.failure.text(), text, "{cut}");
    }
}

#[test]
fn a_change_set_may_be_empty() {
    let written_by_python = lines(&[
        "--batch_1",
        "Content-Type: multipart/mixed; boundary=changeset_1",
        "",
        "--changeset_1",
        "",
        "--changeset_1--",
        "",
        "--batch_1--",
        "",
    ]);
    for body in [written_by_python, change_set(&[])] {
        let batch = read(&body);
        assert!(batch.in_change_set && batch.parts.is_empty(), "{body}");
    }
}

#[test]
fn a_delimiter_is_exact_and_begins_its_line() {
    let body = change_set(&[
        "POST /T HTTP/1.1\r\n\r\n{\"a\":\"x--changeset_1\",\r\n\"b\":\"\r\n--changeset_12\"}",
    ]);
    let batch = read(&body);
    assert_eq!(batch.parts.len(), 1);
    assert!(batch.parts[0].body.ends_with(b"--changeset_12\"}"));
    // Boundaries that contain `=`, and boundaries in quotes.
    let odd = body
        .replace("batch_1\r", "b=1'x\r")
        .replace("--batch_1--", "--b=1'x--");
    let odd = odd.replace("boundary=changeset_1\r", "BOUNDARY=\"changeset_1\"; x=y\r");
    assert_eq!(
        read_batch("multipart/mixed; boundary=\"b=1'x\"", odd.as_bytes()),
        Ok(batch)
    );
}

#[test]
fn malformed_batches_are_refused() {
    let good = change_set(&["POST /T HTTP/1.1\r\n\r\n{}"]);
    assert_eq!(refused("application/json", &good).index, None);
    refused("multipart/mixed", &good);
    refused("multipart/mixed; boundary=other", &good);
    for body in [
        "",
        "x",
        "--batch_1--\r\n",
        "--batch_1\r\n\r\n--batch_1--",
        "--batch_1\r\nno colon\r\n\r\nGET /T HTTP/1.1\r\n",
        &change_set(&[""]),
        &change_set(&["POST"]),
        &change_set(&["POST  HTTP/1.1"]),
        &change_set(&["{} /T HTTP/1.1"]),
        &change_set(&["POST /T HTTP/1.1\r\nno colon\r\n\r\n{}"]),
        &change_set(&["POST /T HTTP/1.1\r\nContent-ID: a\rb\r\n\r\n{}"]),
        &format!("{}{}", good.replace("--batch_1--\r\n", ""), good),
    ] {
        assert_eq!(refused(TYPE, body).index, None, "{body}");
    }
}

#[test]
fn different_conditions_and_long_urls_are_refused() {
    for (name, one, other) in [
        ("If-Match", "*", "W/\"x\""),
        ("X-HTTP-Method", "PUT", "DELETE"),
    ] {
        let operation = |second: &str| {
            change_set(&[&format!(
                "POST /T HTTP/1.1\r\n{name}: {one}\r\n{name}: {second}\r\n\r\n{{}}"
            )])
        };
        assert_eq!(read(&operation(one)).parts.len(), 1, "{name}");
        assert_eq!(refused(TYPE, &operation(other)).index, None, "{name}");
    }
    let accepts = "POST /T HTTP/1.1\r\nAccept: a\r\nAccept: b\r\n\r\n{}";
    assert_eq!(read(&change_set(&[accepts])).parts[0].accept, Some("b"));
    let query = |bytes: usize| {
        format!(
            "--batch_1\r\nContent-Type: application/http\r\n\r\nGET /{} HTTP/1.1\r\n\r\n--batch_1--",
            "T".repeat(bytes - 1)
        )
    };
    assert_eq!(read(&query(64 * 1024)).parts.len(), 1);
    assert_eq!(refused(TYPE, &query(64 * 1024 + 1)).index, None);
}

#[test]
fn a_hundred_operations_are_the_limit() {
    let operations = vec!["POST /T HTTP/1.1\r\n\r\n{}"; 101];
    assert_eq!(read(&change_set(&operations[..100])).parts.len(), 100);
    assert_eq!(read(&change_set(&operations[..100])).check_count(), Ok(()));
    let body = change_set(&operations);
    let refusal = read(&body).check_count().unwrap_err();
    assert_eq!(refusal.index, Some(99));
    assert_eq!(refusal.failure.code, ErrorCode::InvalidInput);
    let text = "The batch request operation exceeds the maximum 100 changes per change set.";
    assert_eq!(refusal.failure.text(), text);
}

#[test]
fn false_delimiters_take_linear_time() {
    // Four megabytes without a line end: searching for a line end after every match would take hours.
    let body = "--batch_1x".repeat(400_000);
    assert_eq!(refused(TYPE, &body).index, None);
}

fn etag() -> ETag {
    ETag(DateTime::parse("2021-09-21T01:04:37.9678478Z").unwrap())
}

#[test]
fn answers_equal_the_golden_file() {
    let failure = Failure::new(ErrorCode::InvalidDuplicateRow);
    let occurrence = occurrence(1);
    let quiet = Some(Prefer::ReturnNoContent);
    let level = MetadataLevel::Minimal;
    let location = "http://h/a/T(PartitionKey='p',RowKey='r')";
    let mut writer = BatchWriter::change_set("B", "C", 1);
    assert_eq!(
        writer.content_type(),
        "multipart/mixed;boundary=batchresponse_B"
    );
    for (content_id, outcome) in [
        (
            Some(ContentId::OfOperation("1")),
            PartOutcome::Inserted {
                prefer: quiet,
                location,
                etag: etag(),
                body: b"",
                level,
            },
        ),
        (
            None,
            PartOutcome::Inserted {
                prefer: None,
                location,
                etag: etag(),
                body: b"{\"a\":1}",
                level,
            },
        ),
        (
            None,
            PartOutcome::Updated {
                prefer: None,
                etag: etag(),
            },
        ),
        (
            None,
            PartOutcome::Updated {
                prefer: quiet,
                etag: etag(),
            },
        ),
        (Some(ContentId::OfPart("x")), PartOutcome::Deleted),
        (
            None,
            PartOutcome::Failed {
                prefer: quiet,
                failure: &failure,
                occurrence,
                level,
            },
        ),
    ] {
        writer.part(content_id, &outcome);
    }
    let text = String::from_utf8(writer.finish()).unwrap();
    assert_golden(&text, include_str!("answers.txt"));
}

/// Compares with a golden file, whose lines end in LF.
fn assert_golden(text: &str, golden: &str) {
    assert!(
        !text.replace("\r\n", "").contains('\n'),
        "a line ends in LF alone"
    );
    assert_eq!(text.replace("\r\n", "\n"), golden);
}

#[test]
fn failures_of_missing_tables_have_fewer_headers() {
    let failure = Failure::new(ErrorCode::TableNotFound);
    let occurrence = occurrence(0);
    let mut writer = BatchWriter::change_set("B", "C", 1);
    let prefer = Some(Prefer::ReturnNoContent);
    writer.part(
        None,
        &PartOutcome::Failed {
            prefer,
            failure: &failure,
            occurrence,
            level: MetadataLevel::Minimal,
        },
    );
    let text = String::from_utf8(writer.finish()).unwrap();
    let head = "HTTP/1.1 404 Not Found\r\nX-Content-Type-Options: nosniff\r\nDataServiceVersion: 3.0;\r\nContent-Type: ";
    assert!(text.contains(head), "{text}");
    assert!(
        text.contains("\"value\":\"0:The table specified does not exist.\\nRequestId:id\\n"),
        "{text}"
    );
}

#[test]
fn the_answer_to_a_query_has_no_change_set() {
    let mut writer = BatchWriter::query("B");
    let found = PartOutcome::Found {
        etag: Some(etag()),
        next: None,
        body: b"{}",
        level: MetadataLevel::None,
    };
    writer.part(None, &found);
    let expected = lines(&[
        "--batchresponse_B",
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        "",
        "HTTP/1.1 200 OK",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-cache",
        "DataServiceVersion: 3.0;",
        "Content-Type: application/json;odata=nometadata;streaming=true;charset=utf-8",
        "ETag: W/\"datetime'2021-09-21T01%3A04%3A37.9678478Z'\"",
        "",
        "{}",
        "--batchresponse_B--",
        "",
    ]);
    assert_eq!(String::from_utf8(writer.finish()).unwrap(), expected);
}

#[test]
fn a_page_has_continuation_headers() {
    let page = |row_key| PartOutcome::Found {
        etag: None,
        next: Some(NextPage {
            partition_key: "1!4!cA--",
            row_key,
        }),
        body: b"{}",
        level: MetadataLevel::None,
    };
    let head = |outcome: &PartOutcome<'_>| {
        let mut writer = BatchWriter::query("B");
        writer.part(None, outcome);
        let text = String::from_utf8(writer.finish()).unwrap();
        text.split("charset=utf-8\r\n").nth(1).unwrap().to_owned()
    };
    let rest = "\r\n{}\r\n--batchresponse_B--\r\n";
    let partition = "x-ms-continuation-NextPartitionKey: 1!4!cA--\r\n";
    let row = "x-ms-continuation-NextRowKey: 1!4!cg--\r\n";
    assert_eq!(head(&page(None)), format!("{partition}{rest}"));
    assert_eq!(
        head(&page(Some("1!4!cg--"))),
        format!("{partition}{row}{rest}")
    );
}

proptest! {
    #[test]
    fn operations_are_read_as_written(
        operations in proptest::collection::vec(
            ("(POST|PUT|MERGE|PATCH|DELETE)", "/[a-zA-Z0-9()',=%]{1,20}", "(\\{[a-z\":,]{0,30}\\})?", any::<bool>()),
            1..8,
        ),
        lf_only: bool,
        extra_blank: bool,
    ) {
        let text: Vec<String> = operations
            .iter()
            .map(|(method, target, body, match_all)| {
                let condition = if *match_all { "if-match:*\r\n" } else { "" };
                let blank = if extra_blank { "\r\n" } else { "" };
                format!("{method} {target} HTTP/1.1\r\n{condition}\r\n{blank}{body}")
            })
            .collect();
        let mut body = change_set(&text.iter().map(String::as_str).collect::<Vec<_>>());
        if lf_only {
            body = body.replace("\r\n", "\n");
        }
        let batch = read(&body);
        prop_assert_eq!(batch.parts.len(), operations.len());
        for (part, (method, target, body, match_all)) in batch.parts.iter().zip(&operations) {
            prop_assert_eq!(part.method, method);
            prop_assert_eq!(part.target, target);
            prop_assert_eq!(part.body, body.as_bytes());
            prop_assert_eq!(part.if_match, match_all.then_some("*"));
        }
    }

    #[test]
    fn answers_are_read_as_written(bodies in proptest::collection::vec("\\{[a-z\r\n]{0,20}\\}", 1..6)) {
        let mut writer = BatchWriter::change_set("B", "C", 1);
        for body in &bodies {
            let level = MetadataLevel::Minimal;
            let body = body.as_bytes();
            writer.part(None, &PartOutcome::Inserted { prefer: None, location: "l", etag: etag(), body, level });
        }
        let bytes = writer.finish();
        let outer: Vec<_> = sections::Sections::new("batchresponse_B", &bytes).collect();
        prop_assert_eq!(outer.len(), 1);
        let inner: Vec<_> = sections::Sections::new("changesetresponse_C", outer[0]).collect();
        prop_assert_eq!(inner.len(), bodies.len());
        for (section, body) in inner.iter().zip(&bodies) {
            prop_assert!(section.trim_ascii().ends_with(body.as_bytes()));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(content_type: String, body: Vec<u8>) {
        let _ = read_batch(&content_type, &body);
        let _ = read_batch(TYPE, &body);
    }

    #[test]
    fn any_mutated_batch_is_read_or_refused(
        body in "(--batch_1|--|\r\n|\n|:|Content-Type: multipart/mixed; boundary=c|--c|POST| |/T|HTTP/1.1|\\{\\}|x){0,40}",
    ) {
        let _ = read_batch(TYPE, body.as_bytes());
    }
}
