//! The layers in which settings are given: defaults, file, environment, flags; each overrides the previous one.
//!
//! An unknown key of the file is an error that names the most similar known key. An unknown `PARTITA_` variable is only
//! a warning: container platforms set such names for a service called "partita". Values stay text in this module: three
//! of the four layers have texts, and the numbers, lists and tables of the file are converted to the text of a flag.

use std::path::{Path, PathBuf};

use super::setting::{Setting, Takes};
use super::values::{Source, Values};
use super::{Error, catalog, suggestion, targets};

/// The variable that names the settings file when no flag does.
pub const FILE_VARIABLE: &str = "PARTITA_CONFIG";

/// Variables of the toolbox, which are not settings of a server.
const TOOLBOX_VARIABLES: [&str; 3] = ["PARTITA_ADMIN", "PARTITA_PROFILE", "PARTITA_COMPLETE_WAIT"];

/// The prefix of the variables that `--coordinator` reads.
const ETCD_PREFIX: &str = "PARTITA_ETCD_";

/// The prefix of the variables of settings.
const PREFIX: &str = "PARTITA_";

/// The texts given in each layer.
#[derive(Debug, Default)]
pub struct Layers {
    defaults: Vec<(&'static Setting, &'static str)>,
    file: Option<(PathBuf, String)>,
    variables: Vec<(String, String)>,
    flags: Vec<(&'static Setting, String)>,
    config_flag: Option<PathBuf>,
}

impl Layers {
    /// Replaces the default of a setting.
    pub fn default_of(mut self, setting: &'static Setting, text: &'static str) -> Layers {
        self.defaults.push((setting, text));
        self
    }

    /// Adds the variables with the prefix `PARTITA_`, and Azurite's two; ignores all others.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Layers {
        let ours = |name: &str| {
            name.starts_with(PREFIX) || name == "AZURITE_ACCOUNTS" || name == "AZURITE_DB"
        };
        let variables = variables.into_iter();
        self.variables = variables.filter(|(name, _)| ours(name)).collect();
        self
    }

    /// Adds one flag of the command line. A repeated flag overrides its earlier value; of a list, it adds to the value.
    pub fn flag(mut self, setting: &'static Setting, text: String) -> Layers {
        let mut flags = self.flags.iter_mut();
        match flags.find(|(known, _)| known.key == setting.key) {
            Some((_, list)) if matches!(setting.takes, Takes::Many(_)) => {
                list.push(',');
                list.push_str(&text);
            }
            Some((_, old)) => *old = text,
            None => self.flags.push((setting, text)),
        }
        self
    }

    /// Adds the settings file that the command line names.
    pub fn config_flag(mut self, path: PathBuf) -> Layers {
        self.config_flag = Some(path);
        self
    }

    /// Reads the settings file that a flag or [`FILE_VARIABLE`] names, if any.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_file(mut self) -> Result<Layers, Error> {
        let mut variables = self.variables.iter();
        let named = variables.find(|(name, _)| name == FILE_VARIABLE);
        let named = named.map(|(_, path)| PathBuf::from(path));
        let Some(path) = self.config_flag.take().or(named) else {
            return Ok(self);
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(self.file_text(path, text)),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// Adds the text of a settings file that has been read.
    pub fn file_text(mut self, path: PathBuf, text: String) -> Layers {
        self.file = Some((path, text));
        self
    }

    /// Merges the layers. Returns the values, and warnings for the operator.
    ///
    /// # Errors
    /// The file is not TOML, has an unknown key, or a value of an invalid type.
    pub fn resolve(self) -> Result<(Values, Vec<String>), Error> {
        let mut values = Values::defaults();
        for (setting, text) in self.defaults {
            values.set(setting, text.to_owned(), Source::Default);
        }
        let mut warnings = Vec::new();
        if let Some((path, text)) = &self.file {
            merge_file(&mut values, path, text)?;
        }
        merge_variables(&mut values, &self.variables, &mut warnings);
        for (setting, text) in self.flags {
            values.set(setting, text, Source::Flag(setting.flag));
        }
        Ok((values, warnings))
    }
}

fn merge_file(values: &mut Values, path: &Path, text: &str) -> Result<(), Error> {
    let table: toml::Table = toml::from_str(text).map_err(|error| Error::Syntax {
        path: path.to_owned(),
        error: error.to_string(),
    })?;
    let mut entries = Vec::new();
    flatten("", &table, &mut entries);
    for (key, value) in entries {
        let Some(setting) = catalog::ALL.iter().find(|setting| setting.key == key) else {
            let keys = catalog::ALL.iter().map(|setting| setting.key);
            return Err(Error::UnknownKey {
                path: path.to_owned(),
                nearest: nearest(&key, keys),
                key,
            });
        };
        let Some(text) = text_of(setting, value) else {
            return Err(Error::Type {
                path: path.to_owned(),
                key,
                expected: expected_type(setting),
            });
        };
        values.set(setting, text, Source::File(path.to_owned()));
    }
    Ok(())
}

/// Lists dotted keys with their values. A table that is itself a setting (`accounts`, `targets.tables`) is one value.
fn flatten<'a>(prefix: &str, table: &'a toml::Table, entries: &mut Vec<(String, &'a toml::Value)>) {
    for (name, value) in table {
        let key = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match value {
            toml::Value::Table(inner) if !catalog::ALL.iter().any(|setting| setting.key == key) => {
                flatten(&key, inner, entries);
            }
            _ => entries.push((key, value)),
        }
    }
}

/// The value as the text of a flag; `None` if its type does not fit the setting.
fn text_of(setting: &Setting, value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(on) => Some(on.to_string()),
        toml::Value::Array(items) if matches!(setting.takes, Takes::Many(_)) => {
            Some(strings(items)?.join(","))
        }
        toml::Value::Table(table) if setting.key == catalog::ACCOUNTS.key => accounts_text(table),
        toml::Value::Table(table) if setting.key == catalog::TARGET_TABLES.key => {
            targets::tables_text(table)
        }
        _ => None,
    }
}

/// The types that a key of the file takes, for errors.
fn expected_type(setting: &Setting) -> &'static str {
    match setting.takes {
        Takes::Switch => "true or false",
        Takes::One(_) if setting.key == catalog::ACCOUNTS.key => {
            "a text, or a table of names with one or two keys"
        }
        Takes::One(_) if setting.key == catalog::TARGET_TABLES.key => {
            "a text, or a table of names with their targets"
        }
        Takes::One(_) => "a text or a number",
        Takes::Many(_) => "a text, or a list of texts",
    }
}

/// `[accounts]` with `name = "key"` or `name = ["key", "key2"]` as the text of the flag.
fn accounts_text(table: &toml::Table) -> Option<String> {
    let mut text = String::new();
    for (name, keys) in table {
        let keys = match keys {
            toml::Value::String(key) => vec![key.as_str()],
            toml::Value::Array(items) => strings(items)?,
            _ => return None,
        };
        text.push_str(&format!("{name}:{};", keys.join(":")));
    }
    Some(text)
}

fn strings(items: &[toml::Value]) -> Option<Vec<&str>> {
    items.iter().map(toml::Value::as_str).collect()
}

fn merge_variables(
    values: &mut Values,
    variables: &[(String, String)],
    warnings: &mut Vec<String>,
) {
    // Azurite's variables first, so that Partita's override them.
    for (name, text) in variables {
        match name.as_str() {
            "AZURITE_ACCOUNTS" => {
                let source = Source::Variable(name.clone());
                values.set(&catalog::ACCOUNTS, text.clone(), source);
            }
            "AZURITE_DB" => warnings.push(
                "variable AZURITE_DB has no effect: data is always kept in the embedded store"
                    .to_owned(),
            ),
            _ => {}
        }
    }
    for (name, text) in variables {
        let Some(ours) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let setting = catalog::ALL.iter().find(|known| known.variable() == *name);
        match setting {
            Some(setting) => values.set(setting, text.clone(), Source::Variable(name.clone())),
            None if name == FILE_VARIABLE
                || TOOLBOX_VARIABLES.contains(&name.as_str())
                || name.starts_with(ETCD_PREFIX) => {}
            None => warnings.push(format!("unknown environment variable {name}{}", hint(ours))),
        }
    }
}

/// A suggestion for an unknown variable; `ours` is its name without the prefix.
fn hint(ours: &str) -> String {
    let variables: Vec<String> = catalog::ALL.iter().map(|known| known.variable()).collect();
    let names = variables.iter();
    let near = nearest(ours, names.filter_map(|name| name.strip_prefix(PREFIX)));
    suggestion(near.map(|near| format!("{PREFIX}{near}")).as_deref())
}

/// The known name that is most similar to a mistyped one, if any is similar.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = known.map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then(|| best.1.to_owned())
}
