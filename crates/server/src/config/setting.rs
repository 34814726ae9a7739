//! The description of one setting: its key in the file, its flag, its variable, its default and its help.
//!
//! Descriptions only: the texts are in [`Values`](super::Values), the typed values in [`Settings`](super::Settings).

/// The values of a setting on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// No value: the flag alone switches it on (`--silent`). In the file and in variables: `true` or `false`.
    Switch,
    /// One value, with its placeholder in the help (`PORT`).
    One(&'static str),
    /// A list: the flag may be repeated; elsewhere one text with commas.
    Many(&'static str),
}

/// The description of one setting.
#[derive(Debug)]
pub struct Setting {
    /// Dotted key in the settings file: `table.port`.
    pub key: &'static str,
    /// Long flag without the dashes: `table-port`. The variable's name is derived from the flag, see
    /// [`Setting::variable`].
    pub flag: &'static str,
    /// Other long flags with the same meaning: Azurite's camelCase ones.
    pub aliases: &'static [&'static str],
    /// One-letter flag, as in Azurite.
    pub short: Option<char>,
    /// The values of the flag.
    pub takes: Takes,
    /// The default as text; empty means "not set".
    pub default: &'static str,
    /// Heading of the help under which the flag is listed.
    pub group: &'static str,
    /// One or two lines for the help, units included.
    pub help: &'static str,
    /// True if no output and no error may show the value.
    pub secret: bool,
}

impl Setting {
    /// The base of every entry of the catalog: no alias, no one-letter flag, not secret.
    pub(super) const NONE: Setting = Setting {
        key: "",
        flag: "",
        aliases: &[],
        short: None,
        takes: Takes::Switch,
        default: "",
        group: "",
        help: "",
        secret: false,
    };

    /// The environment variable: `PARTITA_` and the flag in capitals with underscores.
    pub fn variable(&self) -> String {
        format!(
            "PARTITA_{}",
            self.flag.replace('-', "_").to_ascii_uppercase()
        )
    }
}
