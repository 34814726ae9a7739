//! Cluster versions: one number for everything that the servers of a cluster write for each other.
//!
//! ```text
//!  program 1: 1..=1        program 2: 1..=2        program 3: 2..=3
//!  cluster at 1: programs 1 and 2 run; 2 writes what 1 reads
//!  finalized to 2: programs 2 and 3 run; all write version 2
//! ```
//!
//! `docs/design/0015-upgrades.md` says what the number covers, and why there is only one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of the versions in [`ServerInfo::speaks`](crate::ServerInfo::speaks).
pub(crate) const SPEAKS: &str = "cluster";

/// The number that says which formats and messages the servers of a cluster write. A cluster begins with 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterVersion(pub u32);

impl ClusterVersion {
    /// The version of a cluster that does not say which one it has.
    pub const FIRST: Self = Self(1);

    /// The version after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ClusterVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The versions at which a program can run: it writes each of them, and reads what a program at any of them has written.
/// At most two, because a program supports its predecessor's version and one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions {
    oldest: ClusterVersion,
    newest: ClusterVersion,
}

impl Versions {
    /// Those of this program.
    pub const OWN: Self = Self {
        oldest: ClusterVersion(1),
        newest: ClusterVersion(1),
    };

    /// The first version only.
    pub(crate) const FIRST: Self = Self {
        oldest: ClusterVersion::FIRST,
        newest: ClusterVersion::FIRST,
    };

    /// From one version to another. `None` unless they are the same, or the second follows the first.
    #[must_use]
    pub fn new(oldest: u32, newest: u32) -> Option<Self> {
        let steps = newest.checked_sub(oldest)?;
        (oldest > 0 && steps <= 1).then_some(Self {
            oldest: ClusterVersion(oldest),
            newest: ClusterVersion(newest),
        })
    }

    /// Reads the text form, such as `1-2`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (oldest, newest) = text.split_once('-')?;
        Self::new(oldest.parse().ok()?, newest.parse().ok()?)
    }

    /// The oldest.
    #[must_use]
    pub fn oldest(self) -> ClusterVersion {
        self.oldest
    }

    /// The newest.
    #[must_use]
    pub fn newest(self) -> ClusterVersion {
        self.newest
    }

    /// Whether the program can run at a version.
    #[must_use]
    pub fn include(self, version: ClusterVersion) -> bool {
        (self.oldest..=self.newest).contains(&version)
    }

    /// Refuses a program that cannot run at the version of its cluster.
    ///
    /// # Errors
    /// [`VersionRefused`].
    pub fn check(self, cluster: ClusterVersion) -> Result<(), VersionRefused> {
        if self.newest < cluster {
            return Err(VersionRefused::TooOld {
                program: self,
                cluster,
            });
        }
        if self.oldest > cluster {
            return Err(VersionRefused::TooNew {
                program: self,
                cluster,
            });
        }
        Ok(())
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.newest {
            true => write!(f, "cluster version {}", self.oldest),
            false => write!(f, "cluster versions {} to {}", self.oldest, self.newest),
        }
    }
}

/// Why a program cannot be a member of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VersionRefused {
    /// The cluster was finalized to a version that the program cannot read.
    #[error(
        "this program supports {program}, but the cluster has version {cluster}: start the program that the other servers \
         run, which `partita servers` shows"
    )]
    TooOld {
        /// The versions of the program.
        program: Versions,
        /// The version of the cluster.
        cluster: ClusterVersion,
    },
    /// The program cannot write the version that the cluster has.
    #[error(
        "this program supports {program}, but the cluster has version {cluster}: upgrade all servers to the release before \
         this one, type `partita admin finalize`, and then upgrade to this one"
    )]
    TooNew {
        /// The versions of the program.
        program: Versions,
        /// The version of the cluster.
        cluster: ClusterVersion,
    },
    /// The cluster is about to be finalized to a version that the program cannot read.
    #[error(
        "this program supports {program}, but the cluster is being finalized to version {next}: start the program that the \
         other servers run, which `partita servers` shows"
    )]
    Finalizing {
        /// The versions of the program.
        program: Versions,
        /// The next version of the cluster.
        next: ClusterVersion,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_supports_its_predecessor_at_most() {
        assert_eq!(Versions::parse("1-1"), Some(Versions::OWN));
        assert!(Versions::parse("1-2").is_some());
        for text in ["1-3", "2-1", "0-1", "1", "a-b", ""] {
            assert_eq!(Versions::parse(text), None, "{text}");
        }
        let (old, new) = (Versions::OWN, Versions::new(1, 2).unwrap());
        let newer = Versions::new(2, 3).unwrap();
        let [one, two] = [ClusterVersion(1), ClusterVersion(2)];
        assert!(old.check(one).is_ok() && new.check(one).is_ok());
        assert!(new.check(two).is_ok() && newer.check(two).is_ok());
        assert!(new.include(one) && new.include(two) && !newer.include(one));
        let text = old.check(two).unwrap_err().to_string();
        let expected =
            "this program supports cluster version 1, but the cluster has version 2: start";
        assert!(text.starts_with(expected), "{text}");
        let text = newer.check(one).unwrap_err().to_string();
        assert!(
            text.contains("cluster versions 2 to 3") && text.contains("`partita admin finalize`"),
            "{text}"
        );
    }
}
