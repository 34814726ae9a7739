//! The background tasks of the service, which remove the rows of deleted tables, and expired entities.

use crate::Service;
use crate::catalog::expire;
use partita_rt::Tasks;
use std::sync::Arc;

impl Service {
    /// Starts the background tasks.
    pub fn start(self: &Arc<Self>, tasks: &Tasks) {
        let (service, shutdown) = (Arc::clone(self), tasks.shutdown());
        let sweeping = async move { service.dropped.sweep(service.storage(), shutdown).await };
        tasks.spawn("sweep dropped tables", sweeping);
        let expiring = expire(Arc::clone(self), tasks.shutdown());
        tasks.spawn("remove expired entities", expiring);
    }
}
