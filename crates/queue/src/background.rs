//! The background tasks of the service.

use crate::Service;
use crate::catalog::expire;
use partita_rt::Tasks;
use std::sync::Arc;

impl Service {
    /// Starts the tasks that remove the rows of deleted queues, and expired messages.
    pub fn start(self: &Arc<Self>, tasks: &Tasks) {
        let (service, shutdown) = (Arc::clone(self), tasks.shutdown());
        let sweeping = async move { service.dropped.sweep(service.storage(), shutdown).await };
        tasks.spawn("sweep dropped queues", sweeping);
        let expiring = expire(Arc::clone(self), tasks.shutdown());
        tasks.spawn("remove expired messages", expiring);
    }
}
