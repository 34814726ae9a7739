//! `partita serve`: runs a server until a signal asks it to stop.
//!
//! Lines on stdout, in this order, for people and for programs that wait for them; helpers of test frameworks wait for
//! Azurite's (its `azurite.js`), so its words are kept:
//!
//! ```text
//! Azurite Table service is starting at http://127.0.0.1:10002
//! Azurite Table service is successfully listening at http://127.0.0.1:10002
//! partita 0.1.0 is ready: tables at http://127.0.0.1:10002, admin at http://127.0.0.1:10010, data in ./partita-data
//! DefaultEndpointsProtocol=http;AccountName=..
//! export NODE_EXTRA_CA_CERTS=..                                        (--tls dev: and two more)
//! Azurite Table service is closing...
//! Azurite Table service successfully closed
//! ```

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ArgMatches;
use partita_server::config::{Place, Settings};
use partita_server::connect::{Endpoint, trust_lines};
use partita_server::{Server, VERSION, logging};

use crate::command_line::run::settings;
use crate::output::plain as output;

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (settings, _) = settings(matches)?;
    let _writing = logging::start(&settings.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("partita")
        .build();
    let runtime = runtime.context("the threads of the server do not start")?;
    runtime.block_on(serve(settings))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(settings: Settings) -> anyhow::Result<()> {
    // Before anything else, so that a signal during start-up is not lost.
    let mut signals = Signals::listen().context("signals cannot be listened for")?;
    let scheme = settings.tls.scheme();
    let asked = url(scheme, &settings.table.host, settings.table.port);
    output::announce(&format!("Azurite Table service is starting at {asked}\n"));
    let server = tokio::select! {
        server = Server::start(settings.clone()) => server?,
        () = signals.next() => return Ok(()),
    };
    announce(&server, &settings)?;

    signals.next().await;
    output::announce("Azurite Table service is closing...\n");
    tokio::select! {
        _ = server.stop() => {}
        () = signals.next() => anyhow::bail!("stopped by a second signal, requests under way were cut off"),
    }
    output::announce("Azurite Table service successfully closed\n");
    Ok(())
}

fn announce(server: &Server, settings: &Settings) -> anyhow::Result<()> {
    let listening = server.listening();
    let table = url(
        settings.tls.scheme(),
        &settings.table.host,
        listening.table.port(),
    );
    let mut ready = format!("partita {VERSION} is ready: tables at {table}");
    if let Some(admin) = listening.admin {
        ready.push_str(&format!(
            ", admin at {}",
            url("http", &settings.admin.host, admin.port())
        ));
    }
    match &settings.store.place {
        Place::Directory(path) => ready.push_str(&format!(", data in {}", path.display())),
        Place::Memory => ready.push_str(", data in memory only"),
    }
    let mut endpoint = Endpoint::of(settings, None).context("there is no account")?;
    endpoint.port = listening.table.port();
    output::announce(&format!(
        "Azurite Table service is successfully listening at {table}\n{ready}\n{}\n{}",
        endpoint.public_connection_string(),
        trust_lines(&endpoint)
    ));
    if listening
        .admin
        .is_some_and(|admin| !admin.ip().is_loopback())
    {
        output::talk(
            "warning: the admin port asks for no credentials and is reachable from other machines",
        );
    }
    Ok(())
}

fn url(scheme: &str, host: &str, port: u16) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) => format!("{scheme}://{}", SocketAddr::new(address, port)),
        Err(_) => format!("{scheme}://{host}:{port}"),
    }
}

/// Requests to stop: Ctrl-C, and SIGTERM where there is one.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // No signal can ever come.
            std::future::pending::<()>().await;
        }
    }
}
