//! Get Table Service Stats.

use super::TableServiceClient;
use super::service_properties::service_request;
use crate::{Error, Outcome, Result};
use partita_wire::table::Operation;
use partita_wire::{GeoReplication, Method, read_service_stats};

impl TableServiceClient {
    /// The state of the secondary, which answers this request.
    ///
    /// # Errors
    /// 403 for an account without a readable secondary.
    pub async fn get_service_stats(&self) -> Result<GeoReplication> {
        let mut request = service_request(Operation::GetTableServiceStats, Method::Get, "stats");
        request.secondary = true;
        let reply = self.pipeline.send(&request).await?;
        read_service_stats(&reply.answer.body).map_err(|failure| {
            reply
                .failed(Error::unreadable(failure), Outcome::DidNotHappen)
                .error
        })
    }
}
