//! One setting as the operator sees it: its key in the file, its flag, its variable, its default and its help.
//!
//! A [`Setting`] is description only. Values live in [`Values`](super::Values), typed ones in the parts of
//! [`Settings`](super::Settings).

/// What a setting takes on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: the flag alone switches it on (`--silent`). In the file and in variables: `true` or `false`.
    Switch,
    /// One value, with the word that stands for it in the help (`PORT`).
    One(&'static str),
    /// Values that add up when the flag is repeated; one text with commas elsewhere.
    Many(&'static str),
}

/// The description of one setting.
#[derive(Debug)]
pub struct Setting {
    /// Dotted key in the settings file: `table.port`.
    pub key: &'static str,
    /// Long flag without the dashes: `table-port`. The variable follows from it, see [`Setting::variable`].
    pub flag: &'static str,
    /// Other long flags for the same thing: Azurite's camelCase ones.
    pub aliases: &'static [&'static str],
    /// Azurite's one-letter flag.
    pub short: Option<char>,
    /// What the flag takes.
    pub takes: Takes,
    /// The default as it would be written; empty means "not set".
    pub default: &'static str,
    /// Heading of the help under which the flag stands.
    pub group: &'static str,
    /// One or two lines for the help, units included.
    pub help: &'static str,
    /// True if the value must not be shown by anything.
    pub secret: bool,
}

impl Setting {
    /// The environment variable: `PARTITA_` and the flag in capitals with underscores.
    pub fn variable(&self) -> String {
        format!(
            "PARTITA_{}",
            self.flag.replace('-', "_").to_ascii_uppercase()
        )
    }
}

/// A flag of Azurite that is taken so that existing command lines go on working, and that changes nothing here.
#[derive(Debug)]
pub struct Accepted {
    /// Long flag without the dashes, as Azurite spells it.
    pub flag: &'static str,
    /// What the flag takes.
    pub takes: Takes,
    /// Why it has no effect.
    pub why: &'static str,
}
