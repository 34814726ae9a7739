mod query;

use super::*;
use crate::ErrorCode;
use crate::testing::{code, hosts, target as parse};
use proptest::prelude::*;

#[test]
fn path_style_takes_the_account_from_the_path() {
    for host in [
        "127.0.0.1:10002",
        "localhost:10002",
        "[::1]:10002",
        "host.docker.internal",
        "server.example",
    ] {
        let target = parse("/acct/MyTable()?$top=3", host);
        assert_eq!(
            (&*target.account, target.secondary, target.style),
            ("acct", false, Style::Path),
            "{host}"
        );
        assert_eq!(
            (target.path, target.rest, target.query.raw()),
            ("/acct/MyTable()", "/MyTable()", "$top=3")
        );
        let base = target.base("http");
        assert_eq!(base, format!("http://{host}/acct"));
    }
}

#[test]
fn host_style_takes_the_account_from_the_host() {
    for (host, account, secondary) in [
        ("acct.table.localhost:10002", "acct", false),
        ("other.table.example", "other", false),
        ("ACCT.Table.Example", "acct", false),
        ("acct-secondary.table.localhost", "acct", true),
        ("acct.table.core.windows.net", "acct", false),
        ("acct-secondary.anything.example:443", "acct", true),
    ] {
        let target = parse("/acct/x", host);
        assert_eq!(
            (&*target.account, target.secondary, target.style),
            (account, secondary, Style::Host),
            "{host}"
        );
        assert_eq!((target.path, target.rest), ("/acct/x", "/acct/x"));
        let base = target.base("https");
        assert_eq!(base, format!("https://{host}"));
    }
    let off = Hosts::new([], false);
    let target = Target::parse("/acct/x", Some("acct.table.example"), &off, |_| true).unwrap();
    assert_eq!(target.style, Style::Path);
}

#[test]
fn an_absolute_target_overrides_the_host() {
    let target = parse("HTTP://acct.table.localhost:1/T?x=1", "127.0.0.1");
    assert_eq!(
        (target.style, target.path, target.host),
        (Style::Host, "/T", "acct.table.localhost:1")
    );
    assert_eq!(
        parse("http://acct.table.example?x=1&y=/", "127.0.0.1")
            .query
            .raw(),
        "x=1&y=/"
    );
}

#[test]
fn targets_without_account_or_host_are_refused() {
    let parse = |target, host| Target::parse(target, host, &hosts(), |_| true);
    assert_eq!(
        code(parse("/acct/T", None)),
        ErrorCode::HostInformationNotPresent
    );
    assert_eq!(
        code(parse("/acct/T", Some(""))),
        ErrorCode::HostInformationNotPresent
    );
    assert_eq!(
        code(parse("/acct/T", Some("a\"b"))),
        ErrorCode::InvalidHeaderValue
    );
    assert_eq!(code(parse("/", Some("127.0.0.1"))), ErrorCode::InvalidUri);
    assert_eq!(code(parse("", Some("127.0.0.1"))), ErrorCode::InvalidUri);
}

#[test]
fn a_query_may_follow_the_host_directly() {
    assert_eq!(parse("?comp=properties", "acct.table.localhost").path, "/");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(target: String, host: String, path in "[A-Za-z0-9()'=,%/?&$ ]{0,40}") {
        for text in [&target, &path] {
            let _ = Target::parse(text, Some(&host), &hosts(), |_| true);
            if let Ok(target) = Target::parse(text, Some("127.0.0.1"), &hosts(), |_| false) {
                let _ = Target::parse_inner(text, &target);
            }
            let query = Query::new(text);
            let _ = (query.get("$filter"), query.timeout_seconds());
        }
    }
}
