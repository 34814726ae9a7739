use super::*;
use crate::{Failure, ServiceKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

const ISSUER: &str = "https://issuer.example/";
/// The modulus of a public key. OpenSSL signed [`TOKEN`] with the private key (RS256, valid until 2096), which was
/// deleted after that.
const MODULUS: &str = "uCeEyuktTDpcgN_lXPzy7qXwvxxdYQlnB4PVxQmDBRMax_Q8iU8rW3yM1cyFCY2dRf2BkoKXUZKtfQiBKVsno4NJJt8_f4uw8a4wVeerRVk8NsHQgV2e98I_ZEn36qVSmidVJJM_9_nsAvrGQmaF5IqvFuLUNyAVorEy1uNBN-EghcyXNpCea1yeSy_bFka9Qp--hImLx-G-3t_xshXO1YWWyBh2yWnFRtqoUX7Og9f2ZY4eAu2hnUJOfnQcph0hF1yOHzAHVDcPt7_XG2q1-TV-PTmYpYKVaQqRwgVtydZXWcKLs736EjBwNG-1a7pKUNP0SEZZoxaad81s7zIlaQ";
const TOKEN: &str = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImtleS0xIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlLyIsImF1ZCI6InBhcnRpdGEiLCJuYmYiOjE3MDAwMDAwMDAsImV4cCI6NDAwMDAwMDAwMCwicm9sZXMiOlsiU3RvcmFnZSBUYWJsZSBEYXRhIFJlYWRlciJdfQ.hpdEw27kxT_KrlWfMxxNFVhRFcyXuB8KB-En2n75-yaC4l-n-m-6IgRmyP5CdrDDpgwk0-a3gn1739NYHjDowUgONu63f76CeZ5SIqRVp_sXorFgCE8cJshkbolQv0zBtM2iVEND1oWDZsMfB0xpBZq76VdYhMKRpjYM8fDr1SOQcK2bYDULIOHNr-4sMGL6komYB3gx4aheIMyPGQNxS3Mj2Jl0CiGq5C1ZAjGv3UwJ9lfiu8x1pydTyMi_rfHFrDzwTfSdGVTPEruTO80eH4OvdqTYhg6zlClY1CEF0ursklNL5yS3ns1abRqPM1-S31ozP7IrGlKcChyoOGG4wA";

fn rules(jwks: &Value) -> BearerRules {
    let keys = Jwks::parse(jwks.to_string().as_bytes()).unwrap();
    BearerRules::verified(ISSUER.to_owned(), vec!["partita".to_owned()], keys)
}

fn rsa() -> BearerRules {
    rules(&json!({"keys": [
        {"kty": "oct", "k": "AA"},
        {"kty": "RSA", "use": "sig", "kid": "key-1", "n": MODULUS, "e": "AQAB"},
    ]}))
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn unsigned(claims: &Value) -> String {
    format!("{}.{}.x", encode(&json!({"alg": "none"})), encode(claims))
}

fn claims() -> Value {
    json!({
        "iss": "https://sts.windows.net/72f988bf-86f1-41af-91ab-2d7cd011db47/",
        "aud": "https://storage.azure.com",
        "nbf": 1_704_164_000,
        "exp": 1_704_165_000,
    })
}

/// Checks a token in a request whose version gets a challenge if the token is refused.
fn verify(rules: &BearerRules, token: &str, caller: &Caller) -> Result<TokenRoles, Failure> {
    let version = Version::parse("2020-12-06");
    rules.verify(token, ACCOUNT, ServiceKind::Table, caller, version)
}

fn basic(claims: &Value) -> Result<TokenRoles, ErrorCode> {
    verify(&BearerRules::basic(), &unsigned(claims), &caller()).map_err(|failure| failure.code)
}

#[test]
fn refusals_name_their_reason_in_the_words_of_the_service() {
    for (claim, value, reason) in [
        (
            "aud",
            json!("https://vault.azure.net"),
            "Audience validation failed. Audience did not match.",
        ),
        (
            "iss",
            json!("https://issuer.example/"),
            "Issuer validation failed. Issuer did not match.",
        ),
        (
            "exp",
            json!(1_704_164_900),
            "Lifetime validation failed. The token is expired.",
        ),
        (
            "nbf",
            json!(1_704_165_100),
            "Lifetime validation failed. The token is not yet valid.",
        ),
        ("iss", json!(null), "The bearer token is malformed."),
    ] {
        let mut claims = claims();
        claims[claim] = value;
        for (version, status, code) in [
            (None, 403, ErrorCode::AuthenticationFailed),
            (Some("2019-10-10"), 403, ErrorCode::AuthenticationFailed),
            (Some("2019-12-12"), 401, ErrorCode::MissingCredentials),
            (Some("2026-10-06"), 401, ErrorCode::MissingCredentials),
        ] {
            let refused = BearerRules::basic().verify(
                &unsigned(&claims),
                ACCOUNT,
                ServiceKind::Table,
                &caller(),
                version.and_then(Version::parse),
            );
            let refused = refused.unwrap_err();
            assert_eq!((refused.status(), refused.code), (status, code), "{claim}");
            assert_eq!(
                refused.details,
                [("AuthenticationErrorDetail", reason.to_owned())]
            );
        }
    }
    let token = TOKEN.replace("hpdEw27", "hpdEw28");
    assert_eq!(
        verify(&rsa(), &token, &caller()).unwrap_err().details,
        [(
            "AuthenticationErrorDetail",
            "Signature validation failed. Signature verification failed.".to_owned()
        )]
    );
}

#[test]
fn basic_rules_trust_claims() {
    assert_eq!(basic(&claims()), Ok(TokenRoles::Unrestricted));
    for (claim, value) in [
        ("aud", json!("https://storage.azure.com/")),
        ("aud", json!(["x", "e406a681-f3d4-42a8-90b6-c2b029497af1"])),
        (
            "aud",
            json!("https://devstoreaccount1.table.core.windows.net/"),
        ),
        (
            "iss",
            json!("https://login.microsoftonline.com/72f988bf/v2.0"),
        ),
        ("nbf", json!(1_704_165_050)),
        ("exp", json!(1_704_164_950.5)),
    ] {
        let mut claims = claims();
        claims[claim] = value;
        assert!(basic(&claims).is_ok(), "{claims}");
    }
    for (claim, value) in [
        ("aud", json!("https://other.table.core.windows.net")),
        ("aud", json!("https://vault.azure.net")),
        ("aud", json!([])),
        ("iss", json!("https://issuer.example/")),
        ("iss", json!(null)),
        ("nbf", json!(1_704_165_100)),
        ("exp", json!(1_704_164_900)),
        ("exp", json!("never")),
    ] {
        let mut claims = claims();
        claims[claim] = value;
        assert_eq!(
            basic(&claims),
            Err(ErrorCode::MissingCredentials),
            "{claims}"
        );
    }
}

#[test]
fn roles_are_read_from_the_token() {
    let with = |roles: Value| {
        let mut claims = claims();
        claims["roles"] = roles;
        basic(&claims)
    };
    let named = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        Ok(TokenRoles::Named(names.collect()))
    };
    assert_eq!(with(json!(["A", "B"])), named(&["A", "B"]));
    assert_eq!(with(json!("A")), named(&["A"]));
    assert_eq!(with(json!([])), named(&[]));
}

#[test]
fn tokens_need_tls() {
    let plain = Caller {
        https: false,
        ..caller()
    };
    let refused = verify(&BearerRules::basic(), &unsigned(&claims()), &plain);
    assert_eq!(code(refused), ErrorCode::AuthenticationFailed);
}

#[test]
fn rsa_signatures() {
    assert_eq!(
        verify(&rsa(), TOKEN, &caller()),
        Ok(TokenRoles::Named(vec![
            "Storage Table Data Reader".to_owned()
        ]))
    );
    let late = Caller {
        now: time("2099-01-01"),
        ..caller()
    };
    assert_eq!(
        code(verify(&rsa(), TOKEN, &late)),
        ErrorCode::MissingCredentials
    );
    let other_key = json!({"keys": [{"kty": "RSA", "kid": "key-2", "n": MODULUS, "e": "AQAB"}]});
    assert!(verify(&rules(&other_key), TOKEN, &caller()).is_err());
    let unnamed = json!({"keys": [{"kty": "RSA", "n": format!("AA{MODULUS}"), "e": "AQAB"}]});
    assert!(
        verify(&rules(&unnamed), TOKEN, &caller()).is_err(),
        "another modulus"
    );
}

#[test]
fn p256_signatures_and_the_algorithm_of_the_key() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random)
        .unwrap();
    let point = pair.public_key().as_ref();
    let (x, y) = (
        URL_SAFE_NO_PAD.encode(&point[1..33]),
        URL_SAFE_NO_PAD.encode(&point[33..]),
    );
    let rules = rules(&json!({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y}]}));
    let token_of = |alg: &str, roles: Value| {
        let mut claims = claims();
        claims["iss"] = json!(ISSUER);
        claims["aud"] = json!("partita/");
        claims["roles"] = roles;
        let signed = format!("{}.{}", encode(&json!({"alg": alg})), encode(&claims));
        let signature = pair.sign(&random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    };
    let token = |alg: &str| token_of(alg, json!(["Storage Table Data Contributor"]));
    assert_eq!(
        verify(&rules, &token("ES256"), &caller()),
        Ok(TokenRoles::Named(vec![
            "Storage Table Data Contributor".to_owned()
        ]))
    );
    // A token without roles is refused: any user of the issuer may have one.
    let refused = verify(&rules, &token_of("ES256", json!(null)), &caller());
    assert_eq!(code(refused), ErrorCode::AuthorizationPermissionMismatch);
    for alg in ["none", "HS256", "RS256", "ES384"] {
        assert_eq!(
            code(verify(&rules, &token(alg), &caller())),
            ErrorCode::MissingCredentials,
            "{alg}"
        );
    }
}

#[test]
fn key_sets_without_usable_keys_are_refused() {
    let parse = |value: Value| Jwks::parse(value.to_string().as_bytes()).unwrap_err();
    assert_eq!(parse(json!({})), InvalidJwks::Malformed);
    assert_eq!(parse(json!({"keys": []})), InvalidJwks::NoKeys);
    assert_eq!(
        parse(json!({"keys": [{"kty": "EC", "crv": "P-384"}]})),
        InvalidJwks::NoKeys
    );
    assert_eq!(
        parse(json!({"keys": [{"kty": "RSA", "use": "enc", "n": "AQ", "e": "AQAB"}]})),
        InvalidJwks::NoKeys
    );
    assert_eq!(Jwks::parse(b"\xff").unwrap_err(), InvalidJwks::Malformed);
}

#[test]
fn the_challenge_equals_that_of_the_service() {
    assert_eq!(
        challenge("https://login.microsoftonline.com/tenant/oauth2/authorize"),
        "Bearer authorization_uri=https://login.microsoftonline.com/tenant/oauth2/authorize \
         resource_id=https://storage.azure.com"
    );
}

proptest! {
    #[test]
    fn a_changed_token_is_refused(at in 0..TOKEN.len() - 1, to in "[A-Za-z0-9_-]") {
        let mut token = TOKEN.to_owned();
        token.replace_range(at..=at, &to);
        prop_assert_eq!(verify(&rsa(), &token, &caller()).is_ok(), token == TOKEN);
    }

    #[test]
    fn any_token_is_read_or_refused(token: String, shaped in "[A-Za-z0-9_.-]{0,60}", bytes: Vec<u8>) {
        for token in [&token, &shaped] {
            prop_assert!(verify(&BearerRules::basic(), token, &caller()).is_err());
        }
        let _ = Jwks::parse(&bytes);
    }
}
