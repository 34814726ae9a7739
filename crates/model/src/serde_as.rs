//! Serde for fields whose types are of other libraries.

/// Declares a module for `#[serde(with = …)]`: it serializes values as the type `$own`, and deserializes them from it.
macro_rules! serde_as {
    ($(#[$doc:meta])+ $module:ident, $own:ident) => {
        $(#[$doc])+
        pub mod $module {
            use crate::$own;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            /// Serializes the value.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize<T: Copy + Into<$own>, S: Serializer>(
                value: &T,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                (*value).into().serialize(serializer)
            }

            /// Deserializes the value.
            ///
            /// # Errors
            /// Those of the deserializer.
            pub fn deserialize<'de, T: From<$own>, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<T, D::Error> {
                $own::deserialize(deserializer).map(T::from)
            }

            /// The same for an `Option`.
            pub mod option {
                use super::*;

                /// Serializes the value, if there is one.
                ///
                /// # Errors
                /// Those of the serializer.
                pub fn serialize<T: Copy + Into<$own>, S: Serializer>(
                    value: &Option<T>,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    value.map(Into::into).serialize(serializer)
                }

                /// Deserializes the value, if there is one.
                ///
                /// # Errors
                /// Those of the deserializer.
                pub fn deserialize<'de, T: From<$own>, D: Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Option<T>, D::Error> {
                    Ok(Option::<$own>::deserialize(deserializer)?.map(T::from))
                }
            }
        }
    };
}

serde_as! {
    /// Serde for a field that is to be a DateTime: a `SystemTime`, or a type of the features `chrono`, `time` and
    /// `jiff`. Without it, such a field becomes a String, or is refused.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use std::time::SystemTime;
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Visit {
    ///     #[serde(with = "partita_model::as_date_time")]
    ///     began: SystemTime,
    ///     #[serde(with = "partita_model::as_date_time::option", default)]
    ///     ended: Option<SystemTime>,
    /// }
    /// ```
    as_date_time, DateTime
}

serde_as! {
    /// Serde for a field that is to be a Guid: a `Uuid`, with the feature `uuid`. Without it, such a field becomes a
    /// String.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Order {
    ///     #[serde(with = "partita_model::as_guid")]
    ///     id: uuid::Uuid,
    ///     #[serde(with = "partita_model::as_guid::option", default)]
    ///     replaces: Option<uuid::Uuid>,
    /// }
    /// ```
    as_guid, Guid
}

#[cfg(test)]
mod tests {
    use crate::{DateTime, Guid};
    use serde::{Deserialize, Serialize};
    use std::time::SystemTime;

    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Row {
        #[serde(with = "super::as_date_time")]
        at: SystemTime,
        #[serde(with = "super::as_date_time::option", default)]
        end: Option<SystemTime>,
        #[serde(with = "super::as_guid")]
        id: uuid::Uuid,
        #[serde(with = "super::as_guid::option", default)]
        other: Option<Guid>,
    }

    #[test]
    fn fields_are_the_text_of_their_own_types() {
        let row = Row {
            at: SystemTime::UNIX_EPOCH,
            end: None,
            id: uuid::Uuid::from_bytes([7; 16]),
            other: Some(Guid([8; 16])),
        };
        let json = serde_json::to_string(&row).unwrap();
        let (at, id, other) = (DateTime::UNIX_EPOCH, Guid([7; 16]), Guid([8; 16]));
        let expected =
            format!("{{\"at\":\"{at}\",\"end\":null,\"id\":\"{id}\",\"other\":\"{other}\"}}");
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), row);
    }
}
