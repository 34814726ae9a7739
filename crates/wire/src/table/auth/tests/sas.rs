use super::*;
use crate::Rights;
use partita_model::{AccessPolicy, EntityBound, SignedIdentifier};
use proptest::prelude::*;

/// A table SAS that an official client signed (test vector 8).
const TABLE_SAS: &str = "st=2024-01-02T03%3A04%3A05Z&se=2034-01-02T03%3A04%3A05Z&sp=raud&sip=10.0.0.1-10.0.0.9\
    &spr=https%2Chttp&sv=2019-02-02&tn=MyTable&spk=a&srk=1&epk=z&erk=9\
    &sig=Yfrs0B4KXOhqtYtxwhewKeEXRwaRf18evY030%2FIwOrM%3D";
/// An account SAS that an official client signed (test vector 10).
const ACCOUNT_SAS: &str = "st=2024-01-02T03%3A04%3A05Z&se=2034-01-02T03%3A04%3A05Z&sp=rla&sv=2019-02-02&ss=t&srt=so\
    &sig=absYXTCLhSC7X2yptwv1RE9YgPknKLoufeJRtlQtK%2FM%3D";

fn check_with(
    query: &str,
    caller: &Caller,
    policies: &[SignedIdentifier],
) -> Result<Access, Failure> {
    match credentials(None, query)? {
        Credentials::AccountSas(sas) => sas
            .verify(ACCOUNT, &keys(), ServiceKind::Table, caller)
            .map(Access::account_sas),
        Credentials::ServiceSas(sas) => sas.verify(ACCOUNT, &keys())?.access(caller, policies),
        other => panic!("{other:?}"),
    }
}

fn check(query: &str) -> Result<Access, Failure> {
    check_with(query, &caller(), &[])
}

/// The value of a field; empty if it is absent.
fn field<'f>(fields: &[(&str, &'f str)], wanted: &str) -> &'f str {
    let found = fields.iter().find(|(name, _)| *name == wanted);
    found.map_or("", |(_, value)| value)
}

/// Signs the fields of a table SAS of version 2019-02-02 and makes its query.
fn table_sas(fields: &[(&str, &str)]) -> String {
    let field = |wanted: &str| field(fields, wanted);
    let mut text = format!(
        "{}\n{}\n{}\n/table/{ACCOUNT}/mytable",
        field("sp"),
        field("st"),
        field("se")
    );
    for name in ["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"] {
        text = format!(
            "{text}\n{}",
            if name == "sv" {
                "2019-02-02"
            } else {
                field(name)
            }
        );
    }
    query(fields, &text, "sv=2019-02-02&tn=mytable")
}

fn account_sas(fields: &[(&str, &str)]) -> String {
    let field = |wanted: &str| field(fields, wanted);
    let mut text = format!("{ACCOUNT}\n");
    for name in ["sp", "ss", "srt", "st", "se", "sip", "spr"] {
        text = format!("{text}{}\n", field(name));
    }
    query(fields, &format!("{text}2019-02-02\n"), "sv=2019-02-02")
}

fn query(fields: &[(&str, &str)], text: &str, rest: &str) -> String {
    let encode = |text: &str| {
        text.replace('%', "%25")
            .replace('+', "%2B")
            .replace('&', "%26")
            .replace('=', "%3D")
    };
    let mut query = format!("{rest}&sig={}", encode(&key().sign(&[text])));
    for (name, value) in fields {
        query = format!("{query}&{name}={}", encode(value));
    }
    query
}

#[test]
fn vectors_of_official_clients_are_accepted() {
    let access = check(TABLE_SAS).unwrap();
    let range = access.range().unwrap();
    assert_eq!(range.start, EntityBound::Before("a".into(), "1".into()));
    assert_eq!(range.end, EntityBound::After("z".into(), "9".into()));
    let access = check(ACCOUNT_SAS).unwrap();
    assert!(matches!(access.rights(), Rights::AccountSas { .. }));
    let minimal = "sp=r&se=2034-01-02T03:04:05Z&tn=MyTable&sv=2019-02-02&sig=gqy2JJZdDlsaW0XOXDkFApHafGM0s1DdhfjakT7g02M%3D";
    assert_eq!(check(minimal).unwrap().range(), None);
    // A SAS for the Queue service that an official client signed (test vector 11). The signature is valid, and covers
    // the line for the encryption scope.
    let queue = "sp=rwdlacup&ss=q&srt=sco&se=2034-01-02T03:04:05Z&sv=2026-10-06&sig=1KOyXO4RHG9Ytz1ebMsKOP6j3rEIQGZTRK+0mruRG/8=";
    assert_eq!(code(check(queue)), ErrorCode::AuthorizationServiceMismatch);
}

#[test]
fn older_versions_sign_fewer_parameters() {
    // 2012-02-12: the resource has no service, and neither address nor protocol is signed. 2015-02-21: the resource has
    // the service; address and protocol are still not signed.
    for (version, resource) in [
        ("2012-02-12", "/devstoreaccount1/mytable"),
        ("2015-02-21", "/table/devstoreaccount1/mytable"),
    ] {
        let text = format!("r\n\n2034-01-02\n{resource}\n\n{version}\n\n\n\n");
        let sas = query(
            &[("sp", "r"), ("se", "2034-01-02")],
            &text,
            &format!("tn=mytable&sv={version}"),
        );
        assert!(check(&sas).is_ok(), "{version}");
        assert_eq!(
            code(check(&format!("{sas}&sip=10.0.0.5"))),
            ErrorCode::AuthenticationFailed
        );
    }
    let text = "r\n\n2034-01-02\n/devstoreaccount1/mytable\n\n2009-09-19\n\n\n\n";
    let sas = query(
        &[("sp", "r"), ("se", "2034-01-02")],
        text,
        "tn=mytable&sv=2009-09-19",
    );
    assert_eq!(code(check(&sas)), ErrorCode::AuthenticationFailed);
}

#[test]
fn signatures_are_valid_between_their_times() {
    for make in [table_sas, |fields: &[(&str, &str)]| {
        account_sas(&[fields, &[("ss", "t"), ("srt", "o")]].concat())
    }] {
        let with = |st, se| check(&make(&[("sp", "r"), ("st", st), ("se", se)]));
        for (st, se) in [
            ("", "2024-01-02T03:10:00Z"),
            ("2024-01-02T03:10:00Z", "2024-01-03"),
            ("2024-01-02", "2024-01-02T03:11Z"),
            ("2024-01-02T03:09:59.9999999Z", "2024-01-02T03:10:00.5Z"),
        ] {
            assert!(with(st, se).is_ok(), "{st} {se}");
        }
        for (st, se) in [
            ("", "2024-01-02T03:09:59Z"),
            ("2024-01-02T03:10:01Z", "2024-01-03"),
            ("", ""),
            ("", "soon"),
            ("now", "2024-01-03"),
        ] {
            assert_eq!(
                code(with(st, se)),
                ErrorCode::AuthenticationFailed,
                "{st} {se}"
            );
        }
    }
}

#[test]
fn signatures_are_valid_for_their_addresses_and_protocols() {
    let with = |sip: &str, spr: &str, address: &str, https: bool| {
        let sas = table_sas(&[
            ("sp", "r"),
            ("se", "2034-01-02"),
            ("sip", sip),
            ("spr", spr),
        ]);
        let address = Some(address.parse().unwrap());
        check_with(
            &sas,
            &Caller {
                address,
                https,
                ..caller()
            },
            &[],
        )
        .map(|_| ())
        .map_err(|failure| failure.code)
    };
    assert_eq!(with("", "https", "10.0.0.5", true), Ok(()));
    assert_eq!(
        with("", "https", "10.0.0.5", false),
        Err(ErrorCode::AuthorizationProtocolMismatch)
    );
    assert_eq!(with("", "https,http", "10.0.0.5", false), Ok(()));
    assert_eq!(
        with("", "ftp", "10.0.0.5", true),
        Err(ErrorCode::AuthenticationFailed)
    );
    let range = "10.0.0.1-10.0.0.9";
    for (sip, inside, outside) in [
        (
            "10.0.0.5",
            ["10.0.0.5", "::ffff:10.0.0.5"],
            ["10.0.0.6", "::1"],
        ),
        (range, ["10.0.0.1", "10.0.0.9"], ["10.0.0.10", "::1"]),
        ("::1", ["::1"; 2], ["::2", "10.0.0.1"]),
    ] {
        for address in inside {
            assert_eq!(with(sip, "", address, true), Ok(()), "{sip} {address}");
        }
        for address in outside {
            let refused = Err(ErrorCode::AuthorizationSourceIpMismatch);
            assert_eq!(with(sip, "", address, true), refused, "{sip} {address}");
        }
    }
    assert_eq!(
        with("10.0.0.9-10.0.0.1", "", "10.0.0.5", true),
        Err(ErrorCode::AuthenticationFailed)
    );
    let sas = table_sas(&[("sp", "r"), ("se", "2034-01-02"), ("sip", "10.0.0.5")]);
    let hidden = Caller {
        address: None,
        ..caller()
    };
    assert_eq!(
        code(check_with(&sas, &hidden, &[])),
        ErrorCode::AuthorizationSourceIpMismatch
    );
}

fn policy(start: &str, expiry: &str, permission: &str) -> Vec<SignedIdentifier> {
    let time = |text: &str| (!text.is_empty()).then(|| time(text));
    let permission = (!permission.is_empty()).then(|| permission.to_owned());
    let policy = AccessPolicy {
        start: time(start),
        expiry: time(expiry),
        permission,
    };
    vec![SignedIdentifier {
        id: "p".to_owned(),
        policy,
    }]
}

#[test]
fn stored_policies_supply_missing_terms() {
    let full = policy("2024-01-01", "2034-01-02", "r");
    let by_policy = table_sas(&[("si", "p")]);
    let access = check_with(&by_policy, &caller(), &full).unwrap();
    assert!(
        access
            .check(crate::table::Operation::QueryEntities, Some("mytable"))
            .is_ok()
    );
    assert!(
        access
            .check(crate::table::Operation::DeleteEntity, Some("mytable"))
            .is_err()
    );
    let mixed = table_sas(&[("si", "p"), ("sp", "ra")]);
    assert!(check_with(&mixed, &caller(), &policy("", "2034-01-02", "")).is_ok());
    let Credentials::ServiceSas(sas) = credentials(None, &mixed).unwrap() else {
        panic!("a table SAS")
    };
    let sas = sas.verify(ACCOUNT, &keys()).unwrap();
    assert_eq!((sas.container(), sas.policy_id()), ("mytable", Some("p")));
}

#[test]
fn a_term_is_in_the_signature_or_in_the_policy() {
    let refused = |fields: &[(&str, &str)], policies: &[SignedIdentifier]| {
        code(check_with(&table_sas(fields), &caller(), policies))
    };
    let full = policy("2024-01-01", "2034-01-02", "r");
    for both in [("sp", "r"), ("st", "2024-01-01"), ("se", "2034-01-02")] {
        assert_eq!(
            refused(&[("si", "p"), both], &full),
            ErrorCode::InvalidQueryParameterValue,
            "{both:?}"
        );
    }
    assert_eq!(
        refused(&[("si", "p")], &policy("", "", "r")),
        ErrorCode::AuthenticationFailed
    );
    assert_eq!(
        refused(&[("si", "p")], &policy("", "2034-01-02", "")),
        ErrorCode::AuthenticationFailed
    );
    assert_eq!(
        refused(&[("si", "q")], &full),
        ErrorCode::AuthenticationFailed
    );
    assert_eq!(
        refused(&[("si", "p")], &policy("", "2024-01-01", "r")),
        ErrorCode::AuthenticationFailed
    );
    assert_eq!(
        refused(&[("sp", "r")], &[]),
        ErrorCode::AuthenticationFailed
    );
}

#[test]
fn ranges_include_both_ends() {
    let range = |fields: &[(&str, &str)]| {
        let fields = [&[("sp", "r"), ("se", "2034-01-02")], fields].concat();
        check(&table_sas(&fields)).unwrap()
    };
    let fits = |access: &Access, keys: (&str, &str)| access.check_keys(keys.0, keys.1).is_ok();
    let low = range(&[("spk", "b")]);
    assert!(!fits(&low, ("a", "z")) && fits(&low, ("b", "")) && fits(&low, ("c", "")));
    let low = range(&[("spk", "b"), ("srk", "5")]);
    assert!(!fits(&low, ("b", "4")) && fits(&low, ("b", "5")) && fits(&low, ("c", "")));
    let high = range(&[("epk", "b")]);
    assert!(fits(&high, ("a", "z")) && fits(&high, ("b", "\u{FFFF}")) && !fits(&high, ("ba", "")));
    let high = range(&[("epk", "b"), ("erk", "5")]);
    assert!(fits(&high, ("b", "5")) && !fits(&high, ("b", "50")) && fits(&high, ("a", "9")));
    // By UTF-16 code unit a supplementary character comes before U+FFFD.
    let high = range(&[("epk", "\u{FFFD}")]);
    assert!(fits(&high, ("\u{10000}", "")));
    assert_eq!(
        code(high.check_keys("\u{FFFE}", "")),
        ErrorCode::AuthorizationFailure
    );
    assert_eq!(range(&[("spk", ""), ("epk", "")]).range(), None);
}

#[test]
fn a_row_key_needs_its_partition_key() {
    for bound in [
        &[("srk", "5")][..],
        &[("erk", "5")],
        &[("spk", ""), ("srk", "5")],
        &[("spk", "b"), ("erk", "5")],
        &[("srk", "5"), ("epk", "b")],
    ] {
        let fields = [&[("sp", "r"), ("se", "2034-01-02")], bound].concat();
        let refused = check(&table_sas(&fields));
        assert_eq!(code(refused), ErrorCode::AuthenticationFailed, "{bound:?}");
    }
}

#[test]
fn a_parameter_given_twice_is_refused() {
    for sas in [TABLE_SAS, ACCOUNT_SAS] {
        for field in sas.split('&').map(str::trim) {
            let (name, value) = field.split_once('=').unwrap();
            for twice in [
                format!("{sas}&{field}"),
                format!("{field}&{sas}"),
                format!("{sas}&{name}=x"),
                format!("{sas}&{}={value}", name.to_uppercase()),
                format!("{sas}&%73{}=x", name.get(1..).unwrap()),
            ] {
                if twice.contains("%73") && !name.starts_with('s') {
                    continue;
                }
                let refused = code(check(&twice));
                assert_eq!(refused, ErrorCode::AuthenticationFailed, "{twice}");
            }
        }
        // Parameters that are not part of the signature may be given twice.
        let other = format!("{sas}&timeout=5&timeout=6&$top=1&$top=1");
        assert!(check(&other).is_ok(), "{other}");
    }
}

proptest! {
    #[test]
    fn a_change_of_any_parameter_is_refused(index in 0..12usize, change in "[a-z0-9]{1,4}", of_account: bool) {
        let sas = if of_account { ACCOUNT_SAS } else { TABLE_SAS };
        let mut fields: Vec<String> = sas.split('&').map(|field| field.trim().to_owned()).collect();
        let index = index % fields.len();
        fields[index].push_str(&change);
        let refused = check(&fields.join("&"));
        prop_assert_eq!(code(refused), ErrorCode::AuthenticationFailed);
        // Parameters of the signature cannot be added to a signed query, except `si` to an account SAS, which ignores
        // `si`.
        for more in ["si=x", "sip=10.0.0.5", "spr=https"] {
            let fields: Vec<&str> = sas.split('&').map(str::trim).filter(|field| !field.starts_with(&more[..3])).collect();
            let longer = format!("{}&{more}", fields.join("&"));
            prop_assert!(check(&longer).is_err() || of_account && more == "si=x");
        }
    }

    #[test]
    fn any_query_is_read_or_refused(query: String, shaped in "(s[vpt]=[0-9a-z:%+-]{0,12}&){0,6}(tn=a&)?sig=[A-Za-z0-9%/+=]{0,50}") {
        for query in [&query, &shaped] {
            prop_assert!(check(query).is_err());
        }
    }
}
