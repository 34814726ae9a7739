//! Cross-origin requests from browsers (service documents "Cross-Origin Resource Sharing (CORS) support for the Azure
//! Storage services", "Preflight Table Request").
//!
//! The first rule whose origin and method match applies, even if its headers do not match; later rules are not tried.
//! A request without a matching rule is executed too, but its answer lacks the CORS headers, so the browser hides the
//! answer from the script.

use crate::{ErrorCode, Failure, Method};
use partita_model::CorsRule;

/// The maximum number of rules of an account.
const RULES_MAX: usize = 5;
/// The maximum number of origins of a rule, and of headers without prefixes in each of its two lists of headers.
const ITEMS_MAX: usize = 64;
/// The maximum number of header prefixes (`x-ms-meta-*`) in each list of headers.
const PREFIXES_MAX: usize = 2;
/// The maximum length of an origin or a header, in characters.
const ITEM_CHARS_MAX: usize = 256;
/// The maximum length of all texts of all rules together, in bytes.
const RULES_BYTES_MAX: usize = 2 * 1024;

/// The preflight that a browser sends before a cross-origin request.
#[derive(Debug, Clone, Copy)]
pub struct Preflight<'a> {
    /// `Origin`
    pub origin: Option<&'a str>,
    /// `Access-Control-Request-Method`
    pub method: Option<&'a str>,
    /// `Access-Control-Request-Headers`
    pub headers: Option<&'a str>,
}

/// The headers of the answer to a granted preflight; its status is 200, and its body is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightGrant<'a> {
    /// `Access-Control-Allow-Origin`
    pub allow_origin: &'a str,
    /// `Access-Control-Allow-Methods`
    pub allow_methods: &'a str,
    /// `Access-Control-Allow-Headers`, if the preflight has `Access-Control-Request-Headers`.
    pub allow_headers: Option<&'a str>,
    /// `Access-Control-Max-Age`, in seconds.
    pub max_age_seconds: u32,
    /// Whether to send `Access-Control-Allow-Credentials: true`.
    pub allow_credentials: bool,
}

/// The headers that a rule adds to the answer of an actual request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorsGrant<'a> {
    /// `Access-Control-Allow-Origin`
    pub allow_origin: &'a str,
    /// Whether to send `Access-Control-Allow-Credentials: true`.
    pub allow_credentials: bool,
    rule: &'a CorsRule,
}

impl<'a> Preflight<'a> {
    /// Applies the rules of the addressed account.
    ///
    /// # Errors
    /// 400 InvalidHeaderValue without origin or method, 403 CorsPreflightFailure without a matching rule.
    pub fn grant(&self, rules: &'a [CorsRule]) -> Result<PreflightGrant<'a>, Failure> {
        let (Some(origin), Some(method)) = (self.origin, self.method) else {
            return Err(Failure::with_message(
                ErrorCode::InvalidHeaderValue,
                "A required CORS header is not present.",
            ));
        };
        let rule = first_rule(rules, origin, method).ok_or(ErrorCode::CorsPreflightFailure)?;
        let mut headers = self
            .headers
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let allowed = || rule.allowed_headers.iter().map(String::as_str);
        if !headers.all(|name| matches_any(allowed(), name)) {
            return Err(ErrorCode::CorsPreflightFailure.into());
        }
        let (allow_origin, allow_credentials) = allowed_origin(rule, origin);
        Ok(PreflightGrant {
            allow_origin,
            allow_methods: method,
            allow_headers: self.headers,
            max_age_seconds: rule.max_age_seconds,
            allow_credentials,
        })
    }
}

impl<'a> CorsGrant<'a> {
    /// Applies the rules of the account to a request with an `Origin`; `method` is the method of the request line.
    pub fn of(rules: &'a [CorsRule], origin: &'a str, method: &str) -> Option<Self> {
        let rule = first_rule(rules, origin, method)?;
        let (allow_origin, allow_credentials) = allowed_origin(rule, origin);
        Some(Self {
            allow_origin,
            allow_credentials,
            rule,
        })
    }

    /// `Access-Control-Expose-Headers`: the rule's literal headers, and the headers of `answer` that match its
    /// prefixes; `None` if neither exist.
    pub fn expose_headers<'h>(&self, answer: impl IntoIterator<Item = &'h str>) -> Option<String> {
        let [mut names, prefixes] = by_kind(&self.rule.exposed_headers);
        if !prefixes.is_empty() {
            for name in answer {
                let known = names.iter().any(|known| known.eq_ignore_ascii_case(name));
                if !known && matches_any(prefixes.iter().copied(), name) {
                    names.push(name);
                }
            }
        }
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// Whether the answer to a GET or HEAD depends on the origin, and so needs `Vary: Origin`. That is true if the account
/// has rules, unless the matching rule is for all origins.
pub fn varies_by_origin(rules: &[CorsRule], grant: Option<&CorsGrant<'_>>) -> bool {
    !rules.is_empty() && grant.is_none_or(|grant| grant.allow_origin != "*")
}

/// The literal headers of a list, and its prefixes (`x-ms-meta-*`), each in their order.
pub(crate) fn by_kind(headers: &[String]) -> [Vec<&str>; 2] {
    let names = headers.iter().map(String::as_str);
    let (prefixes, literals) = names.partition(|name| name.ends_with('*'));
    [literals, prefixes]
}

/// Whether the rules are within the limits of the service.
pub(crate) fn are_within_limits(rules: &[CorsRule]) -> bool {
    let texts = |rule: &CorsRule| -> usize {
        let lists = [
            &rule.allowed_origins,
            &rule.allowed_methods,
            &rule.allowed_headers,
            &rule.exposed_headers,
        ];
        lists.into_iter().flatten().map(|text| text.len()).sum()
    };
    let short = |items: &[String]| {
        items
            .iter()
            .all(|item| item.chars().count() <= ITEM_CHARS_MAX)
    };
    let headers = |items: &[String]| {
        let [literals, prefixes] = by_kind(items);
        prefixes.len() <= PREFIXES_MAX && literals.len() <= ITEMS_MAX && short(items)
    };
    rules.len() <= RULES_MAX
        && rules.iter().map(texts).sum::<usize>() <= RULES_BYTES_MAX
        && rules.iter().all(|rule| {
            (1..=ITEMS_MAX).contains(&rule.allowed_origins.len())
                && short(&rule.allowed_origins)
                && !rule.allowed_methods.is_empty()
                // The documented methods, and PATCH, which newer services accept.
                && rule.allowed_methods.iter().all(|method| Method::parse(method).is_ok())
                && headers(&rule.allowed_headers)
                && headers(&rule.exposed_headers)
        })
}

fn first_rule<'a>(rules: &'a [CorsRule], origin: &str, method: &str) -> Option<&'a CorsRule> {
    rules.iter().find(|rule| {
        rule.allowed_origins
            .iter()
            .any(|allowed| allowed == "*" || allowed == origin)
            && rule.allowed_methods.iter().any(|allowed| allowed == method)
    })
}

/// `Access-Control-Allow-Origin`, and whether credentials are allowed: a rule for all origins does not allow
/// credentials.
fn allowed_origin<'a>(rule: &CorsRule, origin: &'a str) -> (&'a str, bool) {
    if rule.allowed_origins.iter().any(|allowed| allowed == "*") {
        ("*", false)
    } else {
        (origin, true)
    }
}

/// Compares header names without regard to case; `x-ms-meta-*` matches by prefix, `*` matches all.
fn matches_any<'p>(patterns: impl IntoIterator<Item = &'p str>, name: &str) -> bool {
    patterns
        .into_iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name
                .get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
            None => pattern.eq_ignore_ascii_case(name),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &[&str], methods: &[&str], allowed: &[&str], exposed: &[&str]) -> CorsRule {
        let own = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        CorsRule {
            allowed_origins: own(origins),
            allowed_methods: own(methods),
            allowed_headers: own(allowed),
            exposed_headers: own(exposed),
            max_age_seconds: 200,
        }
    }

    /// The rules of the example in the service document on CORS support.
    fn rules() -> Vec<CorsRule> {
        vec![
            rule(
                &["http://www.contoso.com"],
                &["PUT", "HEAD"],
                &["x-ms-meta-data*", "x-ms-meta-source*"],
                &["x-ms-meta-*"],
            ),
            rule(
                &["*"],
                &["PUT", "GET"],
                &["x-ms-meta-data*", "Accept"],
                &["Date", "x-ms-meta-data*"],
            ),
            rule(
                &["http://www.contoso.com"],
                &["GET"],
                &["x-ms-meta-data*", "x-ms-client-request-id"],
                &["x-ms-meta-*"],
            ),
        ]
    }

    fn ask<'a>(origin: &'a str, method: &'a str, headers: Option<&'a str>) -> Preflight<'a> {
        Preflight {
            origin: Some(origin),
            method: Some(method),
            headers,
        }
    }

    #[test]
    fn the_first_rule_with_origin_and_method_decides() {
        let rules = rules();
        let granted = |origin, method, headers| {
            ask(origin, method, Some(headers))
                .grant(&rules)
                .map(|grant| grant.allow_origin.to_owned())
        };
        assert_eq!(
            granted("http://www.contoso.com", "PUT", "X-MS-meta-source1").unwrap(),
            "http://www.contoso.com"
        );
        assert_eq!(
            granted("http://other.example", "GET", "accept, x-ms-meta-data").unwrap(),
            "*"
        );
        let contoso = "http://www.contoso.com";
        for (origin, method, headers) in [
            (contoso, "GET", "x-ms-client-request-id"),
            (contoso, "PUT", "accept"),
            ("http://WWW.contoso.com", "HEAD", ""),
            (contoso, "DELETE", ""),
            (contoso, "PUT", "é"),
        ] {
            assert_eq!(
                granted(origin, method, headers).unwrap_err().code,
                ErrorCode::CorsPreflightFailure,
                "{method}"
            );
        }
    }

    #[test]
    fn a_granted_preflight_repeats_the_request() {
        let rules = rules();
        let grant = ask("http://www.contoso.com", "PUT", Some("x-ms-meta-data1"))
            .grant(&rules)
            .unwrap();
        assert_eq!(
            grant,
            PreflightGrant {
                allow_origin: "http://www.contoso.com",
                allow_methods: "PUT",
                allow_headers: Some("x-ms-meta-data1"),
                max_age_seconds: 200,
                allow_credentials: true,
            }
        );
        assert!(
            !ask("http://other.example", "PUT", None)
                .grant(&rules)
                .unwrap()
                .allow_credentials
        );
    }

    #[test]
    fn a_preflight_needs_origin_and_method() {
        for preflight in [
            Preflight {
                origin: None,
                method: Some("GET"),
                headers: None,
            },
            Preflight {
                origin: Some("http://www.contoso.com"),
                method: None,
                headers: None,
            },
        ] {
            let refused = preflight.grant(&rules()).unwrap_err();
            assert_eq!(
                (refused.code, refused.text()),
                (
                    ErrorCode::InvalidHeaderValue,
                    "A required CORS header is not present."
                )
            );
        }
        assert_eq!(
            ask("http://x", "GET", None).grant(&[]).unwrap_err().code,
            ErrorCode::CorsPreflightFailure
        );
    }

    #[test]
    fn actual_requests_get_the_headers_of_the_matching_rule() {
        let rules = rules();
        let grant = CorsGrant::of(&rules, "http://other.example", "GET").unwrap();
        assert_eq!((grant.allow_origin, grant.allow_credentials), ("*", false));
        let exposed = grant.expose_headers(["ETag", "date", "X-ms-meta-data2", "x-ms-meta-other"]);
        assert_eq!(exposed.as_deref(), Some("Date,X-ms-meta-data2"));
        assert!(!varies_by_origin(&rules, Some(&grant)));
        let grant = CorsGrant::of(&rules, "http://www.contoso.com", "HEAD").unwrap();
        assert_eq!(grant.expose_headers(["ETag"]), None);
        assert!(varies_by_origin(&rules, Some(&grant)));
        let none = CorsGrant::of(&rules, "http://other.example", "POST");
        assert!(none.is_none() && varies_by_origin(&rules, none.as_ref()));
        assert!(!varies_by_origin(&[], None));
    }

    #[test]
    fn limits() {
        let good = rule(&["*"], &["GET"], &["*"], &[]);
        assert!(are_within_limits(&vec![good.clone(); 5]));
        let long = "x".repeat(256);
        let many: Vec<String> = (0..65).map(|index| format!("h{index}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(are_within_limits(&[rule(
            &[&long],
            &["PATCH"],
            &many[..64],
            &["a*", "b*"]
        )]));
        for bad in [
            vec![good; 6],
            vec![rule(&[], &["GET"], &[], &[])],
            vec![rule(&["*"], &[], &[], &[])],
            vec![rule(&["*"], &["get"], &[], &[])],
            vec![rule(&[&format!("{long}x")], &["GET"], &[], &[])],
            vec![rule(&many, &["GET"], &[], &[])],
            vec![rule(&["*"], &["GET"], &many, &[])],
            vec![rule(&["*"], &["GET"], &[], &["a*", "b*", "c*"])],
            vec![rule(&[long.as_str(); 9], &["GET"], &[], &[])],
        ] {
            assert!(!are_within_limits(&bad), "{bad:?}");
        }
    }
}
