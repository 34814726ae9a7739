//! Get Table Service Stats.

use super::TableServiceClient;
use super::service_properties::service_request;
use crate::Result;
use partita_wire::table::Operation;
use partita_wire::{GeoReplication, Method};

impl TableServiceClient {
    /// Reads the replication state of the account, from its secondary endpoint.
    ///
    /// # Errors
    /// 403 if the account has no readable secondary.
    pub async fn get_service_stats(&self) -> Result<GeoReplication> {
        let request = service_request(Operation::GetTableServiceStats, Method::Get, "stats");
        self.pipeline.get_stats(request).await
    }
}
