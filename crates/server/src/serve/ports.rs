//! The ports of a server.

use std::net::SocketAddr;

use partita_rt::net::{Listener, Network};

use super::error::Error;
use crate::config::{AdminListener, Settings};
use crate::status::Listening;

/// A port that is bound, and its address.
pub(crate) type Bound = (Box<dyn Listener>, SocketAddr);

/// The ports of a server.
pub(super) struct Listeners {
    /// `None` for a server of a cluster that is not a front.
    pub(super) table: Option<Bound>,
    pub(super) queue: Option<Bound>,
    pub(super) admin: Option<Bound>,
}

impl Listeners {
    pub(super) async fn bind(network: &dyn Network, settings: &Settings) -> Result<Self, Error> {
        let is_front = settings.is_front();
        let (table, queue) = (Some(&settings.table), settings.queue.as_ref());
        let table = table.filter(|_| is_front);
        let (queue, admin) = (queue.filter(|_| is_front), &settings.admin);
        Ok(Self {
            table: match table {
                Some(table) => Some(bind(network, &table.host, table.port, "table-port").await?),
                None => None,
            },
            queue: match queue {
                Some(queue) => Some(bind(network, &queue.host, queue.port, "queue-port").await?),
                None => None,
            },
            admin: match admin.port {
                Some(port) => Some(bind_admin(network, admin, port).await?),
                None => None,
            },
        })
    }

    pub(super) fn addresses(&self) -> Listening {
        let address = |bound: &Option<Bound>| bound.as_ref().map(|(_, address)| *address);
        Listening {
            table: address(&self.table),
            queue: address(&self.queue),
            admin: address(&self.admin),
        }
    }
}

/// Binds the admin port. If it is the default and another server has it, binds a free port: several servers on one
/// machine are usual, and clients need only the ports of the services.
async fn bind_admin(
    network: &dyn Network,
    admin: &AdminListener,
    port: u16,
) -> Result<Bound, Error> {
    let bound = bind(network, &admin.host, port, "admin-port").await;
    match bound {
        Err(Error::Bind { source, .. })
            if admin.or_free && source.kind() == std::io::ErrorKind::AddrInUse =>
        {
            bind(network, &admin.host, 0, "admin-port").await
        }
        bound => bound,
    }
}

pub(crate) async fn bind(
    network: &dyn Network,
    host: &str,
    port: u16,
    flag: &'static str,
) -> Result<Bound, Error> {
    let bound = async {
        let listener = network.listen(host, port).await?;
        let address = listener.address()?;
        Ok((listener, address))
    };
    let host = host.to_owned();
    bound.await.map_err(|source| Error::Bind {
        host,
        port,
        flag,
        source,
    })
}
