//! The background tasks of a table whose rows other servers have.

use super::{Rig, account, name, properties};
use crate::{ChangeKind, Service, Table};
use partita_model::{TimeToLive, ValueRef};
use partita_rt::Tasks;
use partita_service::RowWalk;
use partita_service::testing::FarFault;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const MINUTE: Duration = Duration::from_secs(60);

/// The number of rows that all servers have of a table.
async fn stored(service: &Service, table: &Table) -> usize {
    let (start, end) = (table.space.prefix().clone(), table.space.end());
    let mut walk = RowWalk::new(service.storage(), start, end);
    let mut stored = 0;
    while let Some(rows) = walk.next().await.unwrap() {
        stored += rows.len();
    }
    stored
}

impl Rig {
    /// Starts the tasks of all servers.
    fn start_tasks(&self) -> Tasks {
        let tasks = Tasks::new();
        self.home.start(&tasks);
        for service in &self.others {
            service.start(&tasks);
        }
        tasks
    }

    /// The table `People` with 600 rows on each server.
    async fn filled(&self) -> Arc<Table> {
        let table = self.home.table(&account(), &name("People")).await.unwrap();
        for partition in ["a", "m", "z"] {
            for row in 0..600 {
                self.insert(&table, (partition, &row.to_string())).await;
            }
        }
        table
    }

    async fn truncate(&self) {
        self.home
            .truncate_table(&account(), &name("People"))
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_rows_of_a_dropped_table_are_removed_on_all_servers() {
    let rig = Rig::new().await;
    let _tasks = rig.start_tasks();
    let table = rig.filled().await;
    rig.servers.set_fault(Some(FarFault::Unreachable));
    rig.truncate().await;
    sleep(MINUTE).await;
    // A write that looked up the table before it was truncated.
    rig.insert(&table, ("m", "late")).await;
    rig.servers.set_fault(None);
    assert_eq!(stored(&rig.home, &table).await, 1801);
    sleep(MINUTE).await;
    assert_eq!(stored(&rig.home, &table).await, 0);
    let record = rig.home.dropped.key(&account(), table.id.0);
    assert_eq!(rig.home.storage().get(&record).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_new_server_of_the_catalog_continues_the_sweep() {
    let mut rig = Rig::new().await;
    let tasks = Tasks::new();
    for service in &rig.others {
        service.start(&tasks);
    }
    let table = rig.filled().await;
    rig.truncate().await;
    sleep(10 * MINUTE).await;
    assert_eq!(
        stored(&rig.home, &table).await,
        1800,
        "only its server sweeps"
    );
    rig.move_catalog();
    rig.home.start(&tasks);
    sleep(MINUTE).await;
    assert_eq!(stored(&rig.home, &table).await, 0);
}

#[tokio::test(start_paused = true)]
async fn expired_entities_are_removed_on_all_servers() {
    let rig = Rig::new().await;
    let _tasks = rig.start_tasks();
    let table = rig.filled().await;
    let ttl = TimeToLive::from_seconds(600).ok();
    rig.home
        .set_time_to_live(&account(), &name("People"), ttl)
        .await
        .unwrap();
    sleep(5 * MINUTE).await;
    let mortal = rig.home.table(&account(), &name("People")).await.unwrap();
    for partition in ["a", "m"] {
        let kind = ChangeKind::Replace(properties(7));
        rig.change(&mortal, (partition, "1"), kind).await.unwrap();
    }
    sleep(6 * MINUTE).await;
    assert_eq!(rig.listed(&mortal, None, 1000).await, ["a/1", "m/1"]);
    rig.servers.set_fault(Some(FarFault::AnswerLost));
    sleep(MINUTE + MINUTE / 4).await;
    rig.servers.set_fault(None);
    sleep(MINUTE + MINUTE / 4).await;
    assert_eq!(stored(&rig.home, &table).await, 2);
    let row = rig.others[1].entity(&mortal, "m", "1").await.unwrap();
    let entity = row.entity(&mortal.space).unwrap();
    assert_eq!(entity.stored.get("n").unwrap(), Some(ValueRef::Int32(7)));
}

/// An entity is written again after a walk has read it and before the walk removes it.
#[tokio::test(start_paused = true)]
async fn an_entity_that_is_written_during_a_walk_stays() {
    let rig = Rig::new().await;
    let tasks = Tasks::new();
    let table = rig.filled().await;
    let ttl = TimeToLive::from_seconds(60).ok();
    rig.home
        .set_time_to_live(&account(), &name("People"), ttl)
        .await
        .unwrap();
    let mortal = rig.home.table(&account(), &name("People")).await.unwrap();
    sleep(2 * MINUTE).await;
    // Each call takes 2 s, so that the writes fall between the steps of the removal.
    rig.servers.set_delays(|| [Duration::from_secs(1); 2]);
    rig.home.start(&tasks);
    let writing = async {
        for second in 0..90 {
            let kind = ChangeKind::Replace(properties(second));
            rig.change(&mortal, ("a", "5"), kind).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            let row = rig.others[0].entity(&mortal, "a", "5").await;
            row.expect("it was just written");
        }
    };
    writing.await;
    assert!(stored(&rig.home, &table).await < 1800);
}
