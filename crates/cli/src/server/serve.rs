//! `partita serve`: runs a server until a signal stops it.
//!
//! Prints these lines on stdout, in this order. Test frameworks wait for the lines of Azurite (its `azurite.js`), so
//! they are the same here:
//!
//! ```text
//! Azurite Table service is starting at http://127.0.0.1:10002
//! Azurite Table service is successfully listening at http://127.0.0.1:10002
//! partita 0.1.0 is ready: tables at http://127.0.0.1:10002, admin at http://127.0.0.1:10010, data in ./partita-data
//! DefaultEndpointsProtocol=http;AccountName=..
//! export NODE_EXTRA_CA_CERTS=..                                        (only with --tls dev; two more such lines)
//! Azurite Table service is closing...
//! Azurite Table service successfully closed
//! ```

use crate::args::SettingsArgs;
use crate::prelude::*;
use crate::signals::StopSignals;
use partita_server::config::{Place, Settings};
use partita_server::connect::{Endpoint, authority, trust_lines};
use partita_server::{Server, VERSION, logging};
use std::io::Write as _;

/// Serve tables until stopped by a signal
#[derive(clap::Args)]
#[command(
    after_help = "Settings come from defaults, a TOML file (--config), variables (PARTITA_*) and flags, each overriding\nthe ones before. `partita config show` shows the source of each value."
)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    settings: SettingsArgs,
}

impl Command for ServeCommand {
    fn run(self) -> CommandResult {
        let (settings, _) = self.settings.resolve()?;
        let _writing = logging::start(&settings.log).because("cannot start the log")?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(partita_server::request_threads())
            .max_blocking_threads(partita_server::blocking_threads_max())
            .thread_name("partita")
            .build()
            .because("cannot start the threads of the server")?;
        runtime.block_on(serve(settings))?;
        Ok(Outcome::Done)
    }
}

async fn serve(settings: Settings) -> Result<(), CommandError> {
    // Listens first, so that a signal during the start is not lost.
    let mut signals = StopSignals::listen().because("cannot listen for signals")?;
    let at = authority(&settings.table.host, settings.table.port);
    let table = format!("{}://{at}", settings.tls.scheme());
    announce(&format!("Azurite Table service is starting at {table}\n"));
    let server = tokio::select! {
        server = Server::start(settings.clone()) => server?,
        () = signals.next() => return Ok(()),
    };
    announce_ready(&server, &settings)?;

    signals.next().await;
    announce("Azurite Table service is closing...\n");
    tokio::select! {
        _ = server.stop() => {}
        () = signals.next() => return Err(CommandError::StoppedAtOnce),
    }
    announce("Azurite Table service successfully closed\n");
    Ok(())
}

fn announce_ready(server: &Server, settings: &Settings) -> Result<(), CommandError> {
    let listening = server.listening();
    let (scheme, host) = (settings.tls.scheme(), &settings.table.host);
    let table = format!("{scheme}://{}", authority(host, listening.table.port()));
    let mut ready = format!("partita {VERSION} is ready: tables at {table}");
    if let Some(admin) = listening.admin {
        let admin = authority(&settings.admin.host, admin.port());
        ready.push_str(&format!(", admin at http://{admin}"));
    }
    match &settings.store.place {
        Place::Directory(path) => ready.push_str(&format!(", data in {}", path.display())),
        Place::Memory => ready.push_str(", data in memory only"),
    }
    let mut endpoint = Endpoint::of(settings, None)
        .ok_or_else(|| CommandError::usage("the settings have no account"))?;
    endpoint.port = listening.table.port();
    announce(&format!(
        "Azurite Table service is successfully listening at {table}\n{ready}\n{}\n{}",
        endpoint.public_connection_string(),
        trust_lines(&endpoint)
    ));
    let admin = listening.admin;
    if admin.is_some_and(|admin| !admin.ip().is_loopback()) {
        message(
            "warning: the admin port needs no credentials and can be reached from other machines",
        );
    }
    Ok(())
}

/// Writes to stdout. A closed stdout does not stop the server.
fn announce(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}
