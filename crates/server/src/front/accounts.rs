//! The accounts of the settings, ready to check signatures.

use crate::config;
use partita_model::AccountName;
use partita_service::{Account, Accounts};
use partita_wire::{AccountKey, AccountKeys};

/// An account of the settings is invalid.
#[derive(Debug, thiserror::Error)]
#[error("account {name} cannot be served: {reason}")]
pub struct InvalidAccount {
    name: String,
    reason: String,
}

/// The accounts of the settings.
///
/// # Errors
/// [`InvalidAccount`] for an invalid name or key.
pub fn accounts(settings: &[config::Account]) -> Result<Accounts<AccountKeys>, InvalidAccount> {
    settings.iter().map(account).collect()
}

fn account(settings: &config::Account) -> Result<Account<AccountKeys>, InvalidAccount> {
    let invalid = |reason: String| InvalidAccount {
        name: settings.name.clone(),
        reason,
    };
    let name = AccountName::new(&settings.name).map_err(|error| invalid(error.to_string()))?;
    let mut keys = settings.keys.iter().map(|key| {
        AccountKey::from_base64(&key.to_base64()).map_err(|error| invalid(error.to_string()))
    });
    let primary = keys
        .next()
        .ok_or_else(|| invalid("it has no key".to_owned()))??;
    let secondary = keys.next().transpose()?;
    Ok(Account {
        name,
        keys: AccountKeys::new(primary, secondary),
    })
}
