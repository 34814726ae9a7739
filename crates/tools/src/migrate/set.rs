//! Migrations in the order of their versions.

use super::{InvalidMigration, Migration};
use std::path::{Path, PathBuf};

/// Migrations in the order of their versions, each version and id once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Migrations(Vec<Source>);

/// A migration and its file.
#[derive(Debug, Clone, PartialEq)]
struct Source {
    migration: Migration,
    path: Option<PathBuf>,
}

impl Migrations {
    /// These migrations, given in any order.
    ///
    /// # Errors
    /// [`InvalidMigration`] if one is invalid, or two have the same version or id.
    pub fn new(migrations: impl IntoIterator<Item = Migration>) -> Result<Self, InvalidMigration> {
        let sources = migrations.into_iter().map(|migration| (migration, None));
        Self::of_sources(sources)
    }

    pub(super) fn of_sources(
        sources: impl IntoIterator<Item = (Migration, Option<PathBuf>)>,
    ) -> Result<Self, InvalidMigration> {
        let mut all: Vec<Source> = Vec::new();
        for (migration, path) in sources {
            migration.check()?;
            let twin = all.iter().find(|other| {
                other.migration.version() == migration.version()
                    || other.migration.id() == migration.id()
            });
            if let Some(twin) = twin {
                let place = |path: &Option<PathBuf>| match path {
                    Some(path) => format!(" ({})", path.display()),
                    None => String::new(),
                };
                let other = &twin.migration;
                return Err(InvalidMigration {
                    version: migration.version(),
                    id: migration.id().to_owned(),
                    what: format!(
                        "its version or its id{} is also that of {} {:?}{}",
                        place(&path),
                        other.version(),
                        other.id(),
                        place(&twin.path),
                    ),
                });
            }
            all.push(Source { migration, path });
        }
        all.sort_by_key(|source| source.migration.version());
        Ok(Self(all))
    }

    /// The migrations, by version.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Migration> + ExactSizeIterator {
        self.0.iter().map(|source| &source.migration)
    }

    /// Whether there are no migrations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The migration of that version.
    #[must_use]
    pub fn get(&self, version: u64) -> Option<&Migration> {
        self.iter().find(|migration| migration.version() == version)
    }

    /// The file of a migration.
    #[must_use]
    pub fn path(&self, version: u64) -> Option<&Path> {
        let mut sources = self.0.iter();
        let source = sources.find(|source| source.migration.version() == version)?;
        source.path.as_deref()
    }
}
