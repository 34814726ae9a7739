//! Dates in the form of RFC 1123, always GMT: HTTP headers (`Date`, `x-ms-date`) and `LastSyncTime`.

use partita_model::{DateTime, StackText};

const DAYS: [&[u8; 3]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const TICKS_PER_DAY: u64 = 864_000_000_000;

/// Reads `Tue, 02 Jan 2024 03:04:05 GMT`; `None` for any other form, and outside the years 1601 to 9999. Any three
/// bytes pass as the day of the week.
pub fn parse_http_date(text: &str) -> Option<DateTime> {
    let bytes: &[u8; 29] = text.as_bytes().try_into().ok()?;
    let marks = [bytes[3], bytes[4], bytes[7], bytes[11], bytes[16]];
    if marks != *b",    " || bytes[25..] != *b" GMT" {
        return None;
    }
    let is_named = |month: &&[u8; 3]| month.eq_ignore_ascii_case(&bytes[8..11]);
    let month = MONTHS.iter().position(is_named)? + 1;
    // `DateTime::parse` checks the ranges of the fields.
    let mut iso = *b"YYYY-MM-DDThh:mm:ssZ";
    iso[..4].copy_from_slice(&bytes[12..16]);
    iso[5..7].copy_from_slice(&two_digits(month as u32));
    iso[8..10].copy_from_slice(&bytes[5..7]);
    iso[11..19].copy_from_slice(&bytes[17..25]);
    DateTime::parse(std::str::from_utf8(&iso).ok()?).ok()
}

/// The text of a date-time in an HTTP header.
pub type HttpDate = StackText<29>;

/// Formats a time for an HTTP header. Fractions of a second are cut off.
pub fn http_date(at: DateTime) -> HttpDate {
    let (year, month, day, hour, minute, second, _) = at.fields();
    let mut text = *b"Www, DD Mmm YYYY hh:mm:ss GMT";
    // 0001-01-01, the zero of the ticks, was a Monday.
    text[..3].copy_from_slice(DAYS[(at.ticks() / TICKS_PER_DAY % 7) as usize]);
    text[5..7].copy_from_slice(&two_digits(day));
    text[8..11].copy_from_slice(MONTHS[(month as usize - 1) % 12]);
    text[12..14].copy_from_slice(&two_digits(year / 100));
    text[14..16].copy_from_slice(&two_digits(year));
    text[17..19].copy_from_slice(&two_digits(hour));
    text[20..22].copy_from_slice(&two_digits(minute));
    text[23..25].copy_from_slice(&two_digits(second));
    HttpDate::new(text, text.len())
}

/// The last two digits of a number.
const fn two_digits(number: u32) -> [u8; 2] {
    [b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]
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
            assert_eq!(&*http_date(at), text);
        }
    }

    #[test]
    fn invalid_dates_are_refused() {
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
            prop_assert_eq!(parse_http_date(&http_date(at)), Some(at));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String, shaped in "[A-Z][a-z]{2}, [0-9é]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT") {
            let _ = (parse_http_date(&text), parse_http_date(&shaped));
        }
    }
}
