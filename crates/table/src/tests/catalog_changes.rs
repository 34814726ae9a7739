//! Changes of tables while other servers have leases of them: a request that begins after a change never uses the old
//! table.

use super::{Rig, account, name};
use crate::{Error, Service, Table};
use partita_model::{AccessPolicy, SignedIdentifier, TimeToLive};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A table as a request found it; `None` if it found none.
type Found = Option<Arc<Table>>;

async fn find(service: &Service, table: &str) -> Found {
    match service.table(&account(), &name(table)).await {
        Ok(table) => Some(table),
        Err(Error::TableNotFound) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Makes a change while requests on all servers look up the table `People`. All that begin after the change find a table
/// that is `new`; before, it may be either, but no server finds the old one after any has found the new one.
async fn check(change: impl AsyncFnOnce(&Service), is_new: impl Fn(&Found) -> bool) {
    let rig = Rig::new().await;
    let began = Instant::now();
    let is_seen = RefCell::new(false);
    let end = began + Duration::from_secs(4);
    let asking = async |service: &Service| {
        while Instant::now() < end {
            let must_be_new = *is_seen.borrow();
            let found = find(service, "people").await;
            assert!(!must_be_new || is_new(&found), "{found:?}");
            *is_seen.borrow_mut() |= is_new(&found);
            sleep(Duration::from_millis(7)).await;
        }
    };
    let changing = async {
        sleep(Duration::from_millis(1500)).await;
        let began = Instant::now();
        change(&rig.home).await;
        *is_seen.borrow_mut() = true;
        assert!(
            began.elapsed() > Duration::from_millis(500),
            "it waits for leases"
        );
    };
    let [one, two] = &rig.others;
    tokio::join!(asking(one), asking(two), asking(&rig.home), changing);
    // Without leases there would be 1,140; a table that is absent at the end has none.
    let calls = rig.servers.calls();
    assert!(calls < 700, "{calls}");
}

#[tokio::test(start_paused = true)]
async fn of_a_deletion() {
    let delete = async |home: &Service| {
        home.delete_table(&account(), &name("People"))
            .await
            .unwrap();
    };
    check(delete, |found| found.is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_truncation() {
    let old = RefCell::new(None);
    let truncate = async |home: &Service| {
        home.truncate_table(&account(), &name("People"))
            .await
            .unwrap();
    };
    let is_new = |found: &Found| {
        let id = found.as_ref().expect("it exists").id;
        *old.borrow_mut().get_or_insert(id) != id
    };
    check(truncate, is_new).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_rename() {
    let rename = async |home: &Service| {
        let (from, to) = (name("People"), name("Folk"));
        home.rename_table(&account(), &from, &to).await.unwrap();
    };
    check(rename, |found| found.is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_time_to_live() {
    let set = async |home: &Service| {
        let ttl = TimeToLive::from_seconds(60).ok();
        home.set_time_to_live(&account(), &name("People"), ttl)
            .await
            .unwrap();
    };
    check(set, |found| {
        found.as_ref().is_some_and(|table| table.ttl.is_some())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_access_policies() {
    let set = async |home: &Service| {
        let policies = [SignedIdentifier {
            id: "p".into(),
            policy: AccessPolicy::default(),
        }];
        home.set_access_policies(&account(), &name("People"), &policies)
            .await
            .unwrap();
    };
    let is_new = |found: &Found| {
        found
            .as_ref()
            .is_some_and(|table| !table.policies.is_empty())
    };
    check(set, is_new).await;
}

/// A table of the same name after a deletion is found at once: absent tables have no leases.
#[tokio::test(start_paused = true)]
async fn a_new_table_is_found_at_once() {
    let rig = Rig::new().await;
    for service in &rig.others {
        assert_eq!(find(service, "New").await, None);
    }
    let began = Instant::now();
    rig.home
        .create_table(&account(), &name("New"))
        .await
        .unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    for service in &rig.others {
        assert!(find(service, "New").await.is_some());
    }
}
