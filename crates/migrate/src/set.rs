//! [`Migrations`]: all migrations of a program or directory.
use super::{InvalidMigration, Migration};
use std::path::{Path, PathBuf};

/// Migrations in the order of their versions, each version and id once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Migrations(Vec<Source>);

/// A migration and its file.
type Source = (Migration, Option<PathBuf>);

impl Migrations {
    /// Sorts migrations by version.
    ///
    /// # Errors
    /// [`InvalidMigration`] if one is invalid, or two have the same version or id.
    pub fn new(migrations: impl IntoIterator<Item = Migration>) -> Result<Self, InvalidMigration> {
        let sources = migrations.into_iter().map(|migration| (migration, None));
        Self::of_sources(sources)
    }

    pub(super) fn of_sources(
        sources: impl IntoIterator<Item = Source>,
    ) -> Result<Self, InvalidMigration> {
        let mut all: Vec<Source> = Vec::new();
        for (migration, path) in sources {
            migration.check()?;
            let twin = all
                .iter()
                .find(|(other, _)| other.version == migration.version || other.id == migration.id);
            if let Some((other, other_path)) = twin {
                let place = |path: &Option<PathBuf>| match path {
                    Some(path) => format!(" ({})", path.display()),
                    None => String::new(),
                };
                return Err(InvalidMigration {
                    version: migration.version,
                    id: migration.id.clone(),
                    what: format!(
                        "its version or its id{} is already used by migration {} {:?}{}",
                        place(&path),
                        other.version,
                        other.id,
                        place(other_path),
                    ),
                });
            }
            all.push((migration, path));
        }
        all.sort_by_key(|(migration, _)| migration.version);
        Ok(Self(all))
    }

    /// The migrations, by version.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Migration> + ExactSizeIterator {
        self.0.iter().map(|(migration, _)| migration)
    }

    /// Whether there are no migrations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The migration with this version.
    pub fn get(&self, version: u64) -> Option<&Migration> {
        self.iter().find(|migration| migration.version == version)
    }

    /// The path of the file that contains the migration with this version.
    pub fn path(&self, version: u64) -> Option<&Path> {
        let mut sources = self.0.iter();
        let (_, path) = sources.find(|(migration, _)| migration.version == version)?;
        path.as_deref()
    }
}
