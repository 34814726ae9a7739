//! `partita sas show TOKEN`: what a signature grants, and whether the account key made it.

use super::grant::{Grant, State};
use super::signer;
use crate::args::ConnectionArgs;
use crate::prelude::*;
use partita_client::ServiceKind;
use std::io::Read as _;

/// Limit of the length of the input.
const INPUT_BYTES_MAX: u64 = 64 * 1024;

/// Explain a shared access signature, and check it with the account key
#[derive(clap::Args)]
#[command(
    after_help = "Without --check the signature itself is not checked, and no key is needed. Exit code 1: the key of the connection did not make it, or it has expired. No request is sent: a stored policy is not looked up."
)]
pub(crate) struct ShowCommand {
    /// Signature, a URL or connection string with one, or `-` for stdin
    #[arg(value_name = "TOKEN")]
    token: String,
    /// Queue of a queue's signature, which does not name it
    #[arg(long)]
    queue: Option<String>,
    /// Check the signature with the account key of the connection
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Command for ShowCommand {
    fn run(self) -> CommandResult {
        let mut text = self.token;
        if text == "-" {
            text.clear();
            let mut stdin = std::io::stdin().take(INPUT_BYTES_MAX);
            stdin
                .read_to_string(&mut text)
                .because("cannot read stdin")?;
        }
        let (token, last) = token_in(text.trim());
        let queue = self.queue.as_deref().or(last);
        let grant = Grant::read(token, queue)?;
        let now = partita_client::now();
        let state = grant.state(now);
        let mut fields = grant.fields();
        fields.push(("state", Field::text(state.text())));
        let is_signed = match self.check {
            false => None,
            true => {
                let place = self.connection.place(ServiceKind::Table)?;
                let (account, key) = signer(&place)?;
                Some(grant.is_signed_by(account, key)?)
            }
        };
        let signature = match is_signed {
            None => "not checked",
            Some(true) => "valid",
            Some(false) => "invalid",
        };
        fields.push(("signature", Field::text(signature)));
        self.output
            .write(Shape::Single, |output| output.record(&fields))?;
        message(&grant.sentence(now));
        let has_ended = matches!(state, State::Expired | State::NoExpiry);
        let is_usable = !has_ended && is_signed != Some(false);
        Ok(match is_usable {
            true => Outcome::Done,
            false => Outcome::Differs,
        })
    }
}

/// The query of a signature, in a URL or in a connection string, and the last segment of the URL's path.
fn token_in(text: &str) -> (&str, Option<&str>) {
    let parts = text.split(';').map(str::trim);
    let mut named = parts.filter_map(|part| part.split_once('='));
    let is_named = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("SharedAccessSignature");
    if let Some((_, token)) = named.find(is_named) {
        return (token.trim_start_matches('?'), None);
    }
    let Some((url, token)) = text.split_once('?') else {
        return (text, None);
    };
    let last = url.rsplit_once('/').map(|(_, last)| last);
    (token, last.filter(|last| !last.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_found_in_urls_and_connection_strings() {
        for (text, expected) in [
            ("sv=1&sig=a%3D", ("sv=1&sig=a%3D", None)),
            ("?sv=1&sig=a", ("sv=1&sig=a", None)),
            ("http://h:1/acct/jobs?sv=1", ("sv=1", Some("jobs"))),
            ("http://h:1/acct/?sv=1", ("sv=1", None)),
            (
                "TableEndpoint=http://h/a;SharedAccessSignature=?sv=1&sig=a=",
                ("sv=1&sig=a=", None),
            ),
        ] {
            assert_eq!(token_in(text), expected, "{text}");
        }
    }
}
