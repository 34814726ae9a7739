//! Tests that pins that are in no snapshot record are released, and that others stay.

use super::*;
use crate::ClusterParts;
use crate::PinRecords;
use crate::controller::ROUNDS_BETWEEN;
use crate::test_world::{NamedPins, pin_count};
use async_trait::async_trait;
use partita_engine::PinId;
use std::collections::BTreeSet;

#[tokio::test]
async fn a_start_releases_untracked_pins() {
    let named = Arc::new(NamedPins::default());
    let disk = Disk::with_pins(named.clone());
    let cluster = disk.open().await;
    let kept = cluster.host().pin(&[RangeId(1)]).await.unwrap();
    named.0.lock().insert((RangeId(1), kept.pins[0].clone()));
    cluster.host().pin(&[RangeId(1)]).await.unwrap();
    cluster.release_pins().await;
    assert_eq!(disk.engines.pins(RangeId(1)).await.unwrap(), kept.pins);
}

/// A pin that was created long after its request was cancelled is released too.
#[tokio::test]
async fn untracked_pins_are_released_every_hour_and_after_a_failure() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    cluster.release_pins().await;
    let pin = async || {
        disk.engines.pin(&[RangeId(1)]).await.unwrap();
        cluster.release_pins().await;
        pin_count(&*disk.engines).await
    };
    assert_eq!(pin().await, 1, "not every round looks for pins");
    for _ in 0..ROUNDS_BETWEEN {
        cluster.release_pins().await;
    }
    assert_eq!(pin_count(&*disk.engines).await, 0);
    assert_eq!(pin().await, 1);
    cluster.suspect_pins();
    cluster.release_pins().await;
    assert_eq!(pin_count(&*disk.engines).await, 0);
}

/// Records that cannot be listed, because one of them is unreadable.
struct Unreadable;

#[async_trait]
impl PinRecords for Unreadable {
    async fn named(&self) -> Result<BTreeSet<(RangeId, PinId)>, crate::PinRecordsError> {
        Err("a record is damaged".into())
    }
}

#[tokio::test]
async fn an_unreadable_record_blocks_the_release_of_pins() {
    let disk = Disk::default();
    let parts = ClusterParts {
        pins: Arc::new(Unreadable),
        ..disk.parts()
    };
    let cluster = Cluster::open(parts).await.unwrap();
    disk.engines.pin(&[RangeId(1)]).await.unwrap();
    cluster.maintain().await;
    assert_eq!(pin_count(&*disk.engines).await, 1);
}
