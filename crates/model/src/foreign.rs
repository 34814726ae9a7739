//! Conversions of the types of other libraries, each with the feature of its name: `uuid`, `chrono`, `time`, `jiff`.
//!
//! A time loses the part below 100 ns, and is clamped to the range of the service, 1601 to 9999.

#[cfg(any(
    feature = "uuid",
    feature = "chrono",
    feature = "time",
    feature = "jiff"
))]
use crate::{Value, WrongType};

/// Implements the conversions between a type and [`Value`], from those between it and `$own`.
#[cfg(any(
    feature = "uuid",
    feature = "chrono",
    feature = "time",
    feature = "jiff"
))]
macro_rules! value {
    ($foreign:ty, $own:ty) => {
        impl From<$foreign> for Value {
            fn from(value: $foreign) -> Self {
                <$own>::from(value).into()
            }
        }

        impl TryFrom<&Value> for $foreign {
            type Error = WrongType;

            fn try_from(value: &Value) -> Result<Self, WrongType> {
                <$own>::try_from(value).map(Into::into)
            }
        }
    };
}

#[cfg(feature = "uuid")]
mod of_uuid {
    use super::{Value, WrongType};
    use crate::Guid;
    use uuid::Uuid;

    impl From<Uuid> for Guid {
        fn from(uuid: Uuid) -> Self {
            Self(uuid.into_bytes())
        }
    }

    impl From<Guid> for Uuid {
        fn from(Guid(bytes): Guid) -> Self {
            Self::from_bytes(bytes)
        }
    }

    value!(Uuid, Guid);
}

#[cfg(feature = "chrono")]
mod of_chrono {
    use super::{Value, WrongType};
    use crate::DateTime;
    use chrono::{TimeZone, Utc};

    impl<Tz: TimeZone> From<chrono::DateTime<Tz>> for DateTime {
        fn from(time: chrono::DateTime<Tz>) -> Self {
            let nanos = i128::from(time.timestamp_subsec_nanos());
            Self::from_unix_nanos(i128::from(time.timestamp()) * 1_000_000_000 + nanos)
        }
    }

    impl From<DateTime> for chrono::DateTime<Utc> {
        fn from(time: DateTime) -> Self {
            time.to_system().into()
        }
    }

    value!(chrono::DateTime<Utc>, DateTime);
}

#[cfg(feature = "time")]
mod of_time {
    use super::{Value, WrongType};
    use crate::DateTime;
    use time::OffsetDateTime;

    impl From<OffsetDateTime> for DateTime {
        fn from(time: OffsetDateTime) -> Self {
            Self::from_unix_nanos(time.unix_timestamp_nanos())
        }
    }

    impl From<DateTime> for OffsetDateTime {
        fn from(time: DateTime) -> Self {
            time.to_system().into()
        }
    }

    value!(OffsetDateTime, DateTime);
}

#[cfg(feature = "jiff")]
mod of_jiff {
    use super::{Value, WrongType};
    use crate::DateTime;
    use jiff::Timestamp;

    impl From<Timestamp> for DateTime {
        fn from(time: Timestamp) -> Self {
            Self::from_unix_nanos(time.as_nanosecond())
        }
    }

    impl From<DateTime> for Timestamp {
        /// A `Timestamp` ends some hours before the last [`DateTime`]; later times become its last one.
        fn from(time: DateTime) -> Self {
            Self::from_nanosecond(time.to_unix_nanos()).unwrap_or(Self::MAX)
        }
    }

    value!(Timestamp, DateTime);
}

#[cfg(test)]
mod tests {
    use crate::{DateTime, Guid, Value, WrongType};
    use chrono::Utc;
    use jiff::Timestamp;
    use time::OffsetDateTime;
    use uuid::Uuid;

    #[test]
    fn uuids_are_guids() {
        let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
        let uuid = Uuid::try_parse(text).unwrap();
        let value = Value::from(uuid);
        assert_eq!(value, Value::Guid(text.parse().unwrap()));
        assert_eq!(Uuid::try_from(&value), Ok(uuid));
        assert_eq!(Guid::from(uuid).to_string(), text);
    }

    fn round_trip<T>(at: DateTime) -> DateTime
    where
        T: From<DateTime> + Into<Value> + for<'a> TryFrom<&'a Value, Error = WrongType>,
    {
        let value: Value = T::from(at).into();
        let back: Value = T::try_from(&value).unwrap().into();
        assert_eq!(back, value);
        value.as_date_time().unwrap()
    }

    #[test]
    fn times_keep_their_ticks() {
        for text in [
            "1601-01-01T00:00:00.0000001Z",
            "1969-12-31T23:59:59.9999999Z",
            "2026-11-26T09:08:07.7654321Z",
            "9999-12-30T00:00:00.9999999Z",
        ] {
            let at: DateTime = text.parse().unwrap();
            assert_eq!(round_trip::<chrono::DateTime<Utc>>(at), at);
            assert_eq!(round_trip::<OffsetDateTime>(at), at);
            assert_eq!(round_trip::<Timestamp>(at), at);
        }
        assert_eq!(
            Value::from(Timestamp::MIN).as_date_time(),
            Some(DateTime::MIN)
        );
        assert_eq!(Timestamp::from(DateTime::MAX), Timestamp::MAX);
        assert_eq!(DateTime::from_unix_nanos(i128::MAX), DateTime::MAX);
    }
}
