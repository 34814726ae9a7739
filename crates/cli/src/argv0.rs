//! The name by which the binary was called.

use std::ffi::OsString;
use std::path::Path;

/// Whose command line to take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// Our own.
    Partita,
    /// That of `azurite` or `azurite-table`.
    AzuriteTable,
    /// Azurite's name for a service that is not here.
    OtherService(String),
}

impl Called {
    /// Reads the name out of the arguments. Anything unknown is our own name: people rename binaries.
    pub(crate) fn by(arguments: &[OsString]) -> Called {
        let name = arguments
            .first()
            .and_then(|name| Path::new(name).file_stem());
        match name.and_then(|name| name.to_str()) {
            Some("azurite" | "azurite-table") => Called::AzuriteTable,
            Some(name @ ("azurite-blob" | "azurite-queue")) => {
                Called::OtherService(name.to_owned())
            }
            _ => Called::Partita,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_extensions_do_not_matter() {
        let by = |name: &str| Called::by(&[OsString::from(name), OsString::from("azurite")]);
        assert_eq!(by("/usr/bin/azurite"), Called::AzuriteTable);
        assert_eq!(by("azurite-table.exe"), Called::AzuriteTable);
        assert_eq!(
            by("./azurite-queue"),
            Called::OtherService("azurite-queue".to_owned())
        );
        assert_eq!(by("target/release/partita"), Called::Partita);
        assert_eq!(by("tables"), Called::Partita);
        assert_eq!(Called::by(&[]), Called::Partita);
    }
}
