//! `partita profile add|list|show|use|remove`: accounts by name, so that no command line needs a key.
//!
//! A profile has what the connection flags have. `--profile NAME` and `PARTITA_PROFILE` select one; [`crate::args`] has
//! the order of all sources.

mod add;
mod file;
mod list;
mod remove;
mod select;
mod show;

#[cfg(test)]
pub(crate) use file::Profiles;
pub(crate) use file::ProfilesFile;

use crate::args::{Place, PlaceFlags};
use crate::command::{CommandError, commands};
use crate::output::Field;
use partita_client::{Credential, ServiceKind, ValueRef};
use serde::{Deserialize, Serialize};
use std::fmt;

commands! {
    pub(crate) enum ProfileCommand {
        Add(add::AddCommand), List(list::ListCommand), Show(show::ShowCommand),
        Use(select::UseCommand), Remove(remove::RemoveCommand),
    }
}

/// An account with its credential, as its flags were given.
#[derive(Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connection_string: Option<String>,
    /// The URL of the tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sas: Option<String>,
}

impl Profile {
    /// Endpoint and credential of a service.
    pub(crate) fn place(&self, service: ServiceKind) -> Result<Place, CommandError> {
        let (endpoint, other, flag) = match service {
            ServiceKind::Queue => (&self.queue_endpoint, &self.endpoint, "--queue-endpoint"),
            _ => (&self.endpoint, &self.queue_endpoint, "--endpoint"),
        };
        if endpoint.is_none() && other.is_some() {
            let label = service.label();
            return Err(CommandError::usage(format!(
                "it has no {label} endpoint; add it again with {flag} URL"
            )));
        }
        let flags = PlaceFlags {
            service,
            prefix: "",
            profile: None,
            string: self.connection_string.as_deref(),
            endpoint: endpoint.as_deref(),
            account: self.account.as_deref(),
            key: self.key.as_deref(),
            sas: self.sas.as_deref(),
        };
        let place = flags.of_flags()?;
        place.ok_or_else(|| CommandError::usage("it names no account"))
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Profile(…)")
    }
}

/// What `list` and `show` print of a profile.
struct ProfileView {
    account: String,
    table_endpoint: String,
    queue_endpoint: String,
    credential: &'static str,
}

impl ProfileView {
    fn of(profile: &Profile) -> Self {
        let tables = profile.place(ServiceKind::Table).ok();
        let queues = profile.place(ServiceKind::Queue).ok();
        let endpoint = |place: &Option<Place>| {
            let place = place.as_ref();
            place.map_or_else(String::new, |place| place.account.endpoint.to_string())
        };
        let either = tables.as_ref().or(queues.as_ref());
        let account = either.map(|place| place.account.endpoint.account().to_owned());
        let credential = match either.map(|place| &place.account.credential) {
            Some(Credential::SharedKey { .. }) => "key",
            Some(Credential::Sas(_)) => "sas",
            _ => "invalid",
        };
        Self {
            account: account.unwrap_or_default(),
            table_endpoint: endpoint(&tables),
            queue_endpoint: endpoint(&queues),
            credential,
        }
    }

    fn fields<'a>(&'a self, name: &'a str, is_default: bool) -> Vec<(&'static str, Field<'a>)> {
        vec![
            ("name", Field::text(name)),
            ("default", Field::Plain(ValueRef::Boolean(is_default))),
            ("account", Field::text(&self.account)),
            ("table_endpoint", Field::text(&self.table_endpoint)),
            ("queue_endpoint", Field::text(&self.queue_endpoint)),
            ("credential", Field::text(self.credential)),
        ]
    }
}

/// The secrets of a profile, for `--show-keys`.
fn secrets(profile: &Profile) -> impl Iterator<Item = (&'static str, Field<'_>)> {
    let secrets = [
        ("connection_string", &profile.connection_string),
        ("key", &profile.key),
        ("sas", &profile.sas),
    ];
    let present = secrets.into_iter();
    present.filter_map(|(name, text)| Some((name, Field::text(text.as_deref()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_profile_is_an_account_with_its_credential() {
        let endpoint = |profile: &Profile, service| {
            let place = profile.place(service).map_err(|error| error.chain())?;
            Ok::<_, String>(place.account.endpoint.to_string())
        };
        let account = Profile {
            account: text("acct"),
            key: text("a2V5"),
            ..Profile::default()
        };
        assert_eq!(
            endpoint(&account, ServiceKind::Queue).unwrap(),
            "https://acct.queue.core.windows.net"
        );
        let tables = Profile {
            endpoint: text("http://h:1/acct"),
            sas: text("sv=1"),
            ..Profile::default()
        };
        assert_eq!(
            endpoint(&tables, ServiceKind::Table).unwrap(),
            "http://h:1/acct"
        );
        let refused = endpoint(&tables, ServiceKind::Queue).unwrap_err();
        assert!(refused.contains("--queue-endpoint URL"), "{refused}");
        let view = ProfileView::of(&tables);
        assert_eq!(
            (&*view.account, view.credential, &*view.queue_endpoint),
            ("acct", "sas", "")
        );
        assert!(endpoint(&Profile::default(), ServiceKind::Table).is_err());
    }
}
