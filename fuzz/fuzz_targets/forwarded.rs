//! Fuzzes forwarded requests and their answers. Checks that what can be read is written back to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_peer::forward::{ForwardedAnswer, ForwardedRequest};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = ForwardedRequest::decode(bytes) {
        assert_eq!(request.encode(), bytes);
    }
    if let Ok(answer) = ForwardedAnswer::decode(bytes) {
        assert_eq!(answer.encode(), bytes);
    }
});
