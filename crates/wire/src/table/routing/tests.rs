use super::*;
use crate::Query;
use crate::table::check_query_options;
use crate::testing::{code, hosts, target as parse};
use proptest::prelude::*;

fn entity<'a>(table: &'a str, partition_key: &'a str, row_key: &'a str) -> Resource<'a> {
    Resource::Entity {
        table: table.into(),
        partition_key: partition_key.into(),
        row_key: row_key.into(),
    }
}

#[test]
fn the_root_needs_no_slash() {
    for target in [
        "/acct?comp=properties&restype=service",
        "/acct/?restype=service&comp=properties",
    ] {
        let target = parse(target, "127.0.0.1:10002");
        let resource = Resource::of(&target).unwrap();
        assert_eq!(resource, Resource::Service);
        assert_eq!(
            Operation::of(&target, Method::Get, &resource, false),
            Ok(Operation::GetTableServiceProperties)
        );
    }
}

#[test]
fn resources() {
    for (path, resource) in [
        ("", Resource::Service),
        ("/", Resource::Service),
        ("/Tables", Resource::Tables),
        ("//tables()", Resource::Tables),
        ("/Tables('x')", Resource::Table("x".into())),
        ("/Tables(%27batch0%27)", Resource::Table("batch0".into())),
        ("/Tables%28%27t26%27%29", Resource::Table("t26".into())),
        ("/Tables(TableName='x')", Resource::Table("x".into())),
        ("/T", Resource::Entities("T".into())),
        ("/T()", Resource::Entities("T".into())),
        ("/T( )/", Resource::Entities("T".into())),
        ("/$batch", Resource::Batch),
        ("/%24batch", Resource::Batch),
        (
            "/$MetricsHourPrimaryTransactionsTable()",
            Resource::Entities("$MetricsHourPrimaryTransactionsTable".into()),
        ),
        ("/T(PartitionKey='',RowKey='')", entity("T", "", "")),
        ("/T(PartitionKey='',RowKey='''')", entity("T", "", "'")),
    ] {
        assert_eq!(Resource::parse(path).as_ref(), Ok(&resource), "{path}");
    }
}

/// Paths with their table, PartitionKey and RowKey.
const ENTITIES: &str = r#"
/T(PartitionKey='a',RowKey='b') | T | a | b
/T(RowKey='b',PartitionKey='a') | T | a | b
/T( PartitionKey = 'a' , RowKey = 'b' ) | T | a | b
/t28%28PartitionKey=%27pk%27,%20RowKey=%27rk%27%29 | t28 | pk | rk
/T%28PartitionKey%3D%27a%27%2CRowKey%3D%27b%27%29 | T | a | b
/MyTable(PartitionKey='p%27%271%20%C3%A9',RowKey='r%25%251+') | MyTable | p'1 é | r%%1+
/S(PartitionKey='A''aaa_bbbb2%22',RowKey='%22A''aaa') | S | A'aaa_bbbb2" | "A'aaa
/T(PartitionKey='a),(',RowKey='b=''),') | T | a),( | b='),
/T(PartitionKey='%2525',RowKey='é') | T | %25 | é
"#;

#[test]
fn entities() {
    for line in ENTITIES.trim_start().lines() {
        let mut cells = line.split(" | ");
        let [path, table, partition_key, row_key] = [(); 4].map(|()| cells.next().unwrap());
        let expected = entity(table, partition_key, row_key);
        assert_eq!(Resource::parse(path), Ok(expected), "{path}");
    }
}

#[test]
fn plain_keys_are_borrowed() {
    let Resource::Entity {
        partition_key,
        row_key,
        ..
    } = Resource::parse("/T(PartitionKey='a',RowKey='b')").unwrap()
    else {
        panic!("an entity");
    };
    assert!(matches!(
        (partition_key, row_key),
        (
            std::borrow::Cow::Borrowed("a"),
            std::borrow::Cow::Borrowed("b")
        )
    ));
}

#[test]
fn invalid_paths_get_the_codes_of_the_service() {
    for (path, code, text) in [
        (
            "/T(PartitionKey='a%2Fb',RowKey='')",
            ErrorCode::InvalidInput,
            "Bad Request - Error in query syntax.",
        ),
        (
            "/T(PartitionKey='a/b',RowKey='')",
            ErrorCode::InvalidInput,
            "Bad Request - Error in query syntax.",
        ),
        (
            "/T(PartitionKey='',RowKey='a%5Cb')",
            ErrorCode::InvalidInput,
            "Bad Request - Error in query syntax.",
        ),
        (
            "/T(PartitionKey='a%23',RowKey='')",
            ErrorCode::OutOfRangeInput,
            "One of the request inputs is out of range.",
        ),
        (
            "/T(PartitionKey='a%3F',RowKey='')",
            ErrorCode::OutOfRangeInput,
            "One of the request inputs is out of range.",
        ),
        (
            "/T(PartitionKey='%C2%85',RowKey='')",
            ErrorCode::OutOfRangeInput,
            "One of the request inputs is out of range.",
        ),
    ] {
        let refused = Resource::parse(path).unwrap_err();
        assert_eq!((refused.code, refused.text()), (code, text), "{path}");
    }
    for path in [
        "/T(PartitionKey='%01',RowKey='')",
        "/T(PartitionKey='%zz',RowKey='')",
        "/T%",
        "/%FF",
    ] {
        assert_eq!(code(Resource::parse(path)), ErrorCode::InvalidUri, "{path}");
    }
    for path in [
        "/T(",
        "/T('a')",
        "/T(PartitionKey='a')",
        "/T(PartitionKey='a',PartitionKey='b')",
        "/T(partitionkey='a',rowkey='b')",
        "/T(PartitionKey='a',RowKey='b',X='c')",
        "/T(PartitionKey=a,RowKey=b)",
        "/T(PartitionKey='a'RowKey='b')",
        "/T(PartitionKey='a',RowKey='b'')",
        "/T(PartitionKey='a',RowKey='b')x",
        "/Tables('a','b')",
        "/Tables(a)",
        "/(PartitionKey='a',RowKey='b')",
        "/T/x/y",
        "/T(PartitionKey='a',RowKey='b')/x",
        "/Tables/T",
        "/$batch/T",
    ] {
        assert_eq!(
            code(Resource::parse(path)),
            ErrorCode::InvalidInput,
            "{path}"
        );
    }
}

#[test]
fn a_path_below_a_table_names_the_table() {
    let below = |path| match Resource::parse(path) {
        Ok(Resource::BelowTable { table, has_one_key }) => (table.into_owned(), has_one_key),
        other => panic!("{other:?} for {path}"),
    };
    for (path, has_one_key) in [
        ("/T1a/Tables", false),
        ("/T1a()/Tables()", false),
        ("/T1a//Tables('x')/", true),
        ("/%54%31a/Tables%28%27x%27%29", true),
        ("/T1a/T1a(PartitionKey='a',RowKey='b')", false),
        ("/T1a/$batch", false),
        ("/T1a/(x", false),
        ("/T1a/%FF", false),
    ] {
        assert_eq!(below(path), ("T1a".to_owned(), has_one_key), "{path}");
    }
    for (method, expected) in [
        ("GET", Ok(Operation::QueryEntities)),
        ("POST", Ok(Operation::InsertEntity)),
        ("DELETE", Ok(Operation::DeleteEntity)),
        ("PUT", Ok(Operation::InsertOrReplaceEntity)),
        ("MERGE", Ok(Operation::InsertOrMergeEntity)),
        ("HEAD", Err(ErrorCode::MethodNotAllowed)),
    ] {
        assert_eq!(operation(method, "/acct/T/Tables", false), expected);
    }
}

#[test]
fn names_of_tables_are_checked() {
    let check = |path: &str| {
        let checked = Resource::parse(path).unwrap().check_table();
        checked.map_err(|failure| (failure.code, failure.text().to_owned()))
    };
    let characters = "The specifed resource name contains invalid characters.";
    let length = "The specified resource name length is not within the permissible limits.";
    let long = "a".repeat(64);
    for (name, code, text) in [
        ("1table", ErrorCode::InvalidResourceName, characters),
        ("my_table", ErrorCode::InvalidResourceName, characters),
        ("tab%2Fle", ErrorCode::InvalidResourceName, characters),
        ("t%C3%A4ble", ErrorCode::InvalidResourceName, characters),
        ("$metadata", ErrorCode::InvalidResourceName, characters),
        ("aa", ErrorCode::OutOfRangeInput, length),
        (long.as_str(), ErrorCode::OutOfRangeInput, length),
    ] {
        for path in [
            format!("/{name}"),
            format!("/{name}()"),
            format!("/{name}(PartitionKey='a',RowKey='b')"),
            format!("/{name}/Tables"),
            format!("/{name}//(PartitionKey='a',RowKey='b')"),
        ] {
            assert_eq!(check(&path), Err((code, text.to_owned())), "{path}");
        }
    }
    let longest = format!("/{}(PartitionKey='',RowKey='')", "a".repeat(63));
    for path in [
        "/abc",
        &longest,
        "/$MetricsHourPrimaryTransactionsTable()",
        "/Tables",
        "/Tables('a_')",
        "/$batch",
        "/",
    ] {
        assert_eq!(check(path), Ok(()), "{path}");
    }
}

fn operation(method: &str, target: &str, has_if_match: bool) -> Result<Operation, ErrorCode> {
    let target = parse(target, "127.0.0.1:10002");
    let resource = Resource::of(&target).unwrap();
    let method = Method::parse(method).unwrap();
    Operation::of(&target, method, &resource, has_if_match).map_err(|failure| failure.code)
}

#[test]
fn operations() {
    use Operation as O;
    let entity = "/acct/T(PartitionKey='a',RowKey='b')";
    for (method, target, if_match, expected) in [
        ("GET", "/acct/Tables", false, O::QueryTables),
        ("POST", "/acct/Tables", false, O::CreateTable),
        ("GET", "/acct/Tables('T')", false, O::GetTable),
        ("DELETE", "/acct/Tables('T')", false, O::DeleteTable),
        ("GET", "/acct/T()", false, O::QueryEntities),
        ("POST", "/acct/T", false, O::InsertEntity),
        ("GET", entity, false, O::GetEntity),
        ("PUT", entity, true, O::UpdateEntity),
        ("PUT", entity, false, O::InsertOrReplaceEntity),
        ("MERGE", entity, true, O::MergeEntity),
        ("PATCH", entity, true, O::MergeEntity),
        ("PATCH", entity, false, O::InsertOrMergeEntity),
        ("DELETE", entity, true, O::DeleteEntity),
        ("POST", "/acct/$batch", false, O::EntityGroupTransaction),
        ("GET", "/acct/T?comp=acl", false, O::GetTableAcl),
        ("HEAD", "/acct/T?comp=acl", false, O::GetTableAcl),
        ("PUT", "/acct/T?comp=ACL&timeout=30", false, O::SetTableAcl),
        (
            "GET",
            "/acct/T?comp=partita-settings",
            false,
            O::GetTableSettings,
        ),
        (
            "PUT",
            "/acct/T?comp=partita-settings",
            false,
            O::SetTableSettings,
        ),
        ("POST", "/acct/T?comp=Partita-Rename", false, O::RenameTable),
        (
            "POST",
            "/acct/T?comp=partita-truncate",
            false,
            O::TruncateTable,
        ),
        (
            "PUT",
            "/acct/?restype=service&comp=properties",
            false,
            O::SetTableServiceProperties,
        ),
        (
            "GET",
            "/acct-secondary/acct/?restype=service&comp=stats",
            false,
            O::GetTableServiceStats,
        ),
        ("GET", "/acct-secondary/acct", false, O::QueryEntities),
        ("OPTIONS", "/acct/T", false, O::Preflight),
    ] {
        assert_eq!(
            operation(method, target, if_match),
            Ok(expected),
            "{method} {target}"
        );
    }
}

#[test]
fn unsupported_methods_are_refused() {
    use ErrorCode as E;
    for (method, target, expected) in [
        ("PUT", "/acct/Tables", E::MethodNotAllowed),
        ("POST", "/acct/Tables('T')", E::MethodNotAllowed),
        ("DELETE", "/acct/T", E::MethodNotAllowed),
        ("GET", "/acct/T?comp=partita-truncate", E::MethodNotAllowed),
        ("PUT", "/acct/T?comp=partita-rename", E::MethodNotAllowed),
        (
            "DELETE",
            "/acct/T?comp=partita-settings",
            E::MethodNotAllowed,
        ),
        (
            "POST",
            "/acct-secondary/T?comp=partita-truncate",
            E::InsufficientAccountPermissions,
        ),
        (
            "POST",
            "/acct/T?comp=partita",
            E::InvalidQueryParameterValue,
        ),
        ("HEAD", "/acct/T", E::MethodNotAllowed),
        (
            "POST",
            "/acct/T(PartitionKey='a',RowKey='b')",
            E::MethodNotAllowed,
        ),
        ("GET", "/acct/$batch", E::MethodNotAllowed),
        ("DELETE", "/acct/T?comp=acl", E::MethodNotAllowed),
        (
            "POST",
            "/acct/?restype=service&comp=properties",
            E::MethodNotAllowed,
        ),
        ("GET", "/acct/T?comp=list", E::InvalidQueryParameterValue),
        (
            "GET",
            "/acct/?restype=service&comp=stats",
            E::InvalidQueryParameterValue,
        ),
        (
            "GET",
            "/acct/?restype=service&comp=list",
            E::InvalidQueryParameterValue,
        ),
        (
            "GET",
            "/acct/?comp=properties",
            E::InvalidQueryParameterValue,
        ),
        ("GET", "/acct/", E::NotImplemented),
        (
            "DELETE",
            "/acct/T(PartitionKey='a',RowKey='b')",
            E::MissingRequiredHeader,
        ),
        (
            "POST",
            "/acct-secondary/T",
            E::InsufficientAccountPermissions,
        ),
    ] {
        assert_eq!(
            operation(method, target, false),
            Err(expected),
            "{method} {target}"
        );
    }
    let target = parse("/?restype=service&comp=stats", "acct.table.localhost");
    assert_eq!(
        code(Operation::of(
            &target,
            Method::Get,
            &Resource::Service,
            false
        )),
        E::InvalidQueryParameterValue
    );
    assert_eq!(code(Method::parse("get")), E::InvalidHttpVerb);
}

#[test]
fn verbs_are_tunnelled_through_post_only() {
    let tunnelled = |method: Method, values: &[&'static str]| {
        tunnelled_method(method, values.iter().copied()).map_err(|failure| failure.code)
    };
    assert_eq!(tunnelled(Method::Post, &[]), Ok(Method::Post));
    assert_eq!(tunnelled(Method::Post, &["merge"]), Ok(Method::Merge));
    assert_eq!(tunnelled(Method::Post, &[" PUT"]), Ok(Method::Put));
    assert_eq!(tunnelled(Method::Post, &["DELETE"]), Ok(Method::Delete));
    assert_eq!(
        tunnelled(Method::Get, &["MERGE"]),
        Err(ErrorCode::XMethodNotUsingPost)
    );
    assert_eq!(
        tunnelled(Method::Post, &["MERGE", "MERGE"]),
        Err(ErrorCode::XMethodIncorrectCount)
    );
    assert_eq!(
        tunnelled(Method::Post, &["MERGE,PUT"]),
        Err(ErrorCode::XMethodIncorrectCount)
    );
    assert_eq!(
        tunnelled(Method::Post, &["GET"]),
        Err(ErrorCode::XMethodIncorrectValue)
    );
}

#[test]
fn inner_targets_of_batches() {
    let path_style = parse("/acct/$batch", "127.0.0.1:10002");
    let host_style = parse("/$batch", "acct.table.localhost");
    let wanted = entity("T", "a", "b");
    for target in [
        "http://127.0.0.1:10002/acct/T(PartitionKey='a',RowKey='b')",
        "/acct/T(PartitionKey='a',RowKey='b')?sig=x",
        "/T(PartitionKey='a',RowKey='b')",
        "https://acct.table.localhost/T(PartitionKey='a',RowKey='b')",
        "T(PartitionKey='a',RowKey='b')",
    ] {
        let inner = Target::parse_inner(target, &path_style);
        assert_eq!(Resource::of(&inner), Ok(wanted.clone()), "{target}");
        assert_eq!(inner.account, "acct");
    }
    for target in [
        "https://acct.table.localhost/T(PartitionKey='a',RowKey='b')",
        "/T(PartitionKey='a',RowKey='b')",
    ] {
        let inner = Target::parse_inner(target, &host_style);
        assert_eq!(Resource::of(&inner), Ok(wanted.clone()), "{target}");
    }
    // The path names a table that has the same name as the account.
    let inner = Target::parse_inner("/acct", &path_style);
    assert_eq!(Resource::of(&inner), Ok(Resource::Entities("acct".into())));
}

#[test]
fn inner_targets_of_the_secondary_are_read_only() {
    let path_style = parse("/acct/$batch", "127.0.0.1:10002");
    let host_style = parse("/$batch", "acct.table.localhost");
    for (target, batch) in [
        ("http://127.0.0.1:10002/acct-secondary/T", &path_style),
        ("/acct-secondary/T", &path_style),
        ("https://acct-secondary.table.localhost/T", &host_style),
        (
            "https://ACCT-Secondary.table.localhost:10002/T",
            &host_style,
        ),
        ("http://acct-secondary.table.localhost/acct/T", &path_style),
    ] {
        let inner = Target::parse_inner(target, batch);
        assert!(inner.secondary, "{target}");
        let resource = Resource::of(&inner).unwrap();
        assert_eq!(resource, Resource::Entities("T".into()), "{target}");
        let write = Operation::of(&inner, Method::Post, &resource, false);
        assert_eq!(code(write), ErrorCode::InsufficientAccountPermissions);
        let read = Operation::of(&inner, Method::Get, &resource, false);
        assert_eq!(read, Ok(Operation::QueryEntities));
    }
    for (target, batch) in [
        ("/acct/T", &path_style),
        ("/T-secondary/T", &path_style),
        ("http://acct.table.localhost/T", &host_style),
        ("http://other-secondary.table.localhost/T", &host_style),
    ] {
        assert!(!Target::parse_inner(target, batch).secondary, "{target}");
    }
}

#[test]
fn a_refused_method_lists_the_allowed_ones() {
    for (target, allow) in [
        ("/acct/Tables", "GET, POST"),
        ("/acct/Tables('T')", "GET, DELETE"),
        ("/acct/T?comp=acl", "GET, HEAD, PUT"),
        (
            "/acct/T(PartitionKey='a',RowKey='b')",
            "GET, PUT, MERGE, PATCH, DELETE",
        ),
        ("/acct/$batch", "POST"),
        ("/acct/?restype=service&comp=stats", "GET"),
    ] {
        let target = parse(target, "127.0.0.1");
        let resource = Resource::of(&target).unwrap();
        let method = if allow.contains("POST") {
            Method::Patch
        } else {
            Method::Post
        };
        let refused = Operation::of(&target, method, &resource, false).unwrap_err();
        assert_eq!((refused.status(), refused.allow), (405, Some(allow)));
    }
}

/// Encodes like the strictest client: everything except letters and digits.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn keys_in_urls_round_trip(partition in "[^/\\\\#?\u{0}-\u{1F}\u{7F}-\u{9F}]{0,12}", row in "[a'%é\u{10000}(),= ]{0,8}") {
        let doubled = |key: &str| key.replace('\'', "''");
        let text = format!("T(PartitionKey='{}',RowKey='{}')", doubled(&partition), doubled(&row));
        let path = format!("/{}", encode(&text));
        prop_assert_eq!(Resource::parse(&path), Ok(entity("T", &partition, &row)));
    }

    #[test]
    fn any_text_is_read_or_refused(target: String, host: String, path in "[A-Za-z0-9()'=,%/?&$ ]{0,40}") {
        for text in [&target, &path] {
            if let Ok(target) = Target::parse(text, Some(&host), &hosts(), |_| true) {
                let _ = Resource::of(&target).map(|resource| resource.check_table());
            }
            if let Ok(target) = Target::parse(text, Some("127.0.0.1"), &hosts(), |_| false) {
                let inner = Target::parse_inner(text, &target);
                if let Ok(resource) = Resource::of(&inner) {
                    let _ = Operation::of(&inner, Method::Post, &resource, true);
                }
            }
            let query = Query::new(text);
            let _ = (query.get("$filter"), query.timeout_seconds(), check_query_options(query));
        }
    }
}
