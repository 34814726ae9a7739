//! Where an account is: from flags, from a profile, from variables, or the development account.
//!
//! The sources, of which the first one that is given decides:
//! 1. `--connection-string`, or `--endpoint` and `--account` with `--key` or `--sas`
//! 2. `--profile NAME`, which excludes these
//! 3. `PARTITA_PROFILE`
//! 4. `AZURE_STORAGE_CONNECTION_STRING`
//! 5. the default profile, which `partita profile use` chooses
//! 6. the development account on this machine
//!
//! The second table of a command has the first two, then `AZURE_STORAGE_CONNECTION_STRING_TO`, then the first table's
//! account.

use crate::error::{Because as _, CommandError};
use crate::profile::ProfilesFile;
use partita_client::{ConnectionString, Credential, Endpoint, ServiceKind};

/// The development account of every emulator, on this machine.
pub(super) const LOCAL: &str = "UseDevelopmentStorage=true";

/// The variable with the connection string of the first table or queue.
const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// Endpoint and credential of an account, and the profile that named them.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) account: ConnectionString,
    /// The profile and where its name came from, for errors; `None` without a profile.
    pub(crate) profile: Option<String>,
}

impl Place {
    fn of(account: ConnectionString) -> Self {
        let profile = None;
        Self { account, profile }
    }

    /// The development account.
    pub(crate) fn local(service: ServiceKind) -> Result<Self, CommandError> {
        parse(LOCAL, "the development account", service)
    }
}

/// What flags do not say: variables, and the user's profiles.
pub(super) struct Environment {
    /// The name of a profile.
    pub(super) profile: Option<String>,
    /// A connection string.
    pub(super) string: Option<String>,
    /// Whether the default profile counts.
    pub(super) uses_default: bool,
    /// `None` for a user without a home directory.
    pub(super) file: Option<ProfilesFile>,
}

impl Environment {
    /// The environment of the first table or queue of a command.
    pub(super) fn of_first() -> Self {
        Self {
            profile: variable("PARTITA_PROFILE"),
            string: variable(CONNECTION_STRING),
            uses_default: true,
            file: ProfilesFile::of_user(),
        }
    }

    /// The environment of the second table of a command.
    pub(super) fn of_second() -> Self {
        Self {
            profile: None,
            string: variable("AZURE_STORAGE_CONNECTION_STRING_TO"),
            uses_default: false,
            file: ProfilesFile::of_user(),
        }
    }

    /// The place of the profile that a flag or a variable names.
    fn named(&self, name: &str, by: &str, service: ServiceKind) -> Result<Place, CommandError> {
        let file = self.file.as_ref().ok_or_else(|| {
            CommandError::usage(format!("{by}: set HOME or XDG_CONFIG_HOME for profiles"))
        })?;
        let profiles = file.read()?;
        let profile = profiles.get(name, file).because(by)?;
        with_profile(
            profile.place(service),
            format!("profile {name} (from {by})"),
        )
    }

    /// The place of the default profile, if there is one.
    fn default(&self, service: ServiceKind) -> Result<Option<Place>, CommandError> {
        let Some(file) = self.file.as_ref().filter(|_| self.uses_default) else {
            return Ok(None);
        };
        let profiles = file.read()?;
        let Some(name) = &profiles.default else {
            return Ok(None);
        };
        let place = profiles.get(name, file)?.place(service);
        let path = file.path.display();
        let text = format!("profile {name} (the default in {path})");
        with_profile(place, text).map(Some)
    }
}

/// Names the profile in the place, or in the error.
fn with_profile(
    place: Result<Place, CommandError>,
    profile: String,
) -> Result<Place, CommandError> {
    let mut place = place.because(&*profile)?;
    place.profile = Some(profile);
    Ok(place)
}

/// The flags that say where a table or queue is.
pub(crate) struct PlaceFlags<'a> {
    /// The service whose endpoint is needed.
    pub(crate) service: ServiceKind,
    /// The prefix of the flags' names, for messages: empty for the first table, `to-` for the second.
    pub(crate) prefix: &'static str,
    pub(crate) profile: Option<&'a str>,
    pub(crate) string: Option<&'a str>,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) account: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) sas: Option<&'a str>,
}

impl PlaceFlags<'_> {
    /// Endpoint and credential, from the flags or the environment; `None` if neither has them.
    pub(super) fn place(&self, environment: &Environment) -> Result<Option<Place>, CommandError> {
        if let Some(name) = self.profile {
            let by = format!("--{}profile", self.prefix);
            return environment.named(name, &by, self.service).map(Some);
        }
        if let Some(place) = self.of_flags()? {
            return Ok(Some(place));
        }
        if let Some(name) = &environment.profile {
            return environment
                .named(name, "PARTITA_PROFILE", self.service)
                .map(Some);
        }
        match &environment.string {
            Some(string) => {
                let prefix = self.prefix.trim_end_matches('-').to_uppercase();
                let by = match prefix.as_str() {
                    "" => CONNECTION_STRING.to_owned(),
                    prefix => format!("{CONNECTION_STRING}_{prefix}"),
                };
                parse(string, &by, self.service).map(Some)
            }
            None => environment.default(self.service),
        }
    }

    /// Endpoint and credential from the flags alone, without a profile.
    pub(crate) fn of_flags(&self) -> Result<Option<Place>, CommandError> {
        if let Some(string) = self.string {
            let by = format!("--{}connection-string", self.prefix);
            return parse(string, &by, self.service).map(Some);
        }
        let flags = [self.endpoint, self.account, self.key, self.sas];
        if flags.iter().all(Option::is_none) {
            return Ok(None);
        }
        let local = Place::local(self.service)?.account;
        let endpoint = self.endpoint(&local.endpoint)?;
        let account = self.account.unwrap_or(endpoint.account());
        let prefix = self.prefix;
        let credential = match (self.key, self.sas) {
            (Some(key), _) => Credential::shared_key(account, key)
                .map_err(|error| CommandError::usage(format!("--{prefix}key: {error}")))?,
            (None, Some(sas)) => Credential::sas(sas),
            (None, None) if account == local.endpoint.account() => local.credential,
            (None, None) => {
                return Err(CommandError::usage(format!(
                    "account {account} needs --{prefix}key or --{prefix}sas"
                )));
            }
        };
        Ok(Some(Place::of(ConnectionString {
            secondary: endpoint.secondary(),
            endpoint,
            credential,
        })))
    }

    /// The endpoint that the flags name, by URL or by account.
    fn endpoint(&self, local: &Endpoint) -> Result<Endpoint, CommandError> {
        match (self.endpoint, self.account) {
            (Some(url), _) => {
                Endpoint::parse(url).map_err(|error| CommandError::usage(error.to_string()))
            }
            (None, Some(name)) if name == local.account() => Ok(local.clone()),
            (None, Some(name)) => {
                let label = self.service.label();
                let url = format!("https://{name}.{label}.core.windows.net");
                Endpoint::parse(&url).map_err(|_| {
                    CommandError::usage(format!("{name:?} is not a valid account name"))
                })
            }
            (None, None) => {
                let prefix = self.prefix;
                Err(CommandError::usage(format!(
                    "--{prefix}key and --{prefix}sas need --{prefix}account or --{prefix}endpoint"
                )))
            }
        }
    }
}

/// The value of an environment variable that is set and not blank.
pub(super) fn variable(name: &str) -> Option<String> {
    let text = std::env::var(name).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// The account of a connection string from this flag or variable.
fn parse(text: &str, by: &str, service: ServiceKind) -> Result<Place, CommandError> {
    ConnectionString::parse_for(text, service)
        .map(Place::of)
        .map_err(|error| CommandError::usage(format!("{by}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::{ConnectionArgs, DestinationArgs};
    use super::*;
    use crate::profile::{Profile, Profiles};
    use clap::Parser;

    #[derive(Parser)]
    struct TwoSides {
        #[command(flatten)]
        first: ConnectionArgs,
        #[command(flatten)]
        second: DestinationArgs,
    }

    fn environment(string: Option<String>, file: Option<ProfilesFile>) -> Environment {
        Environment {
            profile: None,
            string,
            uses_default: true,
            file,
        }
    }

    fn shown(place: &Place) -> String {
        let ConnectionString {
            endpoint,
            credential,
            ..
        } = &place.account;
        format!("{endpoint} {credential:?}")
    }

    fn of(flags: &[&str], variable: Option<&str>) -> Result<String, String> {
        let sides = TwoSides::try_parse_from(std::iter::once(&"test").chain(flags))
            .map_err(|error| error.to_string())?;
        let of = |flags: PlaceFlags<'_>, variable: Option<String>| {
            let environment = environment(variable, None);
            let place = flags.place(&environment).map_err(|error| error.chain())?;
            Ok::<_, String>(place.map(|place| shown(&place)))
        };
        let first = of(
            sides.first.place_flags(ServiceKind::Table),
            variable.map(str::to_owned),
        )?;
        Ok(match of(sides.second.place_flags(), None)? {
            Some(second) => format!("{} to {second}", first.as_deref().unwrap_or("-")),
            None => first.unwrap_or_else(|| "-".to_owned()),
        })
    }

    #[test]
    fn flags_override_the_variable_and_the_variable_the_default() {
        let variable = "TableEndpoint=http://v:1/acct;AccountKey=a2V5;AccountName=acct";
        let local = "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1)";
        assert_eq!(
            of(&[], None).unwrap(),
            "-",
            "without flags and variable, the caller uses its default"
        );
        assert_eq!(
            of(&[], Some(variable)).unwrap(),
            "http://v:1/acct SharedKey(acct)"
        );
        let string = ["--connection-string", "UseDevelopmentStorage=true"];
        assert_eq!(of(&string, Some(variable)).unwrap(), local);
        let account = ["--account", "other", "--key", "a2V5"];
        assert_eq!(
            of(&account, Some(variable)).unwrap(),
            "https://other.table.core.windows.net SharedKey(other)"
        );
    }

    #[test]
    fn an_invalid_connection_string_names_its_source() {
        let error = of(&[], Some("not a string")).unwrap_err();
        assert!(
            error.starts_with("AZURE_STORAGE_CONNECTION_STRING: part 1 "),
            "{error}"
        );
        let error = of(&["--connection-string", "x"], None).unwrap_err();
        assert!(error.starts_with("--connection-string: part 1 "), "{error}");
        let error = of(&["--to-connection-string", "x"], None).unwrap_err();
        assert!(
            error.starts_with("--to-connection-string: part 1 "),
            "{error}"
        );
    }

    #[test]
    fn queues_have_their_own_endpoint() {
        let place = |flags: &[&str], variable: Option<&str>| {
            let words = std::iter::once(&"test").chain(flags);
            let sides = TwoSides::try_parse_from(words).unwrap();
            let flags = sides.first.place_flags(ServiceKind::Queue);
            let environment = environment(variable.map(str::to_owned), None);
            let place = flags.place(&environment).unwrap().unwrap();
            place.account.endpoint.to_string()
        };
        assert_eq!(
            place(&["--account", "other", "--sas", "sv=1"], None),
            "https://other.queue.core.windows.net"
        );
        let local = "http://127.0.0.1:10001/devstoreaccount1";
        assert_eq!(place(&["--account", "devstoreaccount1"], None), local);
        let variable = "TableEndpoint=http://t/a;QueueEndpoint=http://q/a;AccountKey=a2V5";
        assert_eq!(place(&[], Some(variable)), "http://q/a");
    }

    #[test]
    fn the_second_table_has_its_own_flags() {
        let here = ["--account", "devstoreaccount1"];
        let there = ["--to-account", "other", "--to-sas", "sv=1"];
        let place = of(
            &[here, [there[0], there[1]], [there[2], there[3]]].concat(),
            None,
        );
        assert_eq!(
            place.unwrap(),
            "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1) to https://other.table.core.windows.net Sas(…)"
        );
        let refused = of(&["--to-account", "other"], None).unwrap_err();
        assert_eq!(refused, "account other needs --to-key or --to-sas");
        let refused = of(&["--to-key", "a2V5"], None).unwrap_err();
        assert_eq!(
            refused,
            "--to-key and --to-sas need --to-account or --to-endpoint"
        );
    }

    #[test]
    fn flags_complete_each_other() {
        for (flags, expected) in [
            (
                vec!["--endpoint", "http://h:1/devstoreaccount1"],
                "http://h:1/devstoreaccount1 SharedKey(devstoreaccount1)",
            ),
            (
                vec!["--account", "devstoreaccount1"],
                "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1)",
            ),
            (
                vec!["--endpoint", "https://h", "--account", "a", "--key", "a2V5"],
                "https://h SharedKey(a)",
            ),
            (
                vec!["--endpoint", "https://h", "--sas", "?sv=1"],
                "https://h Sas(…)",
            ),
        ] {
            assert_eq!(of(&flags, None).unwrap(), expected);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for (flags, expected) in [
            (vec!["--account", "a"], "account a needs --key or --sas"),
            (
                vec!["--key", "a2V5"],
                "--key and --sas need --account or --endpoint",
            ),
            (vec!["--account", "a", "--key", "!"], "--key: "),
            (vec!["--endpoint", "h:1"], "\"h:1\""),
            (
                vec!["--connection-string", "x"],
                "part 1 of the connection string",
            ),
            (
                vec!["--connection-string", "x", "--account", "a"],
                "cannot be used with",
            ),
        ] {
            let refused = of(&flags, None).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn profiles_come_after_flags_and_the_default_one_after_variables() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profiles.json");
        let file = ProfilesFile { path };
        let mut profiles = Profiles::default();
        for name in ["one", "two"] {
            let profile = Profile {
                account: Some(name.to_owned()),
                key: Some("a2V5".to_owned()),
                ..Profile::default()
            };
            profiles.profiles.insert(name.to_owned(), profile);
        }
        profiles.default = Some("two".to_owned());
        file.write(&profiles).unwrap();
        let place = |flags: &[&str], named: Option<&str>, string: Option<&str>| {
            let words = std::iter::once(&"test").chain(flags);
            let sides = TwoSides::try_parse_from(words).map_err(|error| error.to_string())?;
            let mut environment = environment(string.map(str::to_owned), Some(file.clone()));
            environment.profile = named.map(str::to_owned);
            let flags = sides.first.place_flags(ServiceKind::Table);
            let place = flags.place(&environment).map_err(|error| error.chain())?;
            let place = place.unwrap();
            let account = place.account.endpoint.account().to_owned();
            Ok::<_, String>((account, place.profile.unwrap_or_default()))
        };
        let found = |account: &str, profile: &str| Ok((account.to_owned(), profile.to_owned()));
        let other = Some("AccountName=other;AccountKey=a2V5");
        let flag = ["--profile", "one"];
        assert_eq!(
            place(&flag, Some("two"), other),
            found("one", "profile one (from --profile)")
        );
        assert_eq!(
            place(&["--account", "devstoreaccount1"], Some("one"), other),
            found("devstoreaccount1", "")
        );
        assert_eq!(
            place(&[], Some("one"), other),
            found("one", "profile one (from PARTITA_PROFILE)")
        );
        assert_eq!(place(&[], None, other), found("other", ""));
        let (account, profile) = place(&[], None, None).unwrap();
        assert_eq!(account, "two");
        assert!(
            profile.starts_with("profile two (the default in "),
            "{profile}"
        );
        let refused = place(&["--profile", "onne"], None, None).unwrap_err();
        assert!(
            refused.contains("no profile \"onne\"") && refused.ends_with("it has one, two"),
            "{refused}"
        );
        let refused = place(&["--profile", "one", "--key", "a2V5"], None, None).unwrap_err();
        assert!(refused.contains("cannot be used with"), "{refused}");
    }
}
