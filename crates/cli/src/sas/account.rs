//! `partita sas account`: a signature for the tables, the queues or both of an account.

use super::permissions::{ACCOUNT, RESOURCE_TYPES, check, ordered};
use super::{Form, Opened, TermsArgs, signer};
use crate::args::ConnectionArgs;
use crate::prelude::*;
use partita_client::{AccountSasTerms, ServiceKind};

/// Make a shared access signature of an account
#[derive(clap::Args)]
#[command(
    after_help = "Resource types: s (service: list, properties), c (container: create and delete tables and queues), o (object: entities and messages). An account signature cannot be revoked, except by a new account key."
)]
pub(crate) struct AccountCommand {
    /// Services: t (tables), q (queues) or both
    #[arg(long, value_name = "LETTERS", default_value = "t", value_parser = services)]
    services: Services,
    /// Resource types: letters of s (service), c (container), o (object)
    #[arg(long, value_name = "LETTERS", value_parser = resource_types)]
    resource_types: String,
    /// Letters of r (read), w (write), d (delete), l (list), a (add), c (create), u (update), p (process)
    #[arg(long, value_name = "LETTERS", value_parser = |text: &str| ordered(text, ACCOUNT))]
    permissions: String,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Services(Vec<ServiceKind>);

fn services(text: &str) -> Result<Services, String> {
    let known = [('q', "queues"), ('t', "tables")];
    let letters = ordered(text, &known)?;
    let service = |letter: char| match letter {
        'q' => ServiceKind::Queue,
        _ => ServiceKind::Table,
    };
    Ok(Services(letters.chars().map(service).collect()))
}

/// Checks resource types, whose order is free.
fn resource_types(text: &str) -> Result<String, String> {
    check(text, RESOURCE_TYPES)?;
    Ok(text.to_owned())
}

impl Command for AccountCommand {
    fn run(self) -> CommandResult {
        let Services(services) = &self.services;
        let is_ambiguous = self.connection.has_endpoint() && services.len() > 1;
        if is_ambiguous && self.terms.form != Form::Token {
            return Err(CommandError::usage(
                "--endpoint is the URL of one service; use --connection-string or --profile for the URLs of several",
            ));
        }
        let mut opened = Vec::new();
        let mut token = String::new();
        let terms = AccountSasTerms {
            permissions: self.permissions,
            resource_types: self.resource_types,
            terms: self.terms.terms(None)?,
        };
        for service in services {
            let place = self.connection.place(*service)?;
            let (account, key) = signer(&place)?;
            token = terms.sign_for(account, key, services);
            opened.push(Opened::new(&place, *service, ""));
        }
        self.terms.print(&token, &opened)
    }
}
