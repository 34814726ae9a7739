//! The URLs at which clients reach a server, which it tells the cluster for hints to clients.

use std::net::{IpAddr, SocketAddr};

use crate::config::{ServiceListener, Settings};
use crate::connect::authority;
use crate::forwarding::{QUEUE_URL, TABLE_URL};
use crate::status::Listening;

/// The URLs by purpose. Without one, clients are not sent to the server directly: it listens on loopback only, and other
/// servers of the cluster are on other machines.
pub(super) fn client_urls(
    settings: &Settings,
    listening: Listening,
    advertise: &str,
) -> Vec<(String, String)> {
    let url = |service: &ServiceListener, address: SocketAddr| {
        let host = host(service, advertise)?;
        let scheme = settings.tls.scheme();
        Some(format!("{scheme}://{}", authority(host, address.port())))
    };
    let tables = listening.table;
    let tables = tables.and_then(|address| url(&settings.table, address));
    let tables = tables.map(|url| (TABLE_URL, url));
    let queues = settings.queue.as_ref().zip(listening.queue);
    let queues = queues.and_then(|(service, address)| url(service, address));
    let queues = queues.map(|url| (QUEUE_URL, url));
    let urls = tables.into_iter().chain(queues);
    urls.map(|(purpose, url)| (purpose.to_owned(), url))
        .collect()
}

/// The host at which clients reach a service.
fn host<'a>(service: &'a ServiceListener, advertise: &'a str) -> Option<&'a str> {
    match service.host.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Some(advertise),
        _ if is_loopback(&service.host) && !is_loopback(advertise) => None,
        _ => Some(&service.host),
    }
}

fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::from_flags;

    fn urls(flags: &[(&str, &str)], advertise: &str) -> Vec<(String, String)> {
        let listening = Listening {
            table: Some(([127, 0, 0, 1], 1002).into()),
            queue: Some(([127, 0, 0, 1], 1001).into()),
            admin: None,
        };
        client_urls(&from_flags(flags), listening, advertise)
    }

    #[test]
    fn clients_use_the_advertised_host_and_the_ports_in_use() {
        let of = |purpose: &str, url: &str| (purpose.to_owned(), url.to_owned());
        let any = [
            ("table-host", "0.0.0.0"),
            ("queue-host", "10.1.0.7"),
            ("allow-well-known-key", "true"),
        ];
        assert_eq!(
            urls(&any, "10.0.0.7"),
            [
                of("table", "http://10.0.0.7:1002"),
                of("queue", "http://10.1.0.7:1001")
            ]
        );
        let local = [
            of("table", "http://127.0.0.1:1002"),
            of("queue", "http://127.0.0.1:1001"),
        ];
        assert_eq!(urls(&[], "127.0.0.1"), local);
    }

    #[test]
    fn a_loopback_address_is_not_told_to_other_machines() {
        assert_eq!(urls(&[], "10.0.0.7"), []);
    }
}
