//! The settings of the listeners: addresses, ports, keep-alive; and the rules between them.

use std::net::IpAddr;
use std::time::Duration;

use super::accounts::{Account, AccountKey};
use super::parts::{AdminListener, ServiceListener, Settings};
use super::readers::{AUTO, conflict, host, port, time};
use super::setting::Setting;
use super::values::{Source, Values};
use super::{Error, catalog as c};

pub(super) fn table(values: &Values) -> Result<ServiceListener, Error> {
    let settings = [&c::TABLE_HOST, &c::TABLE_KEEP_ALIVE, &c::HOST_SUFFIX];
    service(values, settings, port(values, &c::TABLE_PORT)?)
}

pub(super) fn queue(values: &Values) -> Result<Option<ServiceListener>, Error> {
    let keep_alive = queue_keep_alive(values);
    let settings = [&c::QUEUE_HOST, keep_alive, &c::QUEUE_HOST_SUFFIX];
    let port = queue_port(values)?;
    let listener = service(values, settings, port.unwrap_or_default())?;
    Ok(port.map(|_| listener))
}

/// The setting of the time in the `Keep-Alive` header of queues: that of tables unless queues have their own, so that a
/// shorter `--idle-timeout` needs one other flag only.
fn queue_keep_alive(values: &Values) -> &'static Setting {
    match values.of(&c::QUEUE_KEEP_ALIVE).source {
        Source::Default => &c::TABLE_KEEP_ALIVE,
        _ => &c::QUEUE_KEEP_ALIVE,
    }
}

fn service(
    values: &Values,
    [host_setting, keep_alive, host_suffixes]: [&'static Setting; 3],
    port: u16,
) -> Result<ServiceListener, Error> {
    let suffixes = values.list(host_suffixes).into_iter();
    let suffixes = suffixes.map(|suffix| suffix.trim_matches('.').to_ascii_lowercase());
    let keep_alive = time(values, keep_alive)?.as_secs().max(1);
    Ok(ServiceListener {
        host: host(values, host_setting)?,
        port,
        keep_alive: Duration::from_secs(keep_alive),
        host_suffixes: suffixes.collect(),
        product_style_url: !values.switch(&c::DISABLE_PRODUCT_STYLE_URL)?,
    })
}

/// The queue port, in which 0 picks a free port; `None` if queues are not served.
fn queue_port(values: &Values) -> Result<Option<u16>, Error> {
    let setting = &c::QUEUE_PORT;
    let value = values.of(setting);
    let is_default = value.source == Source::Default && value.text == setting.default;
    // A server with a free table port runs beside other servers, so it must not need a port that one of them has.
    if is_default && port(values, &c::TABLE_PORT)? == 0 {
        return Ok(Some(0));
    }
    let want = "`auto`, or a port from 0 to 65535";
    values.read(setting, want, |text| match text.trim() {
        AUTO => Some(Some(0)),
        text => text.parse().ok().map(|port| (port != 0).then_some(port)),
    })
}

pub(super) fn admin(values: &Values) -> Result<AdminListener, Error> {
    Ok(AdminListener {
        host: host(values, &c::ADMIN_HOST)?,
        port: Some(port(values, &c::ADMIN_PORT)?).filter(|port| *port != 0),
        or_free: values.of(&c::ADMIN_PORT).source == Source::Default,
    })
}

/// The idle timeout of connections: at least the timeouts in the `Keep-Alive` headers, because a client that relies on
/// one of them would otherwise send its next request on a closed connection.
pub(super) fn idle_timeout(values: &Values) -> Result<Duration, Error> {
    let idle = time(values, &c::IDLE_TIMEOUT)?;
    let mut raised = idle;
    for setting in [&c::TABLE_KEEP_ALIVE, queue_keep_alive(values)] {
        let keep_alive = time(values, setting)?;
        if idle >= keep_alive {
            continue;
        }
        // Azurite has only --tableKeepAliveTimeout and its like, so raising only that flag has to work.
        if values.of(&c::IDLE_TIMEOUT).source != Source::Default {
            let flag = setting.flag;
            return conflict(format!(
                "--idle-timeout ({idle:?}) is shorter than --{flag} ({keep_alive:?}): expected at least the same time"
            ));
        }
        raised = raised.max(keep_alive + KEEP_ALIVE_SPARE);
    }
    Ok(raised)
}

/// How much longer than the announced timeout a connection stays open by default, so that a request sent just before
/// that timeout is answered.
const KEEP_ALIVE_SPARE: Duration = Duration::from_secs(5);

/// Refuses the public key on an address that other machines reach, because any client there could read and delete all
/// data.
pub(super) fn check_exposure(values: &Values, settings: &Settings) -> Result<(), Error> {
    let mut accounts = settings.accounts.iter();
    let is_known = |account: &&Account| account.keys.iter().any(AccountKey::is_well_known);
    let Some(account) = accounts.find(is_known) else {
        return Ok(());
    };
    let table = (&c::TABLE_HOST, &settings.table);
    let queue = settings.queue.as_ref().map(|queue| (&c::QUEUE_HOST, queue));
    let mut services = [Some(table), queue].into_iter().flatten();
    let exposed = services.find(|(_, service)| !is_loopback(&service.host));
    match exposed {
        Some((setting, service)) if !values.switch(&c::ALLOW_WELL_KNOWN_KEY)? => conflict(format!(
            "--{} {} is reachable from other machines, and account {} has the public well-known key: \
             add --accounts NAME:KEY, or --allow-well-known-key to accept that key",
            setting.flag, service.host, account.name
        )),
        _ => Ok(()),
    }
}

/// Refuses two listeners on one port. Free ports differ.
pub(super) fn check_ports(settings: &Settings) -> Result<(), Error> {
    let (table, admin) = (&settings.table, &settings.admin);
    let queue = settings.queue.as_ref();
    let listeners = [
        (c::ADMIN_PORT.flag, &admin.host, admin.port),
        (
            c::QUEUE_PORT.flag,
            queue.map_or(&table.host, |queue| &queue.host),
            queue.map(|queue| queue.port),
        ),
        (c::TABLE_PORT.flag, &table.host, Some(table.port)),
    ];
    for (index, (flag, host, port)) in listeners.iter().enumerate() {
        let Some(port) = port.filter(|port| *port != 0) else {
            continue;
        };
        let mut others = listeners.iter().skip(index + 1);
        if let Some((other, ..)) = others.find(|other| (other.1, other.2) == (*host, Some(port))) {
            return conflict(format!(
                "--{flag} and --{other} are both {port}: choose another port for one of them"
            ));
        }
    }
    Ok(())
}

/// True if only this machine reaches the address. Names count if RFC 6761 reserves them for loopback.
fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => {
            let host = host.to_ascii_lowercase();
            host == "localhost" || host.ends_with(".localhost")
        }
    }
}
