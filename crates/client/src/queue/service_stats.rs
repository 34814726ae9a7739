//! Get Queue Service Stats.

use super::QueueServiceClient;
use super::service_properties::service_request;
use crate::Result;
use partita_wire::queue::Operation;
use partita_wire::{GeoReplication, Method};

impl QueueServiceClient {
    /// Reads the replication state of the account's queues, from their secondary endpoint.
    ///
    /// # Errors
    /// 403 if the account has no readable secondary.
    pub async fn get_service_stats(&self) -> Result<GeoReplication> {
        let request = service_request(Operation::GetQueueServiceStats, Method::Get, "stats");
        self.pipeline.get_stats(request).await
    }
}
