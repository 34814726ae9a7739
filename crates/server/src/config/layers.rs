//! Defaults, file, environment, flags: the layers in which settings are given, each overriding the one before.
//!
//! Unknown keys of the file are refused, with the nearest known one. Unknown `PARTITA_` variables are warned about only:
//! a container platform sets such names by itself for a service that happens to be called "partita".

use std::path::{Path, PathBuf};

use super::Error;
use super::catalog;
use super::setting::{Setting, Takes};
use super::targets;
use super::values::{Source, Values};

/// The variable that names the settings file when no flag does.
pub const FILE_VARIABLE: &str = "PARTITA_CONFIG";

/// What was given in each layer, still as text.
#[derive(Debug, Default)]
pub struct Layers {
    file: Option<(PathBuf, String)>,
    variables: Vec<(String, String)>,
    flags: Vec<(&'static Setting, String)>,
    config_flag: Option<PathBuf>,
}

impl Layers {
    /// No layer but the defaults.
    pub fn new() -> Layers {
        Layers::default()
    }

    /// Takes the variables that concern settings out of an environment, and those only.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Layers {
        let ours = |name: &str| {
            name.starts_with("PARTITA_") || name == "AZURITE_ACCOUNTS" || name == "AZURITE_DB"
        };
        self.variables = variables
            .into_iter()
            .filter(|(name, _)| ours(name))
            .collect();
        self
    }

    /// One flag of the command line. Later ones override, lists add up.
    pub fn flag(mut self, setting: &'static Setting, text: String) -> Layers {
        let given = self
            .flags
            .iter_mut()
            .find(|(known, _)| known.key == setting.key);
        match given {
            Some((_, list)) if matches!(setting.takes, Takes::Many(_)) => {
                list.push(',');
                list.push_str(&text);
            }
            Some((_, old)) => *old = text,
            None => self.flags.push((setting, text)),
        }
        self
    }

    /// The settings file named on the command line.
    pub fn config_flag(mut self, path: PathBuf) -> Layers {
        self.config_flag = Some(path);
        self
    }

    /// Reads the settings file, if one is named.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_file(mut self) -> Result<Layers, Error> {
        let named = self
            .variables
            .iter()
            .find(|(name, _)| name == FILE_VARIABLE);
        let named = named.map(|(_, path)| PathBuf::from(path));
        let Some(path) = self.config_flag.clone().or(named) else {
            return Ok(self);
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => self.file = Some((path, text)),
            Err(source) => return Err(Error::File { path, source }),
        }
        Ok(self)
    }

    /// The settings file's text, for those who have it already.
    pub fn file_text(mut self, path: PathBuf, text: String) -> Layers {
        self.file = Some((path, text));
        self
    }

    /// Lays the layers over each other. The second part are warnings for the operator.
    ///
    /// # Errors
    /// The file is not TOML, or has a key that does not exist.
    pub fn resolve(self) -> Result<(Values, Vec<String>), Error> {
        let mut values = Values::defaults();
        let mut warnings = Vec::new();
        if let Some((path, text)) = &self.file {
            lay_file(&mut values, path, text)?;
        }
        lay_variables(&mut values, &self.variables, &mut warnings);
        for (setting, text) in self.flags {
            values.set(setting, text, Source::Flag(setting.flag));
        }
        Ok((values, warnings))
    }
}

fn lay_file(values: &mut Values, path: &Path, text: &str) -> Result<(), Error> {
    let table: toml::Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => {
            let error = error.to_string();
            return Err(Error::Syntax {
                path: path.to_owned(),
                error,
            });
        }
    };
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
            return Err(Error::Shape {
                path: path.to_owned(),
                key,
            });
        };
        values.set(setting, text, Source::File(path.to_owned()));
    }
    Ok(())
}

/// Dotted keys and their values; a table that is itself a setting (`accounts`, `targets.tables`) stays whole.
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

/// The value as a flag would have given it. None if its shape fits no setting.
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

/// `[accounts]` with `name = "key"` or `name = ["key", "key2"]`, in the one-line form.
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

fn lay_variables(values: &mut Values, variables: &[(String, String)], warnings: &mut Vec<String>) {
    // Azurite's names first, so that ours win over them.
    for (name, text) in variables {
        match name.as_str() {
            "AZURITE_ACCOUNTS" => values.set(
                &catalog::ACCOUNTS,
                text.clone(),
                Source::Variable(name.clone()),
            ),
            "AZURITE_DB" => warnings
                .push("AZURITE_DB has no effect: the store is always the embedded one".to_owned()),
            _ => {}
        }
    }
    for (name, text) in variables {
        let Some(ours) = name.strip_prefix("PARTITA_") else {
            continue;
        };
        let setting = catalog::ALL.iter().find(|known| known.variable() == *name);
        match setting {
            Some(setting) => values.set(setting, text.clone(), Source::Variable(name.clone())),
            None if name == FILE_VARIABLE => {}
            None => warnings.push(format!("variable {name} names no setting{}", hint(ours))),
        }
    }
}

/// The variable that was meant, for one that names no setting; `ours` is what follows the prefix.
fn hint(ours: &str) -> String {
    let variables: Vec<String> = catalog::ALL.iter().map(|known| known.variable()).collect();
    let ends = variables
        .iter()
        .filter_map(|name| name.strip_prefix("PARTITA_"));
    match nearest(ours, ends) {
        Some(near) => format!("; did you mean PARTITA_{near}?"),
        None => String::new(),
    }
}

/// The name most like a mistyped one, if any is like it at all.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = known.map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then(|| best.1.to_owned())
}
