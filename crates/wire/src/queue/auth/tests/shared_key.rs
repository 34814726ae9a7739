use super::*;
use proptest::prelude::*;

/// A request of an official client (azure-storage-queue 12.18.1), with its date and version changed.
const SIGNATURE: &str = "vDr9TJRjofG7w9KagrVhBGJTS9ylCtIKdQ34QvaRS4Y=";
const URL: &str = "/devstoreaccount1/queue1/messages?visibilitytimeout=3&messagettl=-1";
const DATE: (&str, &str) = ("x-ms-date", "Tue, 02 Jan 2024 03:04:05 GMT");
const VERSION: (&str, &str) = ("x-ms-version", "2021-02-12");

fn verify(
    scheme: &str,
    signature: &str,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
) -> Result<Access, ErrorCode> {
    let target = target(url, "127.0.0.1");
    let request = SignedRequest {
        method,
        headers,
        target: &target,
    };
    let header = format!("{scheme} {ACCOUNT}:{signature}");
    let Ok(Credentials::SharedKey(shared_key)) = credentials(Some(&header), "") else {
        panic!("a key")
    };
    let verified = request.verify(&shared_key, &keys(), &caller());
    verified.map_err(|failure| failure.code)
}

#[test]
fn the_vector_of_an_official_client_is_accepted() {
    let headers = [
        VERSION,
        ("Content-Length", "103"),
        DATE,
        ("Content-Type", "application/xml"),
        ("User-Agent", "azsdk"),
    ];
    let check =
        |url: &str, headers: &[(&str, &str)]| verify("SharedKey", SIGNATURE, "POST", url, headers);
    assert_eq!(check(URL, &headers), Ok(Access::owner()));
    // The order of parameters, and the encoding of their values, do not matter.
    let other = "/devstoreaccount1/queue1/messages?messagettl=%2D1&VisibilityTimeout=3";
    assert_eq!(check(other, &headers), Ok(Access::owner()));
    let refused = Err(ErrorCode::AuthenticationFailed);
    assert_eq!(check(&format!("{URL}&timeout=5"), &headers), refused);
    assert_eq!(check(&URL.replace("queue1", "queue2"), &headers), refused);
    for at in 0..4 {
        let mut changed = headers;
        changed[at].1 = match at {
            0 => "2021-02-13",
            1 => "104",
            2 => "Tue, 02 Jan 2024 03:04:06 GMT",
            _ => "text/xml",
        };
        assert_eq!(check(URL, &changed), refused, "{:?}", changed[at]);
    }
    let more = [&headers[..], &[("x-ms-meta-a", "1")]].concat();
    assert_eq!(check(URL, &more), refused);
}

/// Signs `text`, and checks that a request with these headers has it as its string to sign.
fn assert_signed(scheme: &str, text: &str, method: &str, url: &str, headers: &[(&str, &str)]) {
    let verified = verify(scheme, &key().sign(&[text]), method, url, headers);
    assert_eq!(verified, Ok(Access::owner()), "{text}");
}

#[test]
fn an_empty_length_is_signed_by_version() {
    let url = "/devstoreaccount1/q";
    for (version, length) in [("2014-02-14", "0"), ("2015-02-21", "")] {
        let headers = [("content-length", "0"), ("x-ms-version", version), DATE];
        let text = format!(
            "PUT\n\n\n{length}\n\n\n\n\n\n\n\n\nx-ms-date:{}\nx-ms-version:{version}\n/{ACCOUNT}/devstoreaccount1/q",
            DATE.1
        );
        assert_signed("SharedKey", &text, "PUT", url, &headers);
    }
}

#[test]
fn the_date_is_signed_in_one_place() {
    let headers = [("Date", DATE.1), VERSION];
    let text = format!(
        "GET\n\n\n\n\n\n{}\n\n\n\n\n\nx-ms-version:2021-02-12\n/{ACCOUNT}/devstoreaccount1/\ncomp:list",
        DATE.1
    );
    assert_signed(
        "SharedKey",
        &text,
        "GET",
        "/devstoreaccount1/?comp=list",
        &headers,
    );
    let both = [("Date", "Tue, 02 Jan 2024 03:00:00 GMT"), DATE, VERSION];
    let text = format!(
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{}\nx-ms-version:2021-02-12\n/{ACCOUNT}/devstoreaccount1/\ncomp:list",
        DATE.1
    );
    assert_signed(
        "SharedKey",
        &text,
        "GET",
        "/devstoreaccount1/?comp=list",
        &both,
    );
}

#[test]
fn lite_signs_fewer_headers_and_comp_only() {
    let headers = [
        ("content-type", "application/xml"),
        ("content-length", "9"),
        ("x-ms-meta-a", "1"),
        DATE,
        VERSION,
    ];
    let text = format!(
        "PUT\n\napplication/xml\n\nx-ms-date:{}\nx-ms-meta-a:1\nx-ms-version:2021-02-12\n/{ACCOUNT}/devstoreaccount1/q?comp=metadata",
        DATE.1
    );
    let url = "/devstoreaccount1/q?timeout=5&comp=metadata";
    assert_signed("SharedKeyLite", &text, "PUT", url, &headers);
}

#[test]
fn headers_are_signed_as_clients_write_them() {
    let url = "/devstoreaccount1/q";
    let text = |middle: &str, version: &str| {
        format!(
            "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{}\n{middle}x-ms-version:{version}\n/{ACCOUNT}/devstoreaccount1/q",
            DATE.1
        )
    };
    let all = |more: &[(&'static str, &'static str)], version: &'static str| {
        [more, &[DATE, ("x-ms-version", version)]].concat()
    };
    let stray = all(
        &[
            ("X-Ms-Meta-c", " two "),
            ("x-ms-meta", ""),
            ("X-MS-Meta-A", "1"),
        ],
        VERSION.1,
    );
    let signed = text("x-ms-meta:\nx-ms-meta-a:1\nx-ms-meta-c:two\n", VERSION.1);
    assert_signed("SharedKey", &signed, "PUT", url, &stray);
    // Headers without a value are signed since 2016-05-31.
    let old = all(&[("x-ms-meta-a", ""), ("x-ms-meta-b", "1")], "2015-12-11");
    assert_signed(
        "SharedKey",
        &text("x-ms-meta-b:1\n", "2015-12-11"),
        "PUT",
        url,
        &old,
    );
    // Blanks inside of a value, as sent and as the document says.
    let blanks = all(&[("x-ms-meta-a", "1 \t 2")], VERSION.1);
    for value in ["1 \t 2", "1 2"] {
        let signed = text(&format!("x-ms-meta-a:{value}\n"), VERSION.1);
        assert_signed("SharedKey", &signed, "PUT", url, &blanks);
    }
    // `_` before and after digits.
    let both = all(&[("x-ms-meta-a_", "1"), ("x-ms-meta-a1", "2")], VERSION.1);
    for middle in [
        "x-ms-meta-a_:1\nx-ms-meta-a1:2\n",
        "x-ms-meta-a1:2\nx-ms-meta-a_:1\n",
    ] {
        assert_signed("SharedKey", &text(middle, VERSION.1), "PUT", url, &both);
    }
}

/// Checks that the resource of a GET is signed as this text.
fn assert_get_signed(resource: &str, url: &str) {
    let text = format!(
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{}\nx-ms-version:2021-02-12\n/{ACCOUNT}{resource}",
        DATE.1
    );
    assert_signed("SharedKey", &text, "GET", url, &[DATE, VERSION]);
}

#[test]
fn repeated_parameters_are_sorted_and_joined() {
    let url = "/devstoreaccount1/?b=2&A=%C3%A4&b=1&c";
    assert_get_signed("/devstoreaccount1/\na:ä\nb:1,2\nc:", url);
}

#[test]
fn the_secondary_is_signed_with_or_without_its_suffix() {
    let url = "/devstoreaccount1-secondary/devstoreaccount1/?restype=service&comp=stats";
    for path in [
        "/devstoreaccount1-secondary/devstoreaccount1/",
        "/devstoreaccount1/devstoreaccount1/",
        "/devstoreaccount1/",
    ] {
        assert_get_signed(&format!("{path}\ncomp:stats\nrestype:service"), url);
    }
}

#[test]
fn a_request_needs_a_date_and_its_own_account() {
    let refused = Err(ErrorCode::AuthenticationFailed);
    let verified = verify("SharedKey", SIGNATURE, "POST", URL, &[VERSION]);
    assert_eq!(verified, refused);
    let other = URL.replace("devstoreaccount1", "devstoreaccount2");
    let verified = verify("SharedKey", SIGNATURE, "POST", &other, &[DATE, VERSION]);
    assert_eq!(verified, refused);
}

proptest! {
    #[test]
    fn the_server_accepts_what_a_client_signs(
        name in "[a-z_][a-z0-9_]{0,6}",
        value in "[ -~]{0,12}",
        query in "[a-zA-Z0-9=&%+_]{0,24}",
        lite: bool,
    ) {
        let url = format!("/devstoreaccount1/queue1?{query}");
        let target = target(&url, "127.0.0.1");
        let meta = format!("X-ms-meta-{name}");
        let headers = [(meta.as_str(), value.as_str()), ("Content-Length", "0"), DATE, VERSION];
        let request = SignedRequest { method: "PUT", headers: &headers, target: &target };
        if let Ok(header) = request.authorization(&key(), lite) {
            let Ok(Credentials::SharedKey(shared_key)) = credentials(Some(&header), "") else {
                panic!("a key")
            };
            prop_assert!(request.verify(&shared_key, &keys(), &caller()).is_ok());
            let changed = [headers[0], headers[1], headers[2], ("x-ms-version", "2021-02-13")];
            let changed = SignedRequest { headers: &changed, ..request };
            prop_assert!(changed.verify(&shared_key, &keys(), &caller()).is_err());
        }
    }
}
