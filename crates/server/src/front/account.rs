//! The accounts that are served, by name.

use crate::config;
use partita_model::AccountName;
use partita_rt::hash::RandomState;
use partita_wire::{AccountKey, AccountKeys};
use std::collections::HashMap;

/// An account, ready to check signatures.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) name: AccountName,
    pub(super) keys: AccountKeys,
}

/// All accounts.
#[derive(Debug)]
pub struct Accounts {
    by_name: HashMap<String, Account, RandomState>,
}

/// An account of the settings cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("account {name} cannot be served: {reason}")]
pub struct InvalidAccount {
    name: String,
    reason: String,
}

impl Accounts {
    /// The accounts of the settings.
    ///
    /// # Errors
    /// [`InvalidAccount`] for a name or a key that the protocol does not know.
    pub fn new(accounts: &[config::Account]) -> Result<Self, InvalidAccount> {
        let by_name = accounts
            .iter()
            .map(|account| Ok((account.name().to_owned(), Account::new(account)?)))
            .collect::<Result<_, _>>()?;
        Ok(Self { by_name })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Account> {
        self.by_name.get(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }
}

impl Account {
    fn new(account: &config::Account) -> Result<Self, InvalidAccount> {
        let invalid = |reason: String| InvalidAccount {
            name: account.name().to_owned(),
            reason,
        };
        let name = AccountName::new(account.name()).map_err(|error| invalid(error.to_string()))?;
        let mut keys = account.keys().iter().map(|key| {
            AccountKey::from_base64(&key.to_base64()).map_err(|error| invalid(error.to_string()))
        });
        let primary = keys
            .next()
            .ok_or_else(|| invalid("it has no key".to_owned()))??;
        let secondary = keys.next().transpose()?;
        Ok(Self {
            name,
            keys: AccountKeys::new(primary, secondary),
        })
    }
}
