//! Accounts and their keys, in Azurite's text form: `name:key1[:key2];name2:key`.
//!
//! Promises: no `Debug` output and no error shows a key; there is at least one account; names are unique.

use std::fmt;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose};
use base64::{Engine as _, alphabet};

/// The account of every emulator and of `UseDevelopmentStorage=true`.
pub const WELL_KNOWN_ACCOUNT: &str = "devstoreaccount1";

/// The key of [`WELL_KNOWN_ACCOUNT`]. It is public: the service's document "Use the Azurite emulator" prints it.
pub const WELL_KNOWN_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Decodes base64 with or without padding: Node's decoder, and so Azurite, accepts keys without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The secret that signs the requests of an account.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountKey(Vec<u8>);

impl AccountKey {
    /// The decoded key, for signing. Never empty.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key in base64, for connection strings.
    pub fn to_base64(&self) -> String {
        general_purpose::STANDARD.encode(&self.0)
    }

    /// True for the public key of the emulators.
    pub fn is_well_known(&self) -> bool {
        self.to_base64() == WELL_KNOWN_KEY
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey(hidden)")
    }
}

/// One account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// One or two keys.
    pub keys: Vec<AccountKey>,
}

/// Why a text of accounts is invalid. Names the account, never shows a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AccountsError {
    /// No account.
    #[error("expected at least one account, as NAME:KEY")]
    Empty,
    /// The name breaks the service's rule ("Storage account overview").
    #[error("invalid account name {0:?}: expected 3 to 24 lower-case letters and digits")]
    Name(String),
    /// Two accounts have the same name.
    #[error("account {0} is given twice")]
    Twice(String),
    /// No key, or more than two.
    #[error("account {0} has {1} keys: expected one or two")]
    KeyCount(String, usize),
    /// A key that is not base64, or is empty.
    #[error("key {1} of account {0} is not base64")]
    Key(String, usize),
}

/// Reads `name:key1[:key2];name2:key`. A trailing semicolon and blanks around the parts are allowed.
pub(crate) fn parse(text: &str) -> Result<Vec<Account>, AccountsError> {
    let mut accounts: Vec<Account> = Vec::new();
    for part in text
        .split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let account = parse_account(part)?;
        if accounts.iter().any(|known| known.name == account.name) {
            return Err(AccountsError::Twice(account.name));
        }
        accounts.push(account);
    }
    if accounts.is_empty() {
        return Err(AccountsError::Empty);
    }
    Ok(accounts)
}

/// The default account.
pub(crate) fn well_known() -> Vec<Account> {
    parse(&format!("{WELL_KNOWN_ACCOUNT}:{WELL_KNOWN_KEY}"))
        .expect("the well-known account is well formed")
}

fn parse_account(part: &str) -> Result<Account, AccountsError> {
    let mut fields = part.split(':').map(str::trim);
    let name = fields.next().unwrap_or_default();
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !(3..=24).contains(&name.len()) || !name.bytes().all(legal) {
        // A text longer than any name may be a misplaced key, which no error may show.
        let shown = if name.len() > 24 { "(too long)" } else { name };
        return Err(AccountsError::Name(shown.to_owned()));
    }
    let mut keys = Vec::new();
    for (index, text) in fields.enumerate() {
        match LENIENT.decode(text) {
            Ok(bytes) if !bytes.is_empty() => keys.push(AccountKey(bytes)),
            _ => return Err(AccountsError::Key(name.to_owned(), index + 1)),
        }
    }
    if !(1..=2).contains(&keys.len()) {
        return Err(AccountsError::KeyCount(name.to_owned(), keys.len()));
    }
    Ok(Account {
        name: name.to_owned(),
        keys,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azurites_form_is_read() {
        let accounts = parse("first:a2V5MQ==:a2V5Mg==; second:a2V5Mw;").unwrap();
        let names: Vec<_> = accounts.iter().map(|account| &*account.name).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(accounts[0].keys[1].bytes(), b"key2");
        assert_eq!(accounts[1].keys[0].to_base64(), "a2V5Mw==");
    }

    #[test]
    fn each_fault_has_its_own_error() {
        assert_eq!(parse(" ; "), Err(AccountsError::Empty));
        assert_eq!(
            parse("Upper:a2V5"),
            Err(AccountsError::Name("Upper".into()))
        );
        assert_eq!(parse("ab:a2V5"), Err(AccountsError::Name("ab".into())));
        assert_eq!(
            parse("abc:a2V5;abc:a2V5"),
            Err(AccountsError::Twice("abc".into()))
        );
        assert_eq!(parse("abc"), Err(AccountsError::KeyCount("abc".into(), 0)));
        assert_eq!(
            parse("abc:a2V5:a2V5:a2V5"),
            Err(AccountsError::KeyCount("abc".into(), 3))
        );
        assert_eq!(
            parse("abc:a2V5:not base64"),
            Err(AccountsError::Key("abc".into(), 2))
        );
        assert_eq!(parse("abc:"), Err(AccountsError::Key("abc".into(), 1)));
    }

    #[test]
    fn debug_output_hides_keys() {
        let accounts = parse("abc:c2VjcmV0").unwrap();
        let shown = format!("{accounts:?}");
        assert!(
            !shown.contains("c2VjcmV0") && !shown.contains("115"),
            "{shown}"
        );
    }

    #[test]
    fn the_well_known_key_is_recognised() {
        assert!(well_known()[0].keys[0].is_well_known());
        let unpadded = WELL_KNOWN_KEY.trim_end_matches('=');
        assert!(parse(&format!("other:{unpadded}")).unwrap()[0].keys[0].is_well_known());
        assert!(!parse("abc:a2V5").unwrap()[0].keys[0].is_well_known());
    }
}
