//! The name by which the binary was called: `azurite` and the names of its services have their own command line.

use std::ffi::OsString;
use std::path::Path;

/// Which command line to read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Argv0 {
    /// The command line of `partita`.
    Partita,
    /// The command line of `azurite` or `azurite-queue`.
    Azurite,
    /// The command line of `azurite-table`, which serves no queues by default.
    AzuriteTable,
    /// `azurite-blob`: a service that this server does not have.
    OtherService(String),
}

impl Argv0 {
    /// Reads the name out of the arguments. An unknown name counts as `partita`, because a binary may be renamed.
    pub(crate) fn of(arguments: &[OsString]) -> Argv0 {
        let name = arguments
            .first()
            .and_then(|name| Path::new(name).file_stem());
        match name.and_then(|name| name.to_str()) {
            Some("azurite" | "azurite-queue") => Argv0::Azurite,
            Some("azurite-table") => Argv0::AzuriteTable,
            Some(name @ "azurite-blob") => Argv0::OtherService(name.to_owned()),
            _ => Argv0::Partita,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_extensions_do_not_matter() {
        let of = |name: &str| Argv0::of(&[OsString::from(name), OsString::from("azurite")]);
        assert_eq!(of("/usr/bin/azurite"), Argv0::Azurite);
        assert_eq!(of("azurite-queue"), Argv0::Azurite);
        assert_eq!(of("azurite-table.exe"), Argv0::AzuriteTable);
        assert_eq!(
            of("./azurite-blob"),
            Argv0::OtherService("azurite-blob".to_owned())
        );
        assert_eq!(of("target/release/partita"), Argv0::Partita);
        assert_eq!(of("tables"), Argv0::Partita);
        assert_eq!(Argv0::of(&[]), Argv0::Partita);
    }
}
