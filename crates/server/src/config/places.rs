//! Where the data is: a directory, an object store or memory, from the settings that exclude each other.

use std::path::PathBuf;
use std::time::Duration;

use super::parts::{DiskCacheSettings, ObjectStorePlace, Place};
use super::readers::conflict;
use super::setting::Setting;
use super::values::{Source, Value, Values};
use super::{Error, catalog as c, quantity};

const URL: &str = "expected s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///DIR; --location takes a directory";

/// The least size of a disk cache: 256 parts.
const DISK_CACHE_BYTES_MIN: u64 = 64 << 20;

/// The longest gap: clients wait for it with each write.
const GAP_MAX: Duration = Duration::from_secs(10);

/// The place of the data, and the directory of `--location`.
pub(super) fn places(values: &Values) -> Result<(Place, PathBuf), Error> {
    let location = values.of(&c::LOCATION);
    if location.text.is_empty() {
        return Err(location.invalid("expected a directory".to_owned()));
    }
    let in_memory = values.switch(&c::IN_MEMORY)?;
    let memory = values.of(&c::IN_MEMORY);
    let store = values.of(&c::STORE);
    if in_memory && location.source != Source::Default {
        return exclude(memory, location);
    }
    if in_memory && !store.text.is_empty() {
        return exclude(memory, store);
    }
    if !store.text.is_empty() && location.source != Source::Default {
        return exclude(store, location);
    }
    let url = match store.text.is_empty() {
        true => Some(location).filter(|location| location.text.contains("://")),
        false => Some(store),
    };
    let place = match url {
        _ if in_memory => Place::Memory,
        Some(url) => Place::ObjectStore(object_store(values, url)?),
        None => Place::Directory(PathBuf::from(&location.text)),
    };
    let of_stores = [
        &c::LOG_STORE,
        &c::LOG_GAP,
        &c::DISK_CACHE,
        &c::DISK_CACHE_BYTES,
    ];
    for setting in of_stores {
        let value = values.of(setting);
        if !matches!(place, Place::ObjectStore(_)) && value.source != Source::Default {
            let (flag, source) = (setting.flag, &value.source);
            return conflict(format!("--{flag} (from {source}) needs --store"));
        }
    }
    Ok((place, directory(location)))
}

/// The directory of `--location`; the default if it is a URL.
fn directory(location: &Value) -> PathBuf {
    match location.text.contains("://") {
        true => PathBuf::from(c::LOCATION.default),
        false => PathBuf::from(&location.text),
    }
}

fn exclude<T>(one: &Value, other: &Value) -> Result<T, Error> {
    let shown = |value: &Value| format!("--{} (from {})", value.setting.flag, value.source);
    let (one, other) = (shown(one), shown(other));
    conflict(format!("{one} and {other} exclude each other"))
}

fn object_store(values: &Values, url: &Value) -> Result<ObjectStorePlace, Error> {
    let log = values.of(&c::LOG_STORE);
    Ok(ObjectStorePlace {
        files: place(url)?,
        log: match log.text.is_empty() {
            true => None,
            false => Some(place(log)?),
        },
        log_gap: log_gap(values, &c::LOG_GAP)?,
        disk_cache: disk_cache(values)?,
    })
}

fn disk_cache(values: &Values) -> Result<Option<DiskCacheSettings>, Error> {
    let size = "a size of 64MiB or more, such as 10GiB";
    let bytes_max = values.read(&c::DISK_CACHE_BYTES, size, |text| {
        quantity::bytes(text).filter(|bytes| *bytes >= DISK_CACHE_BYTES_MIN)
    })?;
    let folder = values.text(&c::DISK_CACHE).map(PathBuf::from);
    Ok(folder.map(|folder| DiskCacheSettings { folder, bytes_max }))
}

fn place(url: &Value) -> Result<partita_rt::Place, Error> {
    if !url.text.contains("://") {
        return Err(url.invalid(URL.to_owned()));
    }
    partita_rt::Place::parse(&url.text).map_err(|error| url.invalid(error.to_string()))
}

fn log_gap(values: &Values, setting: &'static Setting) -> Result<Duration, Error> {
    values.read(setting, "a duration from 0 to 10s, such as 10ms", |text| {
        quantity::time(text).filter(|gap| *gap <= GAP_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{from_flags, refused};
    use super::*;

    fn object_store(flags: &[(&str, &str)]) -> ObjectStorePlace {
        match from_flags(flags).store.place {
            Place::ObjectStore(store) => store,
            place => panic!("{place:?}"),
        }
    }

    #[test]
    fn a_store_is_named_by_its_own_flag_or_by_the_location() {
        let url = "s3://bucket/prefix";
        let store = object_store(&[("store", url)]);
        assert_eq!(store, object_store(&[("location", url)]));
        assert_eq!(store.files.url(), url);
        assert_eq!((store.log, store.log_gap), (None, Duration::from_millis(5)));

        assert_eq!(store.disk_cache, None);

        let store = object_store(&[
            ("store", "file:///shared"),
            ("log-store", "az://container/log"),
            ("log-gap", "0"),
        ]);
        assert_eq!(store.files.url(), "file:///shared");
        assert_eq!(store.log.unwrap().url(), "az://container/log");
        assert_eq!(store.log_gap, Duration::ZERO);
    }

    #[test]
    fn a_store_is_not_scrubbed_unless_a_setting_says_so() {
        let store = ("store", "s3://bucket");
        assert_eq!(from_flags(&[store]).store.scrub_rate, 0);
        let asked = from_flags(&[store, ("scrub-rate", "1MiB")]);
        assert_eq!(asked.store.scrub_rate, 1 << 20);
    }

    #[test]
    fn what_a_store_excludes_is_named_with_its_source() {
        let url = ("store", "s3://bucket");
        for (flags, expected) in [
            (
                [url, ("location", "d")],
                "--store (from flag --store) and --location (from flag --location) exclude each other",
            ),
            (
                [url, ("in-memory", "true")],
                "--in-memory (from flag --in-memory) and --store (from flag --store) exclude each other",
            ),
            (
                [("log-store", "s3://log"), ("location", "d")],
                "--log-store (from flag --log-store) needs --store",
            ),
            (
                [("log-gap", "1ms"), ("location", "d")],
                "--log-gap (from flag --log-gap) needs --store",
            ),
        ] {
            assert_eq!(refused(&flags), expected);
        }
        for bad in ["shared", "/shared", "s3://", "s3://key:secret@bucket"] {
            let text = refused(&[("store", bad)]);
            assert!(text.contains("store.url"), "{text}");
        }
        assert!(refused(&[url, ("log-gap", "11s")]).contains("from 0 to 10s"));
    }

    #[test]
    fn a_disk_cache_has_a_directory_and_a_size() {
        let store = ("store", "file:///shared");
        let cache = |flags: &[(&str, &str)]| {
            let found = object_store(&[&[store], flags].concat())
                .disk_cache
                .unwrap();
            (found.folder, found.bytes_max)
        };
        let folder = ("disk-cache", "/var/cache/partita");
        let (path, default) = cache(&[folder]);
        assert_eq!((path, default), (PathBuf::from(folder.1), 10 << 30));
        assert_eq!(cache(&[folder, ("disk-cache-bytes", "64MiB")]).1, 64 << 20);
        let small = refused(&[store, folder, ("disk-cache-bytes", "63MiB")]);
        assert!(small.contains("64MiB or more"), "{small}");
        let alone = refused(&[folder]);
        assert!(
            alone.contains("--disk-cache") && alone.contains("needs --store"),
            "{alone}"
        );
    }
}
