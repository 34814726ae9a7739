//! A proxy between two servers, which cuts connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use partita_rt::Tasks;
use partita_rt::net::{MachineNetwork, Network as _, Stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::sync::watch;

use super::Address;

/// How many bytes may pass through the next connection before it is cut.
pub(super) type Budgets = Box<dyn Fn() -> usize + Send + Sync>;

/// A proxy in front of a server.
pub(super) struct Proxy {
    pub(super) address: Address,
    cuts: watch::Sender<usize>,
}

impl Proxy {
    pub(super) async fn start(to: Address, budgets: Budgets, tasks: &Tasks) -> Self {
        let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
        let address = listener.address().unwrap().to_string().parse().unwrap();
        let (cuts, cut) = watch::channel(0);
        let accepting = tasks.clone();
        tasks.spawn("test proxy", async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = MachineNetwork.connect(to.host(), to.port()).await else {
                    continue;
                };
                let link = pass(
                    client,
                    server,
                    Arc::new(AtomicUsize::new(budgets())),
                    cut.clone(),
                );
                accepting.spawn("test link", link);
            }
        });
        Self { address, cuts }
    }

    /// Cuts all connections at once.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }
}

/// Passes bytes both ways until one side ends, the budget is used up or the proxy cuts.
async fn pass(
    client: Stream,
    server: Stream,
    budget: Arc<AtomicUsize>,
    mut cut: watch::Receiver<usize>,
) {
    cut.mark_unchanged();
    let (from_client, to_client) = split(client);
    let (from_server, to_server) = split(server);
    tokio::select! {
        () = copy(from_client, to_server, &budget) => {}
        () = copy(from_server, to_client, &budget) => {}
        _ = cut.changed() => {}
    }
}

async fn copy(mut from: ReadHalf<Stream>, mut to: WriteHalf<Stream>, budget: &AtomicUsize) {
    let mut bytes = vec![0; 1500];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let left = budget.load(Ordering::Relaxed);
        let passed = read.min(left);
        budget.store(left - passed, Ordering::Relaxed);
        if to.write_all(&bytes[..passed]).await.is_err() || passed < read {
            return;
        }
    }
}
