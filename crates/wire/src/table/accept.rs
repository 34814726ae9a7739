//! Reads the headers that choose the form of an answer: `Accept` and `Prefer`.

use crate::{ErrorCode, Failure, Version, split};

/// How many annotations a JSON answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum MetadataLevel {
    /// `odata=nometadata`: values only.
    None,
    /// `odata=minimalmetadata`: the context, ETags, and types that the JSON value does not imply.
    #[default]
    Minimal,
    /// `odata=fullmetadata`: also all types, ids and edit links.
    Full,
}

impl MetadataLevel {
    /// The `Content-Type` of an answer, the same for success and error, as in recorded answers of Azure.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Self::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            Self::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }

    /// The level that a request selects: by `$format` (decoded) if present, else by `Accept`.
    ///
    /// The default, also for `*/*` and plain `application/json`, is minimal metadata. Of a list of media types, the
    /// first that is JSON or a wildcard is used. XML types select Atom, which the service removed in 2015.
    ///
    /// # Errors
    /// 415 AtomFormatNotSupported, JsonVerboseFormatNotSupported, MediaTypeNotSupported; JsonFormatNotSupported for
    /// versions before 2013-08-15.
    pub fn choose(
        accept: Option<&str>,
        format: Option<&str>,
        version: Version,
    ) -> Result<Self, Failure> {
        let wanted = format.or(accept).unwrap_or("*/*");
        let mut refusal = ErrorCode::MediaTypeNotSupported;
        for media_type in split::all(wanted, b',') {
            match Self::of_media_type(media_type) {
                Ok(_) if version < Version::JSON => refusal = ErrorCode::JsonFormatNotSupported,
                Ok(level) => return Ok(level),
                Err(code) => refusal = code,
            }
        }
        Err(refusal.into())
    }

    fn of_media_type(text: &str) -> Result<Self, ErrorCode> {
        let mut parts = split::all(text, b';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_one_of = |known: &[&str]| known.iter().any(|known| name.eq_ignore_ascii_case(known));
        if !is_one_of(&["application/json", "json", "*/*", "application/*", ""]) {
            let atom = [
                "application/atom+xml",
                "application/xml",
                "text/xml",
                "atom",
            ];
            return Err(if is_one_of(&atom) {
                ErrorCode::AtomFormatNotSupported
            } else {
                ErrorCode::MediaTypeNotSupported
            });
        }
        let level = parts.find_map(|parameter| {
            let (name, value) = split::once(parameter, b'=')?;
            name.trim_end()
                .eq_ignore_ascii_case("odata")
                .then(|| value.trim().trim_matches('"'))
        });
        let Some(level) = level else {
            return Ok(Self::Minimal);
        };
        let known = [
            ("minimalmetadata", Ok(Self::Minimal)),
            ("nometadata", Ok(Self::None)),
            ("fullmetadata", Ok(Self::Full)),
            ("verbose", Err(ErrorCode::JsonVerboseFormatNotSupported)),
        ];
        let named = known
            .into_iter()
            .find(|(name, _)| level.eq_ignore_ascii_case(name));
        named.map_or(Err(ErrorCode::MediaTypeNotSupported), |(_, level)| level)
    }
}

/// Whether a list of media types names JSON, of any level. `*/*` does not.
pub(super) fn names_json(media_types: &str) -> bool {
    split::all(media_types, b',').any(is_json)
}

/// Whether a media type is JSON, whatever its parameters.
fn is_json(media_type: &str) -> bool {
    let (name, _) = split::once(media_type, b';').unwrap_or((media_type, ""));
    let name = name.trim();
    name.eq_ignore_ascii_case("application/json") || name.eq_ignore_ascii_case("json")
}

/// Checks the `Content-Type` of a POST with an entity or a table's name. Without one, the body is taken as JSON.
///
/// # Errors
/// 415 MediaTypeNotSupported (azure-sdk-for-python, test_table_batch test_client_with_url_ends_with_table_name: the POST of
/// multipart/mixed to a table).
pub fn check_content_type(content_type: Option<&str>) -> Result<(), Failure> {
    match content_type.map(str::trim) {
        Some(media_type) if !media_type.is_empty() && !is_json(media_type) => {
            Err(ErrorCode::MediaTypeNotSupported.into())
        }
        _ => Ok(()),
    }
}

/// The preference of a `Prefer` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefer {
    /// `return-content`: 201 with a body.
    ReturnContent,
    /// `return-no-content`: 204.
    ReturnNoContent,
}

impl Prefer {
    /// Reads the header. Unknown preferences are ignored (RFC 7240).
    pub fn parse(text: &str) -> Option<Self> {
        split::all(text, b',')
            .map(str::trim)
            .find_map(|preference| {
                [Self::ReturnNoContent, Self::ReturnContent]
                    .into_iter()
                    .find(|known| preference.eq_ignore_ascii_case(known.text()))
            })
    }

    /// The value of `Preference-Applied`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::ReturnContent => "return-content",
            Self::ReturnNoContent => "return-no-content",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V2019: Version = Version::from_date(20_190_202);

    fn choose(accept: Option<&str>, format: Option<&str>) -> Result<MetadataLevel, ErrorCode> {
        MetadataLevel::choose(accept, format, V2019).map_err(|failure| failure.code)
    }

    #[test]
    fn accept_names_a_level() {
        for (accept, level) in [
            ("application/json;odata=nometadata", MetadataLevel::None),
            (
                "application/json; odata=minimalmetadata",
                MetadataLevel::Minimal,
            ),
            ("application/json;odata=fullmetadata", MetadataLevel::Full),
            (
                "application/json;odata=fullmetadata;charset=utf-8",
                MetadataLevel::Full,
            ),
            (
                "Application/JSON; q=1; OData=\"FullMetadata\"",
                MetadataLevel::Full,
            ),
            ("application/json", MetadataLevel::Minimal),
            ("*/*", MetadataLevel::Minimal),
            ("", MetadataLevel::Minimal),
            (
                "application/atom+xml,application/json;odata=nometadata",
                MetadataLevel::None,
            ),
        ] {
            assert_eq!(choose(Some(accept), None), Ok(level), "{accept}");
        }
        assert_eq!(choose(None, None), Ok(MetadataLevel::Minimal));
    }

    #[test]
    fn format_wins_over_accept() {
        let format = Some("application/json;odata=nometadata");
        assert_eq!(
            choose(Some("application/json;odata=fullmetadata"), format),
            Ok(MetadataLevel::None)
        );
        assert_eq!(
            choose(Some("application/atom+xml"), format),
            Ok(MetadataLevel::None)
        );
    }

    #[test]
    fn unsupported_media_types_are_415() {
        let atom = ErrorCode::AtomFormatNotSupported;
        let media_type = ErrorCode::MediaTypeNotSupported;
        for (code, refused) in [
            (atom, ["application/atom+xml", "application/xml"]),
            (media_type, ["application/json;odata=some", "text/html"]),
        ] {
            for accept in refused {
                assert_eq!(choose(Some(accept), None), Err(code), "{accept}");
            }
        }
        let verbose = choose(Some("application/json;odata=verbose"), None);
        assert_eq!(verbose, Err(ErrorCode::JsonVerboseFormatNotSupported));
        let old = Version::from_date(20_120_212);
        let refused = MetadataLevel::choose(Some("application/json"), None, old).unwrap_err();
        assert_eq!(refused.code, ErrorCode::JsonFormatNotSupported);
    }

    #[test]
    fn bodies_are_json() {
        for good in [
            None,
            Some(""),
            Some(" "),
            Some("application/json"),
            Some("Application/JSON; odata=nometadata;charset=utf-8"),
            Some("application/json;odata=verbose"),
        ] {
            assert_eq!(check_content_type(good), Ok(()), "{good:?}");
        }
        for bad in [
            "multipart/mixed; boundary=batch_1",
            "text/plain",
            "application/atom+xml",
            "application/x-www-form-urlencoded",
            "application/jsonp",
            "*/*",
            ";",
        ] {
            let refused = check_content_type(Some(bad)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::MediaTypeNotSupported, "{bad}");
        }
    }

    #[test]
    fn preferences() {
        assert_eq!(
            Prefer::parse("return-no-content"),
            Some(Prefer::ReturnNoContent)
        );
        assert_eq!(
            Prefer::parse("x, Return-Content"),
            Some(Prefer::ReturnContent)
        );
        assert_eq!(Prefer::parse("respond-async"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = MetadataLevel::choose(Some(&text), Some(&text), V2019);
            let _ = Prefer::parse(&text);
        }
    }
}
