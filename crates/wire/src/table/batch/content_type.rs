//! Reads the boundary of a `Content-Type`.

/// The longest boundary, in bytes. RFC 2046 allows 70; longer ones are harmless.
const BOUNDARY_BYTES_MAX: usize = 200;

/// The boundary of a `multipart/mixed` content type; `None` for other types. The parameter's name may have any case.
/// The value may be quoted and may contain `=`; without quotes it ends at `;`.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (media_type, mut rest) = content_type.split_once(';')?;
    if !media_type.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    loop {
        let (name, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_once(';').unwrap_or((value, "")),
        };
        if name.trim().eq_ignore_ascii_case("boundary") {
            let boundary = value.trim_end();
            let fits = !boundary.is_empty() && boundary.len() <= BOUNDARY_BYTES_MAX;
            return fits.then_some(boundary);
        }
        rest = after.trim_start_matches([';', ' ']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_read_and_other_types_refused() {
        for (text, expected) in [
            ("multipart/mixed; boundary=batch_1", "batch_1"),
            ("multipart/mixed;boundary=batch_1", "batch_1"),
            (
                "Multipart/Mixed; charset=utf-8; BOUNDARY=\"a b;c=d\"; x=y",
                "a b;c=d",
            ),
            ("multipart/mixed; boundary=a=b= ", "a=b="),
            ("multipart/mixed; boundary=a; type=x", "a"),
        ] {
            assert_eq!(boundary(text), Some(expected), "{text}");
        }
        let long = format!("multipart/mixed; boundary={}", "x".repeat(201));
        for bad in [
            "",
            "multipart/mixed",
            "multipart/mixed;",
            "multipart/mixed; boundary=",
            "multipart/mixed; boundary=\"a",
            "multipart/form-data; boundary=a",
            "application/json; boundary=a",
            "multipart/mixed; charset=utf-8",
            &long,
        ] {
            assert_eq!(boundary(bad), None, "{bad}");
        }
    }
}
