// A real server for the tests and for the examples in the documentation, which include this file as a module.

use partita_server::Server;
use partita_server::config::{ALL, Layers, Settings};

/// Starts a server with data in memory on free ports. `flags` are flags of its command line.
pub(crate) async fn start(flags: &[(&str, &str)]) -> Server {
    Server::start(settings(flags)).await.unwrap()
}

/// The settings of [`start`].
pub(crate) fn settings(flags: &[(&str, &str)]) -> Settings {
    let usual = [
        ("table-port", "0"),
        ("admin-port", "0"),
        ("in-memory", "true"),
    ];
    let set = |layers: Layers, (name, text): (&str, &str)| {
        let setting = ALL.iter().find(|setting| setting.flag == name).unwrap();
        layers.flag(setting, text.to_owned())
    };
    let layers = usual
        .into_iter()
        .chain(flags.iter().copied())
        .fold(Layers::default(), set);
    let (values, _) = layers.resolve().unwrap();
    Settings::from_values(&values).unwrap()
}

/// The connection string of the server.
pub(crate) fn connection_string(server: &Server) -> String {
    let listening = server.listening();
    let queues = listening
        .queue
        .map(|address| format!("QueueEndpoint=http://{address}/devstoreaccount1;"));
    format!(
        "AccountName=devstoreaccount1;AccountKey={};{}TableEndpoint=http://{}/devstoreaccount1",
        partita_server::config::WELL_KNOWN_KEY,
        queues.unwrap_or_default(),
        listening.table.unwrap(),
    )
}

/// Runs an example against a new server.
#[allow(
    dead_code,
    reason = "the modules that include this file use different functions"
)]
pub(crate) fn on_a_server(
    example: impl AsyncFnOnce(String) -> Result<(), Box<dyn std::error::Error>>,
) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let server = start(&[]).await;
        example(connection_string(&server)).await.unwrap();
        server.stop().await;
    });
}
