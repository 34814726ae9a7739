//! Holding writes before a pin, until other processes hold theirs.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::request::{Begun, Hold};
use super::{PinRequest, databases, written};
use crate::slate::commit::CommitQueue;
use crate::slate::core::Core;
use crate::slate::database::Database;
use crate::slate::within_store_deadline;
use crate::{ChangeError, HeldRanges, Pinned, RangeId};

/// Databases whose commit loop stands still.
struct Held {
    core: Arc<Core>,
    ranges: Vec<RangeId>,
    databases: Vec<Arc<Database>>,
    pin_now: oneshot::Sender<()>,
    begun: oneshot::Receiver<Begun>,
}

/// Makes the commit loop stand still, at most for `limit`.
pub(in crate::slate) async fn hold(
    core: &Arc<Core>,
    queue: &CommitQueue,
    ranges: &[RangeId],
    limit: Duration,
) -> Result<Box<dyn HeldRanges>, ChangeError> {
    let (begun, beginning) = oneshot::channel();
    let (held, standing) = oneshot::channel();
    let (pin_now, told) = oneshot::channel();
    let databases = databases(core, ranges)?;
    queue.pin(PinRequest {
        databases: databases.clone(),
        hold: Some(Hold {
            held,
            pin_now: told,
            limit,
        }),
        begun,
    });
    standing.await.map_err(|_closed| ChangeError::Unavailable)?;
    Ok(Box::new(Held {
        core: Arc::clone(core),
        ranges: ranges.to_vec(),
        databases,
        pin_now,
        begun: beginning,
    }))
}

#[async_trait]
impl HeldRanges for Held {
    async fn pin(self: Box<Self>) -> Result<Pinned, ChangeError> {
        let Self {
            core,
            ranges,
            databases: held,
            pin_now,
            begun,
        } = *self;
        within_store_deadline(async {
            let begun = {
                // As in a pin without a hold.
                let _change = core.lock_change().await;
                let same = databases(&core, &ranges)?;
                if !same
                    .iter()
                    .zip(&held)
                    .all(|(now, then)| Arc::ptr_eq(now, then))
                {
                    return Err(ChangeError::Unavailable);
                }
                pin_now.send(()).map_err(|()| ChangeError::HoldEnded)?;
                begun.await
            };
            written(begun.map_err(|_closed| ChangeError::Unavailable)?).await
        })
        .await
    }
}
