//! Asks the table endpoint of a server, with its scheme: a server whose admin port answers may still not be reachable
//! for clients.

use partita_client::{ClientOptions, ConnectionFault, HttpClient, Proxy};
use partita_server::connect::{authority, reachable};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Timeout of the request. A server nearby answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What the endpoint at `url`, as the server's status names it, answers to this machine. `admin` is the URL at which
/// the admin port answered.
pub(super) async fn ask(url: &str, admin: &str) -> String {
    let Some(target) = reachable_url(url, admin) else {
        return format!("at {url}, not asked: only the server's own machine reaches it");
    };
    let options = ClientOptions {
        attempt_timeout: TIMEOUT,
        connect_timeout: TIMEOUT,
        proxy: Proxy::Direct,
        ..ClientOptions::default()
    };
    let answer = match HttpClient::new(&options, target.starts_with("https://")) {
        // A refusal is an answer: the request has no credentials.
        Ok(client) => client.send("GET", &target, &[], Vec::new()).await.err(),
        Err(error) => Some(error),
    };
    match answer {
        None => format!("answer at {target}"),
        Some(error) if ConnectionFault::of(&error) == Some(ConnectionFault::UnknownAuthority) => {
            format!("answer at {target} (this machine does not trust the certificate)")
        }
        Some(error) => format!("do not answer at {target}: {error}"),
    }
}

/// The URL at which this machine reaches the endpoint; `None` for a loopback address of another machine.
fn reachable_url(url: &str, admin: &str) -> Option<String> {
    let (scheme, address) = url.split_once("://")?;
    let address: SocketAddr = address.parse().ok()?;
    let admin = admin.split_once("://").map_or(admin, |(_, rest)| rest);
    let admin = admin.rsplit_once(':').map_or(admin, |(host, _)| host);
    let is_here = |host: &str| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    };
    let host = match address.ip() {
        ip if ip.is_unspecified() && !is_here(admin) => admin.to_owned(),
        ip if ip.is_loopback() && !is_here(admin) => return None,
        ip => reachable(&ip.to_string()),
    };
    Some(format!("{scheme}://{}", authority(&host, address.port())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B1: `status` asks the endpoint itself, at the address where this machine reaches it.
    #[test]
    fn b1_the_endpoint_is_asked_where_this_machine_reaches_it() {
        let of = |url: &str, admin: &str| reachable_url(url, admin);
        let here = "http://127.0.0.1:10010";
        for (url, admin, expected) in [
            (
                "http://127.0.0.1:10002",
                here,
                Some("http://127.0.0.1:10002"),
            ),
            ("https://0.0.0.0:1", "http://h:10010", Some("https://h:1")),
            ("https://0.0.0.0:1", here, Some("https://127.0.0.1:1")),
            ("http://127.0.0.1:10002", "http://h:10010", None),
            (
                "http://10.0.0.5:10002",
                "http://h:10010",
                Some("http://10.0.0.5:10002"),
            ),
        ] {
            assert_eq!(of(url, admin).as_deref(), expected, "{url} {admin}");
        }
    }

    #[tokio::test]
    async fn b1_an_endpoint_without_a_server_does_not_answer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let told = ask(&url, "http://127.0.0.1:10010").await;
        assert!(
            told.starts_with(&format!("do not answer at {url}: cannot connect")),
            "{told}"
        );
    }
}
