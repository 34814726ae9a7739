//! Storage places outside the data directory, for example for a backup: a directory, or a prefix in an object store.

mod client;
mod probe;
mod remote;
mod suffixes;

use std::path::{Component, Path as FilePath, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use url::Url;

pub use client::Client;
pub use probe::{ProbeError, Probed, probe};

use crate::data_dir;

/// A directory by its absolute path, or a URL. Must not contain `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A place in an object store.
    Url(Url),
}

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The text is not an absolute path or a URL, or contains `..`, a password or a query.
    #[error("invalid place {0}: use an absolute path or a URL, without `..`, password or query")]
    Invalid(String),
    /// The URL's scheme is unknown.
    #[error("unknown object store {0}: use s3://bucket/prefix or az://container/prefix")]
    NoSuchStore(String),
    /// A needed environment variable is missing. The fields are the place, and what it needs.
    #[error("{0} needs {1}")]
    Incomplete(String, String),
    /// The place cannot be reached.
    #[error("cannot reach {0}")]
    Unreachable(String, #[source] object_store::Error),
    /// The directory is a data directory, which belongs to one server at a time.
    #[error("{0} is a data directory: serve it with --location, without file://")]
    DataDirectory(String),
    /// Partial files cannot be removed from the directory.
    #[error(transparent)]
    Sweep(#[from] data_dir::Error),
    /// The directory cannot be created.
    #[error("cannot create the directory {0}")]
    Directory(String, #[source] std::io::Error),
}

impl Place {
    /// Parses a place: an absolute path, `file:///path`, or a URL of an object store such as `s3://bucket/prefix`.
    ///
    /// # Errors
    /// [`PlaceError::Invalid`].
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let invalid = || PlaceError::Invalid(text.to_owned());
        let place = if text.contains("://") {
            if text.split(['/', '\\']).any(|part| part == "..") {
                return Err(invalid());
            }
            let url = Url::parse(text).map_err(|_| invalid())?;
            match url.scheme() {
                "file" => Self::Directory(url.to_file_path().map_err(|()| invalid())?),
                _ if url.host_str().is_none_or(str::is_empty) => return Err(invalid()),
                // Places appear in responses and logs, so they must not contain a secret.
                _ if url.password().is_some() || url.query().is_some() => return Err(invalid()),
                _ => Self::Url(url),
            }
        } else {
            Self::Directory(PathBuf::from(text))
        };
        if let Self::Directory(path) = &place {
            let climbs = path.components().any(|part| part == Component::ParentDir);
            if !path.is_absolute() || climbs {
                return Err(invalid());
            }
        }
        Ok(place)
    }

    /// The URL of the place.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Directory(path) => format!("file://{}", path.display()),
            Self::Url(url) => url.to_string(),
        }
    }

    /// Whether `other` is this place or inside it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory(this), Self::Directory(other)) => other.starts_with(this),
            (Self::Url(this), Self::Url(other)) => {
                root(this) == root(other) && FilePath::new(other.path()).starts_with(this.path())
            }
            _ => false,
        }
    }

    /// The place as an object store. A missing directory is created, and every write to a directory is synced. A bucket
    /// must exist; its credentials and options come from the environment variables of the store's command-line tools
    /// (`AWS_ACCESS_KEY_ID`, ..).
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn store(&self) -> Result<Arc<dyn ObjectStore>, PlaceError> {
        self.store_for(&Client::Copies)
    }

    /// The place as the object store of a server, like [`Place::store`]. Several processes may use a directory at the same
    /// time: partial files are removed when they are an hour old. Blocking for a directory.
    ///
    /// # Errors
    /// [`PlaceError`], also for a data directory.
    pub fn server_store(&self, client: &Client) -> Result<Arc<dyn ObjectStore>, PlaceError> {
        if let Self::Directory(path) = self {
            if data_dir::is_data_dir(path) {
                return Err(PlaceError::DataDirectory(self.to_string()));
            }
            if path.exists() {
                data_dir::sweep_shared(path)?;
            }
        }
        self.store_for(client)
    }

    fn store_for(&self, client: &Client) -> Result<Arc<dyn ObjectStore>, PlaceError> {
        let unreachable = |error| PlaceError::Unreachable(self.to_string(), error);
        match self {
            Self::Directory(path) => {
                std::fs::create_dir_all(path)
                    .map_err(|error| PlaceError::Directory(self.to_string(), error))?;
                let store = LocalFileSystem::new_with_prefix(path).map_err(unreachable)?;
                Ok(Arc::new(store.with_fsync(true)))
            }
            Self::Url(url) => remote::open(url, &remote::environment(), client),
        }
    }
}

/// What identifies the bucket or container of a URL: scheme, user name, host and port. In `abfss://CONTAINER@account…`
/// the user name is the container.
fn root(url: &Url) -> (&str, &str, Option<&str>, Option<u16>) {
    (url.scheme(), url.username(), url.host_str(), url.port())
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

/// Reads a whole object; `None` if it is missing.
///
/// # Errors
/// Those of the store, except `NotFound`.
pub async fn read(
    store: &dyn ObjectStore,
    name: &str,
) -> Result<Option<bytes::Bytes>, object_store::Error> {
    match store.get(&Path::from(name)).await {
        Ok(found) => Ok(Some(found.bytes().await?)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn places_are_absolute_and_have_no_parent_component() {
        assert_eq!(place("file:///srv/b"), place("/srv/b"));
        assert_eq!(place("/srv/b").url(), "file:///srv/b");
        assert!(matches!(place("s3://bucket/b"), Place::Url(_)));
        for bad in [
            "",
            "b",
            "./b",
            "/srv/../etc",
            "file:///srv/../etc",
            "s3://b/../c",
            "s3://",
            "s3://key:secret@bucket/b",
            "s3://bucket/b?signature=x",
        ] {
            assert!(Place::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_place_contains_the_places_below_it() {
        let azure = "abfss://b@a.example/x";
        for (outer, inside, outside) in [
            ("/srv", ["/srv", "/srv/b/c"], ["/etc", "s3://srv/"]),
            ("/srv/b", ["/srv/b", "/srv/b/c"], ["/srv/backup", "/srv"]),
            (
                "s3://b/x",
                ["s3://b/x", "s3://b/x/y"],
                ["s3://b/xy", "s3://c/x"],
            ),
            ("s3://b", ["s3://b", "s3://b/y"], ["gs://b/y", "s3://c/y"]),
            (
                azure,
                [azure, "abfss://b@a.example/x/y"],
                ["abfss://c@a.example/x/y", "/srv"],
            ),
        ] {
            let contains = |inner: &&str| place(outer).contains(&place(inner));
            assert!(inside.iter().all(contains), "{outer}");
            assert!(!outside.iter().any(contains), "{outer}");
        }
    }

    #[tokio::test]
    async fn a_missing_directory_is_created_and_keeps_objects() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        let store = place(path.to_str().unwrap()).store().unwrap();
        assert_eq!(read(&*store, "x/y").await.unwrap(), None);
        store.put(&Path::from("x/y"), "1".into()).await.unwrap();
        assert_eq!(read(&*store, "x/y").await.unwrap().unwrap(), "1");
        assert!(path.join("x/y").exists());
    }
}
