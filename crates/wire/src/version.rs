//! Protocol versions: the header `x-ms-version`.

use crate::Failure;

/// A protocol version: the date in `x-ms-version`, as the number YYYYMMDD. Every date since that of the first version
/// is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The first version, 2009-04-14.
    pub const OLDEST: Self = Self(20_090_414);
    /// The first version with JSON (2013-08-15).
    pub const JSON: Self = Self(20_130_815);
    /// The first version that returns the client's request id with every answer; recordings of version 2018-03-28 lack
    /// it.
    pub const CLIENT_REQUEST_ID: Self = Self(20_190_202);
    /// The first version that answers missing credentials and refused bearer tokens with 401 and a challenge (2019-12-12).
    pub const CHALLENGE: Self = Self(20_191_212);

    /// The version of a date known at compile time, as the number YYYYMMDD.
    pub const fn from_date(date: u32) -> Self {
        Self(date)
    }

    /// The date as the number YYYYMMDD.
    pub const fn date(self) -> u32 {
        self.0
    }

    /// Reads `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: &[u8; 10] = text.as_bytes().try_into().ok()?;
        let mut date = 0;
        for (index, &byte) in bytes.iter().enumerate() {
            match (index, byte) {
                (4 | 7, b'-') => {}
                (4 | 7, _) => return None,
                (_, b'0'..=b'9') => date = date * 10 + u32::from(byte - b'0'),
                _ => return None,
            }
        }
        let (month, day) = (date / 100 % 100, date % 100);
        let version = Self(date);
        let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && version >= Self::OLDEST;
        fits.then_some(version)
    }

    /// Reads the header `x-ms-version`.
    ///
    /// # Errors
    /// 400 InvalidHeaderValue, naming header and value.
    pub fn parse_header(text: &str) -> Result<Self, Failure> {
        Self::parse(text).ok_or_else(|| Failure::header_value("x-ms-version", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;
    use proptest::prelude::*;

    #[test]
    fn versions_are_dates_since_2009() {
        for good in ["2009-04-14", "2019-02-02", "2026-10-06", "2099-12-31"] {
            assert!(Version::parse(good).is_some(), "{good}");
        }
        let bad = [
            "",
            "2019",
            "2019-2-2",
            "2019-13-01",
            "2019-00-01",
            "2019-01-32",
            "2009-04-13",
            "2O19-02-02",
            "20190202  ",
        ];
        for bad in bad {
            let refused = Version::parse_header(bad).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidHeaderValue, "{bad}");
        }
        assert!(Version::parse("2013-08-14").unwrap() < Version::JSON);
        assert_eq!(Version::parse("2013-08-15"), Some(Version::JSON));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = Version::parse(&text);
        }
    }
}
