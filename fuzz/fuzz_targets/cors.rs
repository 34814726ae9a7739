//! Fuzzes CORS: preflights and actual requests against the rules of an account. Input: lines of origin, method,
//! headers, then the rule's origins, methods, allowed headers and exposed headers, separated by commas.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::CorsRule;
use partita_wire::{CorsGrant, Preflight};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (origin, method, headers) = (line(), line(), line());
    let mut list = || line().split(',').map(str::to_owned).collect::<Vec<_>>();
    let rules = [CorsRule {
        allowed_origins: list(),
        allowed_methods: list(),
        allowed_headers: list(),
        exposed_headers: list(),
        max_age_seconds: 5,
    }];
    let preflight = Preflight {
        origin: Some(origin),
        method: Some(method),
        headers: Some(headers),
    };
    let _ = preflight.grant(&rules);
    if let Some(grant) = CorsGrant::of(&rules, origin, method) {
        let _ = grant.expose_headers(headers.split(','));
    }
});
