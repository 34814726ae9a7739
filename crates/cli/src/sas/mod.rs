//! `partita sas table|queue|account|show`: shared access signatures, made and explained without a request.
//!
//! A signature is signed with the account key of the connection. Terms that the service would refuse are refused.

mod account;
mod grant;
mod permissions;
mod queue;
mod show;
mod table;

pub(crate) use permissions::{QUEUE, TABLE, legend, ordered};

use crate::args::{Place, ValidityArgs};
use crate::prelude::*;
use grant::Grant;
use partita_client::{AccountKey, Credential, DateTime, SasTerms, ServiceKind};
use std::net::Ipv4Addr;

commands! {
    pub(crate) enum SasCommand {
        Table(table::TableCommand), Queue(queue::QueueCommand), Account(account::AccountCommand),
        Show(show::ShowCommand),
    }
}

/// How a signature is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// The query alone
    Token,
    /// A URL with it
    Url,
    /// A connection string, for SDKs and --connection-string
    ConnectionString,
}

/// The terms that all kinds have, and the form of the output.
#[derive(Debug, clap::Args)]
struct TermsArgs {
    #[command(flatten)]
    validity: ValidityArgs,
    /// Address that may use it, or a range: 10.0.0.1 or 10.0.0.1-10.0.0.9 [default: every address]
    #[arg(long, value_name = "ADDRESSES", value_parser = addresses)]
    ip: Option<String>,
    /// Valid over HTTPS only
    #[arg(long)]
    https_only: bool,
    /// What is printed
    #[arg(long, value_name = "FORM", default_value = "token")]
    form: Form,
}

impl TermsArgs {
    /// The terms. `policy` may have those that are missing.
    fn terms(&self, policy: Option<&str>) -> Result<SasTerms, CommandError> {
        let now = partita_client::now();
        let (start, expiry) = self.validity.times(now)?;
        if expiry.is_none() && policy.is_none() {
            return Err(CommandError::usage(
                "--expiry is missing; only a stored policy (--policy) can have it instead",
            ));
        }
        if let Some(expiry) = expiry.filter(|expiry| *expiry <= now) {
            return Err(CommandError::usage(format!(
                "--expiry {expiry} is in the past; it is now {}",
                seconds(now)
            )));
        }
        Ok(SasTerms {
            start,
            expiry,
            addresses: self.ip.clone(),
            https_only: self.https_only,
        })
    }

    /// Prints the signature in its form, and on stderr what it grants.
    fn print(&self, token: &str, places: &[Opened]) -> CommandResult {
        let text = match self.form {
            Form::Token => token.to_owned(),
            Form::Url => {
                let urls: Vec<String> = places
                    .iter()
                    .map(|place| format!("{}?{token}", place.url))
                    .collect();
                urls.join("\n")
            }
            Form::ConnectionString => {
                let endpoints: String = places
                    .iter()
                    .map(|place| format!("{}={};", place.name, place.endpoint))
                    .collect();
                format!("{endpoints}SharedAccessSignature={token}")
            }
        };
        output::print(&text)?;
        let grant = Grant::read(token, None)?;
        message(&grant.sentence(partita_client::now()));
        Ok(Outcome::Done)
    }
}

/// A URL that a signature opens.
struct Opened {
    url: String,
    endpoint: String,
    /// The name of the endpoint in a connection string.
    name: &'static str,
}

impl Opened {
    /// The URL of a table or a queue, or of the service if `name` is empty.
    fn new(place: &Place, service: ServiceKind, name: &str) -> Self {
        let endpoint = place.account.endpoint.to_string();
        Self {
            url: format!("{endpoint}/{name}"),
            endpoint,
            name: match service {
                ServiceKind::Queue => "QueueEndpoint",
                _ => "TableEndpoint",
            },
        }
    }
}

/// Checks an address or a range of addresses.
fn addresses(text: &str) -> Result<String, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let address = |text: &str| {
        let invalid = |_| format!("{text:?} is not an IPv4 address; the service accepts no others");
        text.parse::<Ipv4Addr>().map_err(invalid)
    };
    if address(first)? > address(last)? {
        return Err(format!("{first} is after {last}"));
    }
    Ok(text.to_owned())
}

/// Account and key of a place, which sign.
fn signer(place: &Place) -> Result<(&str, &AccountKey), CommandError> {
    match &place.account.credential {
        Credential::SharedKey { account, key } => Ok((account, key)),
        _ => Err(CommandError::usage(
            "a signature is made with the account key, and the connection has only a shared access signature; use --profile, --connection-string or --key of the account",
        )),
    }
}

/// A time without fractions of a second.
fn seconds(at: DateTime) -> String {
    let text = at.text().to_string();
    match text.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_one_or_a_range() {
        assert!(addresses("10.0.0.1").is_ok() && addresses("10.0.0.1-10.0.0.9").is_ok());
        for (text, expected) in [
            ("10.0.0", "\"10.0.0\" is not an IPv4 address"),
            ("10.0.0.9-10.0.0.1", "10.0.0.9 is after 10.0.0.1"),
            ("::1", "is not an IPv4 address"),
            ("", "is not an IPv4 address"),
        ] {
            let refused = addresses(text).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn only_a_key_signs() {
        let with = |credential| {
            let mut place = Place::local(ServiceKind::Table).unwrap();
            place.account.credential = credential;
            place
        };
        let place = with(Credential::shared_key("acct", "a2V5").unwrap());
        assert_eq!(signer(&place).unwrap().0, "acct");
        let refused = signer(&with(Credential::sas("sv=1"))).unwrap_err().chain();
        assert!(refused.contains("made with the account key"), "{refused}");
    }
}
