//! Reads the texts of settings as hosts, ports, counts, times and sizes. Each error names the setting and its layer.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::setting::Setting;
use super::values::Values;
use super::{Error, quantity};

pub(super) fn host(values: &Values, setting: &'static Setting) -> Result<String, Error> {
    values.read(setting, "an address or host name", |text| {
        let text = text.trim().trim_start_matches('[').trim_end_matches(']');
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
        (!text.is_empty() && text.bytes().all(legal)).then(|| text.to_owned())
    })
}

pub(super) fn port(values: &Values, setting: &'static Setting) -> Result<u16, Error> {
    values.read(setting, "a port from 0 to 65535", |text| {
        text.trim().parse().ok()
    })
}

pub(super) fn count(values: &Values, setting: &'static Setting) -> Result<usize, Error> {
    values.read(setting, "a whole number from 1 to 1000000", |text| {
        let count = text.parse().ok();
        count.filter(|count| (1..=1_000_000).contains(count))
    })
}

pub(super) fn time(values: &Values, setting: &'static Setting) -> Result<Duration, Error> {
    let want = "a duration from 1ms to 24h, such as 30s or 2m";
    values.read(setting, want, |text| {
        quantity::time(text).filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
    })
}

/// A size from `min_kib` KiB to 1 GiB.
pub(super) fn size(
    values: &Values,
    setting: &'static Setting,
    min_kib: u64,
) -> Result<usize, Error> {
    let want = format!("a size from {min_kib}KiB to 1GiB");
    values.read(setting, &want, |text| {
        let bytes = quantity::bytes(text).filter(|bytes| (min_kib << 10..=1 << 30).contains(bytes));
        usize::try_from(bytes?).ok()
    })
}

pub(super) fn any_size(values: &Values, setting: &'static Setting) -> Result<u64, Error> {
    values.read(setting, "a size such as 64KiB or 1GiB", quantity::bytes)
}

/// The value for a size that is computed from the available memory of the machine or container.
pub(super) const AUTO: &str = "auto";

/// A size. `auto` is the available memory divided by `divisor`, clamped to `range`; `range` does not limit other sizes.
pub(super) fn size_or_share(
    values: &Values,
    setting: &'static Setting,
    divisor: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, Error> {
    let want = "`auto`, or a size such as 64KiB or 1GiB";
    values.read(setting, want, |text| match text {
        AUTO => {
            let bytes = partita_rt::memory::available() / divisor;
            Some(bytes.clamp(*range.start(), *range.end()))
        }
        text => quantity::bytes(text),
    })
}

pub(super) fn conflict<T>(text: impl Into<String>) -> Result<T, Error> {
    Err(Error::Conflict(text.into()))
}
