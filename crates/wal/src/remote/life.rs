//! The identity of a log, and the names of its objects.

use std::fmt;

use object_store::path::Path;

/// The folder of all logs.
const FOLDER: &str = "log";

/// The name of the object that says that a log was collected.
const COLLECTED: &str = "collected";

/// The identity of a log: the life of the process that writes it. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Life(pub u64);

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What an object of a log is, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// A group or a seal.
    Number(u64),
    /// The log was collected.
    Collected,
}

/// The prefix of all logs.
pub(super) fn all_logs() -> Path {
    Path::from(FOLDER)
}

impl Life {
    /// The prefix of the log.
    pub(super) fn folder(self) -> Path {
        Path::from(format!("{FOLDER}/{self}"))
    }

    /// The path of the group or seal with `number`. The order of the paths is the order of the numbers.
    pub(super) fn path(self, number: u64) -> Path {
        Path::from(format!("{FOLDER}/{self}/{number:020}"))
    }

    /// The path of the object that says that the log was collected.
    pub(super) fn collected_path(self) -> Path {
        Path::from(format!("{FOLDER}/{self}/{COLLECTED}"))
    }
}

/// The log and the name of an object; `None` if the path is not an object of a log.
pub(super) fn parse(path: &Path) -> Option<(Life, Name)> {
    let mut parts = path.as_ref().split('/');
    let (folder, life, name) = (parts.next()?, parts.next()?, parts.next()?);
    if folder != FOLDER || parts.next().is_some() {
        return None;
    }
    let life = Life(u64::from_str_radix(life, 16).ok()?);
    let name = match name {
        COLLECTED => Name::Collected,
        number => Name::Number(number.parse().ok()?),
    };
    let is_canonical = match name {
        Name::Number(number) => life.path(number) == *path,
        Name::Collected => life.collected_path() == *path,
    };
    is_canonical.then_some((life, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed_back() {
        let life = Life(0xab);
        assert_eq!(
            life.path(7).as_ref(),
            "log/00000000000000ab/00000000000000000007"
        );
        assert_eq!(parse(&life.path(7)), Some((life, Name::Number(7))));
        assert_eq!(
            parse(&life.path(u64::MAX)),
            Some((life, Name::Number(u64::MAX)))
        );
        assert_eq!(parse(&life.collected_path()), Some((life, Name::Collected)));
    }

    #[test]
    fn other_paths_are_not_objects_of_a_log() {
        for other in [
            "log/00000000000000ab",
            "log/ab/00000000000000000007",
            "log/00000000000000ab/7",
            "log/00000000000000AB/00000000000000000007",
            "log/00000000000000ab/00000000000000000007/x",
            "log/00000000000000ab/+0000000000000000007",
            "logs/00000000000000ab/00000000000000000007",
        ] {
            assert_eq!(parse(&Path::from(other)), None, "{other}");
        }
    }
}
