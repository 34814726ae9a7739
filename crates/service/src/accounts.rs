//! The accounts of a server, by name.

use partita_model::AccountName;
use partita_rt::hash::RandomState;
use std::collections::HashMap;

/// An account with its keys. `K` is the form of the keys with which a protocol checks signatures.
#[derive(Debug, Clone)]
pub struct Account<K> {
    /// Its name.
    pub name: AccountName,
    /// Its keys.
    pub keys: K,
}

/// All accounts.
#[derive(Debug)]
pub struct Accounts<K> {
    by_name: HashMap<String, Account<K>, RandomState>,
}

impl<K> Accounts<K> {
    /// The account of that name.
    pub fn get(&self, name: &str) -> Option<&Account<K>> {
        self.by_name.get(name)
    }
}

impl<K> FromIterator<Account<K>> for Accounts<K> {
    fn from_iter<I: IntoIterator<Item = Account<K>>>(accounts: I) -> Self {
        let named = accounts
            .into_iter()
            .map(|account| (account.name.as_str().to_owned(), account));
        Self {
            by_name: named.collect(),
        }
    }
}
