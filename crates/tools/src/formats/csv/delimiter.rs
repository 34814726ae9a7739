//! The delimiter of a CSV file, from its first line. Spreadsheets in many languages write semicolons.

use std::io::{self, BufRead as _, BufReader, Cursor, Read};

/// The delimiters that are recognised, the usual one first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// The columns that every file has.
const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];
/// Number of columns that the message of a missing column names.
const COLUMNS_NAMED: usize = 8;

/// An input whose first line is already read, and is read again.
pub(super) struct FirstLine<R> {
    line: Cursor<Vec<u8>>,
    rest: BufReader<R>,
}

impl<R: Read> FirstLine<R> {
    /// Reads the first line, of at most `bytes_max` bytes.
    pub(super) fn read(input: R, bytes_max: usize) -> io::Result<Self> {
        let (mut rest, mut line) = (BufReader::new(input), Vec::new());
        let mut bounded = rest.by_ref().take(bytes_max as u64);
        bounded.read_until(b'\n', &mut line)?;
        Ok(Self {
            line: Cursor::new(line),
            rest,
        })
    }

    /// The delimiter that separates the names of the keys; a comma if none does.
    pub(super) fn delimiter(&self) -> u8 {
        let line = self.line.get_ref();
        let has_keys = |delimiter: &u8| {
            let mut names = csv::ReaderBuilder::new()
                .delimiter(*delimiter)
                .from_reader(&**line);
            names
                .headers()
                .is_ok_and(|names| KEYS.iter().all(|key| names.iter().any(|name| name == *key)))
        };
        DELIMITERS.into_iter().find(has_keys).unwrap_or(b',')
    }
}

impl<R: Read> Read for FirstLine<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.line.read(buffer)? {
            0 => self.rest.read(buffer),
            read => Ok(read),
        }
    }
}

/// The message for a first line without one of the keys.
pub(super) fn missing_column(key: &str, names: &csv::StringRecord, delimiter: u8) -> String {
    let found: Vec<String> = names
        .iter()
        .take(COLUMNS_NAMED)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = if names.len() > COLUMNS_NAMED {
        ", …"
    } else {
        ""
    };
    format!(
        "missing column {key}: the first line must name the columns PartitionKey and RowKey; it has {}{more}, separated by {:?}; --delimiter sets another separator",
        found.join(", "),
        char::from(delimiter),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_shows_the_delimiter() {
        for (line, expected) in [
            ("PartitionKey,RowKey,a;b\n1;2", b','),
            ("a;PartitionKey;RowKey\r\n", b';'),
            ("\u{FEFF}PartitionKey\tRowKey", b'\t'),
            ("\"PartitionKey\"|\"RowKey\"\n", b'|'),
            ("a;b\n", b','),
            ("", b','),
        ] {
            let mut input = FirstLine::read(line.as_bytes(), 1024).unwrap();
            assert_eq!(
                char::from(input.delimiter()),
                char::from(expected),
                "{line}"
            );
            let mut again = String::new();
            input.read_to_string(&mut again).unwrap();
            assert_eq!(again, line);
        }
    }
}
