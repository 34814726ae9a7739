//! Dates of HTTP headers (`Date`, `x-ms-date`, `LastSyncTime`): RFC 1123, always GMT.

use partita_model::DateTime;
use std::fmt;

const DAYS: [&[u8; 3]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const TICKS_PER_DAY: u64 = 864_000_000_000;

/// Reads `Tue, 02 Jan 2024 03:04:05 GMT`. The day of the week is not held against the date.
///
/// `None` where the text has another form or is no date from 1601 to 9999.
#[must_use]
pub fn parse_http_date(text: &str) -> Option<DateTime> {
    let bytes: &[u8; 29] = text.as_bytes().try_into().ok()?;
    let &[
        _,
        _,
        _,
        b',',
        b' ',
        d1,
        d2,
        b' ',
        m1,
        m2,
        m3,
        b' ',
        y1,
        y2,
        y3,
        y4,
        b' ',
        ref rest @ ..,
    ] = bytes
    else {
        return None;
    };
    let &[h1, h2, b':', n1, n2, b':', s1, s2, b' ', b'G', b'M', b'T'] = rest else {
        return None;
    };
    let month = 1 + MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(&[m1, m2, m3]))?;
    let (tens, ones) = if month < 10 {
        (b'0', b'0' + month as u8)
    } else {
        (b'1', b'0' + (month % 10) as u8)
    };
    // The ISO form has the checks already: field ranges, days of months, leap years.
    let iso = [
        y1, y2, y3, y4, b'-', tens, ones, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2,
        b'Z',
    ];
    DateTime::parse(std::str::from_utf8(&iso).ok()?).ok()
}

/// A date-time in the form of HTTP headers, on the stack. Fractions of a second are cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HttpDate([u8; 29]);

impl HttpDate {
    /// Formats a time.
    #[must_use]
    pub fn new(at: DateTime) -> Self {
        let (year, month, day, hour, minute, second, _) = at.fields();
        // 0001-01-01, the zero of the ticks, was a Monday.
        let [w1, w2, w3] = *DAYS[(at.ticks() / TICKS_PER_DAY % 7) as usize];
        let [m1, m2, m3] = *MONTHS[(month as usize - 1) % 12];
        let [century, years, day, hour, minute, second] =
            [year / 100, year % 100, day, hour, minute, second].map(two_digits);
        Self([
            w1, w2, w3, b',', b' ', day[0], day[1], b' ', m1, m2, m3, b' ', century[0], century[1],
            years[0], years[1], b' ', hour[0], hour[1], b':', minute[0], minute[1], b':',
            second[0], second[1], b' ', b'G', b'M', b'T',
        ])
    }
}

const fn two_digits(number: u32) -> [u8; 2] {
    [b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]
}

impl std::ops::Deref for HttpDate {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("made of ASCII parts")
    }
}

impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_dates() {
        for (text, iso) in [
            ("Tue, 02 Jan 2024 03:04:05 GMT", "2024-01-02T03:04:05Z"),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
            ("Thu, 29 Feb 2024 23:59:59 GMT", "2024-02-29T23:59:59Z"),
            ("Fri, 31 Dec 9999 00:00:00 GMT", "9999-12-31T00:00:00Z"),
        ] {
            let at = DateTime::parse(iso).unwrap();
            assert_eq!(parse_http_date(text), Some(at));
            assert_eq!(&*HttpDate::new(at), text);
        }
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "",
            "2024-01-02T03:04:05Z",
            "Tue, 2 Jan 2024 03:04:05 GMT",
            "Tue, 30 Feb 2024 03:04:05 GMT",
            "Tue, 02 Foo 2024 03:04:05 GMT",
            "Tue, 02 Jan 2024 24:04:05 GMT",
            "Tue, 02 Jan 2024 03:04:05 UTC",
            "Tue, +2 Jan 2024 03:04:05 GMT",
            "Tue, 02 Jan 0024 03:04:05 GMT",
        ] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks()) {
            let at = DateTime::from_ticks(ticks - ticks % 10_000_000).unwrap();
            prop_assert_eq!(parse_http_date(&HttpDate::new(at)), Some(at));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String, shaped in "[A-Z][a-z]{2}, [0-9é]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT") {
            let _ = (parse_http_date(&text), parse_http_date(&shaped));
        }
    }
}
