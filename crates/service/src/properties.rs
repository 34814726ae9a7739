//! Service properties: analytics settings and CORS rules, one row for each account and service.

use crate::{Error, Storage, decode_record, encode_record};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::{AccountName, KeyKind, KeyWriter, ServiceProperties};

fn key(kind: KeyKind, account: &AccountName) -> Bytes {
    KeyWriter::new(kind, 32)
        .last_text(account.as_str())
        .finish()
}

fn read(row: Option<Bytes>) -> Result<ServiceProperties, Error> {
    row.map_or_else(
        || Ok(ServiceProperties::default()),
        |row| decode_record(&row),
    )
}

/// The properties of accounts in one service.
#[derive(Debug, Clone, Copy)]
pub struct AccountProperties<'a> {
    storage: &'a Storage,
    kind: KeyKind,
}

impl Storage {
    /// The properties of accounts in one service. `kind` is the key kind of the service's rows, such as
    /// [`KeyKind::TABLE_SERVICE_PROPERTIES`].
    #[must_use]
    pub const fn properties(&self, kind: KeyKind) -> AccountProperties<'_> {
        AccountProperties {
            storage: self,
            kind,
        }
    }
}

impl AccountProperties<'_> {
    /// The account's properties; the defaults if they were never set.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn get(&self, account: &AccountName) -> Result<ServiceProperties, Error> {
        let key = key(self.kind, account);
        read(self.storage.catalog_row(&key).await?)
    }

    /// Changes some of the account's properties: `change` receives the current ones. Cancel-safe: if dropped during the
    /// write, the change still completes.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn change(
        &self,
        account: &AccountName,
        change: impl FnOnce(&mut ServiceProperties) + Send,
    ) -> Result<(), Error> {
        let key = key(self.kind, account);
        let locked = self.storage.change_catalog(std::slice::from_ref(&key));
        let locked = locked.await?;
        let mut properties = read(locked.read(&key).await?)?;
        change(&mut properties);
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode_record(&properties));
        locked.commit(batch).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::CorsRule;

    /// The stored form must not change, because servers read rows that older versions wrote.
    #[test]
    fn the_stored_form_is_the_documented_one() {
        let properties = ServiceProperties {
            cors: vec![CorsRule {
                allowed_origins: vec!["*".into()],
                max_age_seconds: 5,
                ..CorsRule::default()
            }],
            ..ServiceProperties::default()
        };
        let metrics =
            r#"{"version":"1.0","enabled":false,"include_apis":null,"retention_days":null}"#;
        let stored = [
            "\u{1}",
            r#"{"logging":{"version":"1.0","delete":false,"read":false,"write":false,"retention_days":null},"#,
            &format!(r#""hour_metrics":{metrics},"minute_metrics":{metrics},"#),
            r#""cors":[{"allowed_origins":["*"],"allowed_methods":[],"allowed_headers":[],"#,
            r#""exposed_headers":[],"max_age_seconds":5}]}"#,
        ];
        let row = encode_record(&properties);
        assert_eq!(row, stored.concat());
        assert_eq!(read(Some(row)).unwrap(), properties);
    }
}
