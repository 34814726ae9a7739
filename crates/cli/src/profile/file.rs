//! The file of the profiles: `partita/profiles.json` in the user's settings directory (XDG base directory
//! specification). It has keys, so only its owner may read it: it is created so, and not used otherwise.

use super::Profile;
use crate::error::{Because as _, CommandError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// All profiles of a user.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiles {
    /// The profile of commands that name no account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<String>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

/// The file, which need not exist.
#[derive(Debug, Clone)]
pub(crate) struct ProfilesFile {
    pub(crate) path: PathBuf,
}

impl ProfilesFile {
    /// The file of the user; `None` without a home directory.
    pub(crate) fn of_user() -> Option<Self> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let home = || Some(PathBuf::from(variable("HOME")?).join(".config"));
        let local = || variable("APPDATA").map(PathBuf::from);
        let directory = config.or_else(home).or_else(local)?.join("partita");
        Some(Self {
            path: directory.join("profiles.json"),
        })
    }

    /// The file of the user, for commands that need it.
    pub(super) fn needed() -> Result<Self, CommandError> {
        Self::of_user().ok_or_else(|| {
            CommandError::usage("profiles need a directory: set HOME or XDG_CONFIG_HOME")
        })
    }

    /// Reads the file. A missing file has no profiles.
    pub(crate) fn read(&self) -> Result<Profiles, CommandError> {
        let name = self.path.display();
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Profiles::default());
            }
            Err(error) => return Err(error).because(format!("cannot read {name}")),
        };
        check_private(&self.path)?;
        serde_json::from_str(&text).because(format!("{name} is not a valid file of profiles"))
    }

    /// Replaces the file in one step, so that a crash leaves the old or the new one.
    pub(crate) fn write(&self, profiles: &Profiles) -> Result<(), CommandError> {
        let json = serde_json::to_string_pretty(profiles).because("cannot write the profiles")?;
        replace(&self.path, &(json + "\n")).because(format!("cannot write {}", self.path.display()))
    }
}

impl Profiles {
    /// The profile of this name.
    pub(crate) fn get(&self, name: &str, file: &ProfilesFile) -> Result<&Profile, CommandError> {
        self.profiles.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            let known = match &names[..] {
                [] => "there is none yet; `partita profile add` adds one".to_owned(),
                names => format!("it has {}", names.join(", ")),
            };
            let path = file.path.display();
            CommandError::usage(format!("no profile {name:?} in {path}: {known}"))
        })
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(directory)?;
    // Temporary files can be read by their owner only, and the mode stays.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Refuses a file that other users can read or write.
#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), CommandError> {
    use std::os::unix::fs::PermissionsExt as _;
    let name = path.display();
    let metadata = fs::metadata(path).because(format!("cannot read {name}"))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "{name} has keys, and other users can read or write it (mode {mode:03o}): `chmod 600 {name}` makes it private"
    )))
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), CommandError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &tempfile::TempDir) -> ProfilesFile {
        let path = directory.path().join("new/partita/profiles.json");
        ProfilesFile { path }
    }

    #[test]
    fn profiles_are_written_and_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = file(&directory);
        assert_eq!(file.read().unwrap(), Profiles::default());
        let mut profiles = Profiles::default();
        let profile = Profile {
            account: Some("acct".to_owned()),
            key: Some("a2V5".to_owned()),
            ..Profile::default()
        };
        profiles.profiles.insert("prod".to_owned(), profile);
        profiles.default = Some("prod".to_owned());
        file.write(&profiles).unwrap();
        assert_eq!(file.read().unwrap(), profiles);
        assert!(profiles.get("prod", &file).is_ok());
        let refused = profiles.get("prdo", &file).unwrap_err().chain();
        assert!(refused.ends_with("it has prod"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let file = file(&directory);
        file.write(&Profiles::default()).unwrap();
        let mode = fs::metadata(&file.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&file.path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = file.read().unwrap_err().chain();
            assert!(refused.contains("chmod 600"), "{refused}");
        }
    }

    #[test]
    fn a_damaged_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = file(&directory);
        replace(&file.path, "{\"profiles\":{\"a\":{\"kye\":\"x\"}}}").unwrap();
        let refused = file.read().unwrap_err().chain();
        assert!(
            refused.contains("profiles.json is not a valid file") && refused.contains("`kye`"),
            "{refused}"
        );
    }
}
