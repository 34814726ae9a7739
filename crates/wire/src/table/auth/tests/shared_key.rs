use super::*;
use proptest::prelude::*;

const TABLES: &str = "iiB1b35vtZOiKFEgyj4CUWkdW8t3ek43B3q++T8svbQ=";
const JSON: &str = "application/json;odata=nometadata";

fn request<'a>(
    method: &'a str,
    content_type: &'a str,
    target: &'a Target<'a>,
) -> SignedRequest<'a> {
    SignedRequest {
        method,
        content_md5: "",
        content_type,
        date: DATE,
        target,
    }
}

fn verify(header: &str, request: &SignedRequest<'_>) -> Result<Access, Failure> {
    match credentials(Some(header), "").unwrap() {
        Credentials::SharedKey(shared_key) => request.verify(&shared_key, &keys(), &caller()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn vectors_of_official_clients_are_accepted() {
    let path = "127.0.0.1:10002";
    for (scheme, method, content_type, url, host, signature) in [
        (
            "SharedKey",
            "POST",
            JSON,
            "/devstoreaccount1/Tables",
            path,
            TABLES,
        ),
        (
            "SharedKey",
            "POST",
            JSON,
            "/Tables",
            "devstoreaccount1.table.localhost",
            "Rn+2wArHeUpjFpAse6P882KiqmL+TKARtmm20FGah3Y=",
        ),
        (
            "SharedKeyLite",
            "GET",
            "",
            "/devstoreaccount1/Tables",
            path,
            "vqH9cAkS8xJlO5MTje1QvTgbpxIibsQNqN4+xo6qZpI=",
        ),
        (
            "SharedKey",
            "GET",
            "",
            "/devstoreaccount1/MyTable(PartitionKey='p%27%271%20%C3%A9',RowKey='r%23%251')?$select=A%2CB",
            path,
            "9Olm+Pu2gynqZ1vUcZzK6r1H/1uuvGUaMgv7fmCbHdc=",
        ),
        (
            "SharedKey",
            "GET",
            "",
            "/devstoreaccount1/MyTable?comp=acl&timeout=30",
            path,
            "BvI7Fh/J5mhgTvd4JWy3hVpV2gGLq8Z712QHY9koTM4=",
        ),
        (
            "SharedKey",
            "GET",
            "",
            "/devstoreaccount1/?restype=service&comp=properties",
            path,
            "cVjyGZEOACfh+foRQv/6yUK4ToC6ihgKULztadbEMTs=",
        ),
        (
            "SharedKey",
            "POST",
            "multipart/mixed; boundary=batch_1",
            "/devstoreaccount1/$batch",
            path,
            "EqoXMcYc6tT1SRHHqk5k+tugxoKGjtsFulcAx/LZ2ro=",
        ),
    ] {
        let target = target(url, host);
        let request = request(method, content_type, &target);
        let header = format!("{scheme} {ACCOUNT}:{signature}");
        assert_eq!(verify(&header, &request), Ok(Access::owner()), "{url}");
        assert_eq!(
            request
                .authorization(&key(), scheme == "SharedKeyLite")
                .unwrap(),
            header
        );
    }
}

#[test]
fn both_keys_can_sign() {
    let other = AccountKey::from_base64("b3RoZXIga2V5").unwrap();
    let target = target("/devstoreaccount1/Tables", "127.0.0.1");
    let request = request("POST", JSON, &target);
    let header = format!("SharedKey {ACCOUNT}:{TABLES}");
    let Credentials::SharedKey(shared_key) = credentials(Some(&header), "").unwrap() else {
        panic!("a key")
    };
    let both = AccountKeys::new(other.clone(), Some(key()));
    assert!(request.verify(&shared_key, &both, &caller()).is_ok());
    let wrong = AccountKeys::new(other, None);
    assert_eq!(
        code(request.verify(&shared_key, &wrong, &caller())),
        ErrorCode::AuthenticationFailed
    );
}

#[test]
fn the_secondary_accepts_each_form_of_the_path() {
    let secondary = target("/devstoreaccount1-secondary/T?comp=acl", "127.0.0.1");
    let stats = target(
        "/devstoreaccount1-secondary/devstoreaccount1/?restype=service&comp=stats",
        "127.0.0.1",
    );
    for (sent, signed) in [
        (&secondary, "/devstoreaccount1-secondary/T?comp=acl"),
        (&secondary, "/devstoreaccount1/T?comp=acl"),
        (&stats, "/devstoreaccount1/?comp=stats"),
        (
            &stats,
            "/devstoreaccount1-secondary/devstoreaccount1/?comp=stats",
        ),
    ] {
        let signature = key().sign(&["GET\n\n\n", DATE, "\n/devstoreaccount1", signed]);
        let header = format!("SharedKey {ACCOUNT}:{signature}");
        assert!(
            verify(&header, &request("GET", "", sent)).is_ok(),
            "{signed}"
        );
    }
    // On the primary endpoint, only the path as sent is accepted.
    let primary = target("/devstoreaccount1/T", "127.0.0.1");
    let signature = key().sign(&["GET\n\n\n", DATE, "\n/devstoreaccount1/T"]);
    let header = format!("SharedKey {ACCOUNT}:{signature}");
    assert_eq!(
        code(verify(&header, &request("GET", "", &primary))),
        ErrorCode::AuthenticationFailed
    );
}

#[test]
fn dates_may_be_fifteen_minutes_off() {
    let target = target("/devstoreaccount1/Tables", "127.0.0.1");
    let header = format!("SharedKey {ACCOUNT}:{TABLES}");
    let Credentials::SharedKey(shared_key) = credentials(Some(&header), "").unwrap() else {
        panic!("a key")
    };
    let at = |now: &str| {
        let caller = Caller {
            now: time(now),
            ..caller()
        };
        request("POST", JSON, &target).verify(&shared_key, &keys(), &caller)
    };
    for good in ["2024-01-02T02:49:05Z", "2024-01-02T03:19:05Z"] {
        assert!(at(good).is_ok(), "{good}");
    }
    for bad in [
        "2024-01-02T02:49:04Z",
        "2024-01-02T03:19:06Z",
        "2034-01-02T03:04:05Z",
    ] {
        let refused = at(bad).unwrap_err();
        assert_eq!(refused.code, ErrorCode::AuthenticationFailed, "{bad}");
        assert!(
            refused
                .details
                .iter()
                .any(|(_, text)| text.contains("dated 2024-01-02T03:04:05Z")),
            "{refused:?}"
        );
    }
    for bad in ["", "2024-01-02T03:04:05Z", "yesterday"] {
        let signed = SignedRequest {
            date: bad,
            ..request("POST", JSON, &target)
        };
        let header = signed.authorization(&key(), false).unwrap();
        assert_eq!(
            code(verify(&header, &signed)),
            ErrorCode::AuthenticationFailed,
            "{bad}"
        );
    }
}

#[test]
fn another_account_is_refused() {
    let target = target("/devstoreaccount1/Tables", "127.0.0.1");
    let request = request("POST", JSON, &target);
    for header in [
        format!("SharedKey other:{TABLES}"),
        format!("SharedKey {ACCOUNT}:{}", TABLES.replace("ii", "ij")),
        format!("SharedKey {ACCOUNT}:eA=="),
        format!("SharedKey {ACCOUNT}:!"),
        format!("SharedKeyLite {ACCOUNT}:{TABLES}"),
    ] {
        assert_eq!(
            code(verify(&header, &request)),
            ErrorCode::AuthenticationFailed,
            "{header}"
        );
    }
}

proptest! {
    #[test]
    fn a_change_of_any_signed_part_is_refused(part in 0..5usize, change in "[a-z0-9]{1,6}", lite: bool) {
        let signed = target("/devstoreaccount1/T(PartitionKey='a',RowKey='b')?comp=acl", "127.0.0.1");
        let original = SignedRequest { method: "GET", content_md5: "m", content_type: "c", date: DATE, target: &signed };
        let header = original.authorization(&key(), lite).unwrap();
        prop_assert!(verify(&header, &original).is_ok());
        let url = format!("/devstoreaccount1/T(PartitionKey='a{change}',RowKey='b')?comp=acl");
        let comp = format!("/devstoreaccount1/T(PartitionKey='a',RowKey='b')?comp=acl{change}");
        let (url, comp) = (target(&url, "127.0.0.1"), target(&comp, "127.0.0.1"));
        let text = |text: &str| format!("{text}{change}");
        let (method, md5, content_type) = (text("GET"), text("m"), text("c"));
        let changed = match part {
            0 => SignedRequest { method: &method, ..original },
            1 => SignedRequest { content_md5: &md5, ..original },
            2 => SignedRequest { content_type: &content_type, ..original },
            3 => SignedRequest { target: &url, ..original },
            _ => SignedRequest { target: &comp, ..original },
        };
        // Shared Key Lite signs only the date and the resource, so it does not detect changes of the first three parts.
        prop_assert_eq!(verify(&header, &changed).is_ok(), lite && part < 3);
        let later = SignedRequest { date: "Tue, 02 Jan 2024 03:04:06 GMT", ..original };
        prop_assert!(verify(&header, &later).is_err());
    }

    #[test]
    fn any_header_is_read_or_refused(header: String, shaped in "(SharedKey|SharedKeyLite|Bearer) [a-z]{0,3}:[A-Za-z0-9+/=é]{0,50}", query: String) {
        let target = target("/devstoreaccount1/T", "127.0.0.1");
        for header in [&header, &shaped] {
            if let Ok(Credentials::SharedKey(shared_key)) = credentials(Some(header), &query) {
                prop_assert!(request("GET", "", &target).verify(&shared_key, &keys(), &caller()).is_err());
            }
        }
    }
}
