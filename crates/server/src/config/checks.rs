//! Reads the texts of settings into typed settings, and checks the rules that involve several of them.
//!
//! Each error names the settings and the layers that gave them.

use std::path::PathBuf;

use partita_cluster::BalanceSettings;
use partita_engine::slate::Reads;

use super::accounts::{self, Account};
use super::listeners::{admin, check_exposure, check_ports, idle_timeout, queue, table};
use super::parts::{Limits, Log, LogFormat, Oauth, Password, Place, Settings, Store, Tls};
use super::readers::{AUTO, any_size, conflict, count, size, size_or_share, time};
use super::targets::{queue_targets, targets};
use super::values::{Source, Values};
use super::{Error, catalog as c, cluster, places};

impl Settings {
    /// Reads every value and checks the rules between them.
    ///
    /// # Errors
    /// A value is invalid, or two settings exclude or require each other. The error names the settings and the layer.
    pub fn from_values(values: &Values) -> Result<Settings, Error> {
        values.switch(&c::LOOSE)?;
        let store = store(values)?;
        let settings = Settings {
            table: table(values)?,
            queue: queue(values)?,
            admin: admin(values)?,
            cluster: cluster::cluster(values, &store.place, |name| std::env::var(name).ok())?,
            store,
            accounts: accounts(values)?,
            tls: tls(values)?,
            oauth: oauth(values)?,
            limits: limits(values)?,
            targets: targets(values)?,
            queue_targets: queue_targets(values)?,
            log: log(values)?,
        };
        check_exposure(values, &settings)?;
        check_ports(&settings)?;
        if settings.oauth != Oauth::Off && !settings.tls.is_on() {
            return conflict("bearer tokens need HTTPS: add --cert and --key, or --tls dev");
        }
        Ok(settings)
    }
}

fn store(values: &Values) -> Result<Store, Error> {
    let (place, location) = places::places(values)?;
    Ok(Store {
        scrub_rate: scrub_rate(values, &place)?,
        place,
        location,
        block_cache_bytes: size_or_share(values, &c::BLOCK_CACHE_BYTES, 8, 0..=256 << 20)?,
        entity_cache_bytes: size_or_share(values, &c::ENTITY_CACHE_BYTES, 16, 0..=128 << 20)?,
        reader: values.word(
            &c::READER,
            "`partita`, `slatedb` or `compared`",
            &[
                ("partita", Reads::Own),
                ("slatedb", Reads::SlateDb),
                ("compared", Reads::Compared),
            ],
        )?,
        garbage_age: time(values, &c::GARBAGE_AGE)?,
        backup_places: backup_places(values)?,
        balance: balance(values)?,
    })
}

/// Over an object store, the default is off: stores check their own bytes, and each read costs a request.
fn scrub_rate(values: &Values, place: &Place) -> Result<u64, Error> {
    let is_default = values.of(&c::SCRUB_RATE).source == Source::Default;
    match place {
        Place::ObjectStore(_) if is_default => Ok(0),
        _ => any_size(values, &c::SCRUB_RATE),
    }
}

fn backup_places(values: &Values) -> Result<Vec<partita_rt::Place>, Error> {
    let places = values.list(&c::BACKUP_PLACES);
    let parsed = places.iter().map(|place| partita_rt::Place::parse(place));
    parsed
        .collect::<Result<_, _>>()
        .map_err(|error| values.of(&c::BACKUP_PLACES).invalid(error.to_string()))
}

fn balance(values: &Values) -> Result<Option<BalanceSettings>, Error> {
    let split_bytes = any_size(values, &c::SPLIT_BYTES)?;
    let split_rate = count(values, &c::SPLIT_RATE)?;
    let percentage = "a percentage such as `50%`, 1 or more";
    let split_cores = values.read(&c::SPLIT_CPU, percentage, |text| {
        let percent: u16 = text.strip_suffix('%')?.trim_end().parse().ok()?;
        (percent > 0).then(|| f64::from(percent) / 100.0)
    })?;
    let words = [("off", None), ("size", Some(false)), ("load", Some(true))];
    let by_load = values.word(&c::BALANCE, "`off`, `size` or `load`", &words)?;
    Ok(by_load.map(|by_load| BalanceSettings {
        split_bytes,
        split_rate: split_rate as f64,
        split_cores,
        by_load,
        ..BalanceSettings::default()
    }))
}

fn accounts(values: &Values) -> Result<Vec<Account>, Error> {
    match values.text(&c::ACCOUNTS) {
        None => Ok(accounts::well_known()),
        Some(text) => accounts::parse(text)
            .map_err(|error| values.of(&c::ACCOUNTS).invalid(error.to_string())),
    }
}

fn tls(values: &Values) -> Result<Tls, Error> {
    let mode = values.word(&c::TLS, "`dev`", &[("", false), ("dev", true)])?;
    let [cert, key, pwd] = [&c::CERT, &c::KEY, &c::PWD].map(|setting| values.text(setting));
    match (mode, cert, key, pwd) {
        (false, None, None, None) => Ok(Tls::Off),
        (true, None, None, None) => Ok(Tls::Dev),
        (true, ..) => conflict("--tls dev and --cert, --key or --pwd exclude each other"),
        (false, Some(cert), Some(key), None) => Ok(Tls::Pem {
            cert: cert.into(),
            key: key.into(),
        }),
        (false, Some(cert), None, None) if !is_pfx(cert) => {
            conflict("--cert needs --key (for PEM) or --pwd (for PFX)")
        }
        (false, Some(cert), None, password) => Ok(Tls::Pfx {
            file: cert.into(),
            password: Password(password.unwrap_or_default().to_owned()),
        }),
        (false, Some(_), Some(_), Some(_)) => conflict("--key and --pwd exclude each other"),
        (false, None, ..) => conflict("--key and --pwd need --cert"),
    }
}

/// Whether the name is that of a PFX file. Such a file with an empty password needs no `--pwd`, so `--pwd` alone does
/// not show the format.
fn is_pfx(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".pfx") || path.ends_with(".p12")
}

fn oauth(values: &Values) -> Result<Oauth, Error> {
    let basic = values.word(&c::OAUTH, "`basic`", &[("", false), ("basic", true)])?;
    let issuer = values.text(&c::OAUTH_ISSUER);
    let audiences = values.list(&c::OAUTH_AUDIENCE);
    let jwks = values.text(&c::OAUTH_JWKS);
    match (basic, issuer, jwks) {
        (false, None, None) if audiences.is_empty() => Ok(Oauth::Off),
        (true, None, None) if audiences.is_empty() => Ok(Oauth::Basic),
        (true, ..) => {
            conflict("--oauth basic excludes --oauth-issuer, --oauth-audience and --oauth-jwks")
        }
        (false, Some(issuer), Some(jwks)) if !audiences.is_empty() => Ok(Oauth::Verified {
            issuer: issuer.to_owned(),
            audiences,
            jwks: jwks.into(),
        }),
        _ => conflict("--oauth-issuer, --oauth-audience and --oauth-jwks must be given together"),
    }
}

fn limits(values: &Values) -> Result<Limits, Error> {
    let body_bytes_max = size(values, &c::BODY_BYTES_MAX, 64)?;
    Ok(Limits {
        connections_max: count(values, &c::CONNECTIONS_MAX)?,
        header_bytes_max: size(values, &c::HEADER_BYTES_MAX, 8)?,
        body_bytes_max,
        memory_in_flight: memory_in_flight(values, body_bytes_max as u64)?,
        request_timeout: time(values, &c::REQUEST_TIMEOUT)?,
        header_timeout: time(values, &c::HEADER_TIMEOUT)?,
        stall_timeout: time(values, &c::STALL_TIMEOUT)?,
        transfer_rate_min: size(values, &c::TRANSFER_RATE_MIN, 0)?.max(1) as u64,
        idle_timeout: idle_timeout(values)?,
        drain_timeout: time(values, &c::DRAIN_TIMEOUT)?,
        batches_max: count(values, &c::BATCHES_MAX)?,
    })
}

/// The bytes of `--memory-in-flight`. At least one request of any kind has to fit: a body takes its own bytes and about
/// as many for the rows that are built from it; a page of 4 MiB takes the bytes of its rows and of its JSON.
fn memory_in_flight(values: &Values, body_bytes_max: u64) -> Result<u64, Error> {
    let (setting, least) = (&c::MEMORY_IN_FLIGHT, MEMORY_MIN.max(2 * body_bytes_max));
    let bytes = size_or_share(values, setting, 4, 32 << 20..=1 << 30)?;
    if bytes >= least {
        return Ok(bytes);
    }
    match values.of(setting).text.as_str() {
        AUTO => Ok(least),
        text => conflict(format!(
            "--memory-in-flight ({text}) is too small: expected at least {least} bytes, which is 16MiB or twice --body-bytes-max"
        )),
    }
}

const MEMORY_MIN: u64 = 16 << 20;

fn log(values: &Values) -> Result<Log, Error> {
    let levels = "error, warn, info, debug or trace";
    let level = values.read(&c::LOG_LEVEL, levels, |text| text.parse().ok())?;
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let format = values.word(&c::LOG_FORMAT, "text or json", &formats)?;
    let silent = values.switch(&c::SILENT)?;
    Ok(Log {
        level: if silent { tracing::Level::ERROR } else { level },
        format,
        debug_file: values.text(&c::DEBUG).map(PathBuf::from),
    })
}
