//! The connections over which the manager reaches the hosts of other servers.

use async_trait::async_trait;
use partita_cluster::{HostLink, LinkError};
use partita_peer::{Class, SendError};

use super::RegistryRouting;

/// The first byte of a request of the manager, and of its answer. The JSON follows in the body.
pub(crate) const HOST_VERSION: u8 = 3;

/// The first byte of a page or an action of the admin port for another server, and of its answer.
pub(crate) const ADMIN_VERSION: u8 = 4;

/// The most bytes of an answer: the loads of many ranges.
const ANSWER_BYTES_MAX: usize = 64 << 20;

#[async_trait]
impl HostLink for RegistryRouting {
    async fn ask(&self, server: &str, request: Vec<u8>) -> Result<Vec<u8>, LinkError> {
        let peer = self.peer(server);
        let peer = peer.ok_or_else(|| LinkError::NotSent(format!("server {server} is gone")))?;
        let sent = peer
            .send(Class::Bulk, &[HOST_VERSION], request.into())
            .await;
        let answer = sent.map_err(|error| match error {
            SendError::NotProcessed(_) => LinkError::NotSent(error.to_string()),
            SendError::Unknown(_) => LinkError::Unknown(error.to_string()),
        })?;
        if *answer.head != [HOST_VERSION] {
            return Err(LinkError::Unknown("the answer is malformed".to_owned()));
        }
        let body = answer.body.collect(ANSWER_BYTES_MAX).await;
        let body = body.map_err(|error| LinkError::Unknown(error.to_string()))?;
        Ok(body.into())
    }
}
