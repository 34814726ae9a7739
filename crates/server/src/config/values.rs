//! The result of merging the layers: the text of every setting and the layer that gave it.
//!
//! [`Values::read`] and its siblings convert these texts into typed settings. Their errors name the setting and the
//! layer, and never show a secret.

use std::fmt;
use std::path::PathBuf;

use super::setting::Setting;
use super::{Error, catalog};

/// Where a value came from, lowest layer first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// No layer gave a value.
    Default,
    /// The settings file.
    File(PathBuf),
    /// This environment variable.
    Variable(String),
    /// This flag, without its dashes.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File(path) => write!(f, "file {}", path.display()),
            Source::Variable(name) => write!(f, "variable {name}"),
            Source::Flag(flag) => write!(f, "flag --{flag}"),
        }
    }
}

/// One setting's text and source.
#[derive(Debug, Clone)]
pub struct Value {
    /// The setting.
    pub setting: &'static Setting,
    /// As written; lists joined by commas; empty means "not set".
    pub text: String,
    /// The layer that gave it.
    pub source: Source,
}

/// All settings, in the order of [`catalog::ALL`].
#[derive(Debug, Clone)]
pub struct Values(Vec<Value>);

impl Values {
    /// All settings with their defaults, which are the lowest layer.
    pub(crate) fn defaults() -> Values {
        let value = |setting: &&'static Setting| Value {
            setting,
            text: setting.default.to_owned(),
            source: Source::Default,
        };
        Values(catalog::ALL.iter().map(value).collect())
    }

    /// Every value, in the order of the help.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }

    /// Overrides one value.
    pub(crate) fn set(&mut self, setting: &'static Setting, text: String, source: Source) {
        let mut values = self.0.iter_mut();
        let value = values.find(|value| value.setting.key == setting.key);
        let value = value.expect("every setting has a value");
        (value.text, value.source) = (text, source);
    }

    /// The value of a setting.
    pub(crate) fn of(&self, setting: &'static Setting) -> &Value {
        let value = self.0.iter().find(|value| value.setting.key == setting.key);
        value.expect("every setting has a value")
    }

    /// The value as read by `parse`; `want` describes valid values for the error.
    pub(crate) fn read<T>(
        &self,
        setting: &'static Setting,
        want: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let value = self.of(setting);
        parse(&value.text).ok_or_else(|| value.invalid(format!("expected {want}")))
    }

    /// Looks up the value among `words`, and returns what it stands for. `want` names the words in the error.
    pub(crate) fn word<T: Clone>(
        &self,
        setting: &'static Setting,
        want: &str,
        words: &[(&str, T)],
    ) -> Result<T, Error> {
        self.read(setting, want, |text| {
            let (_, meaning) = words.iter().find(|(word, _)| *word == text)?;
            Some(meaning.clone())
        })
    }

    /// A switch: `true` or `1`, `false` or `0`.
    pub(crate) fn switch(&self, setting: &'static Setting) -> Result<bool, Error> {
        let words = [("true", true), ("1", true), ("false", false), ("0", false)];
        self.word(setting, "true or false", &words)
    }

    /// A text; `None` when not set.
    pub(crate) fn text(&self, setting: &'static Setting) -> Option<&str> {
        Some(self.of(setting).text.as_str()).filter(|text| !text.is_empty())
    }

    /// A list, without blanks and empty items.
    pub(crate) fn list(&self, setting: &'static Setting) -> Vec<String> {
        let items = self.of(setting).text.split(',').map(str::trim);
        let items = items.filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }
}

impl Value {
    /// The error for an invalid value, without the text of a secret.
    pub(crate) fn invalid(&self, problem: String) -> Error {
        let text = match self.setting.secret {
            true => "(hidden)".to_owned(),
            false => self.text.clone(),
        };
        let (key, layer) = (self.setting.key, self.source.clone());
        Error::Value {
            key,
            text,
            layer,
            problem,
        }
    }
}
