//! etcd is killed, stopped, wiped and compacted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use partita_coordinator::registry::{Operation, Transaction, WatchEvent};
use partita_coordinator::{
    OwnershipError, Registry, RegistryError, Revision, Routes, Seen, TermError,
};
use partita_rt::Tasks;

use crate::members::{
    LOG, LONG, RANGE, absent, assign, elected, have_survived, join, served, when, when_elected,
};
use crate::process::{Etcd, answers, registry};

async fn put(registry: &dyn Registry, key: &str) -> Result<(), RegistryError> {
    let change = Operation::Put(key.to_owned(), "v".into(), None);
    let transaction = Transaction {
        changes: vec![change],
        ..Transaction::default()
    };
    registry.commit(transaction).await.map(drop)
}

/// Keys, leases and tenures survive; the gate closes when the outage is too long, and opens again.
#[tokio::test]
async fn members_survive_a_kill_of_etcd() {
    let mut etcd = Etcd::start();
    let folder = tempfile::tempdir().unwrap();
    let registry = Arc::new(etcd.registry().await);
    let a = join(registry.clone(), "a", folder.path()).await;
    let routes = Routes::follow(registry.clone(), &Tasks::new());
    let term = elected(&a).await;
    let tenure = served(&term, &a).await;
    etcd.kill();
    // A call on the broken connection may have been executed; one that cannot connect was not.
    let mut outcome = put(&*registry, "k").await;
    if matches!(outcome, Err(RegistryError::Unknown(_))) {
        outcome = put(&*registry, "k").await;
    }
    let failed = outcome.unwrap_err();
    assert!(matches!(failed, RegistryError::Unavailable(_)), "{failed}");
    let closed = a.gate().open_for();
    assert!(closed <= a.timing().open_for());
    etcd.restart();
    answers(&registry).await;
    have_survived(&a, &term, &tenure, &routes).await;
}

/// Writes while etcd is killed and restarted: each is there, or was reported as failed or unknown.
#[tokio::test]
async fn acknowledged_writes_survive_kills() {
    let mut etcd = Etcd::start();
    let registry = Arc::new(etcd.registry().await);
    let (mut acknowledged, mut refused, mut next) = (Vec::new(), Vec::new(), 0);
    for _ in 0..4 {
        for _ in 0..25 {
            let key = format!("k{next}");
            next += 1;
            put(&*registry, &key).await.unwrap();
            acknowledged.push(key);
        }
        let writing = {
            let (registry, key) = (Arc::clone(&registry), format!("k{next}"));
            next += 1;
            async move { (put(&*registry, &key).await, key) }
        };
        let killing = async { etcd.kill() };
        let ((outcome, key), ()) = tokio::join!(writing, killing);
        match outcome {
            Ok(()) => acknowledged.push(key),
            Err(RegistryError::Unavailable(_)) => refused.push(key),
            Err(_) => {}
        }
        etcd.restart();
        answers(&registry).await;
    }
    for key in acknowledged {
        assert!(registry.get(&key).await.unwrap().is_some(), "{key} is lost");
    }
    for key in refused {
        assert!(
            registry.get(&key).await.unwrap().is_none(),
            "{key} was made"
        );
    }
}

/// All keys are deleted by hand: the life ends, and nothing is assigned before its gate is surely closed.
#[tokio::test]
async fn a_wipe_ends_all_lives() {
    let etcd = Etcd::start();
    let folder = tempfile::tempdir().unwrap();
    let registry: Arc<dyn Registry> = Arc::new(etcd.registry().await);
    let a = join(Arc::clone(&registry), "a", folder.path()).await;
    let term = elected(&a).await;
    let tenure = served(&term, &a).await;
    etcd.ctl(&["del", "--prefix", "/test/"]);
    let wiped_at = Instant::now();
    tokio::time::timeout(LONG, a.gate().over()).await.unwrap();
    assert!(wiped_at.elapsed() < a.timing().ttl);
    let released = a.release(&tenure).await;
    assert_eq!(released, Err(OwnershipError::LifeOver));
    assert!(!term.confirm().await.unwrap());
    let ttl = a.timing().surely_closed_after();
    drop(a.end());
    let a = join(registry, "a", folder.path()).await;
    let term = elected(&a).await;
    let began = Instant::now();
    let assignment = assign(&term, absent(), &a).await;
    assert!(began.elapsed() >= ttl);
    a.activate(&assignment).await.unwrap();
}

/// The etcd is replaced by an empty one, whose revisions begin anew.
#[tokio::test]
async fn an_etcd_without_data_ends_all_lives() {
    let mut etcd = Etcd::start();
    let folder = tempfile::tempdir().unwrap();
    let registry: Arc<dyn Registry> = Arc::new(etcd.registry().await);
    let a = join(Arc::clone(&registry), "a", folder.path()).await;
    let routes = Routes::follow(Arc::clone(&registry), &Tasks::new());
    when(&routes, |table| table.is_alive("a", a.owner().life)).await;
    etcd.kill();
    std::fs::remove_dir_all(etcd.folder.join("data")).unwrap();
    etcd.restart();
    tokio::time::timeout(LONG, a.gate().over()).await.unwrap();
    drop(a.end());
    let b = join(registry, "b", folder.path()).await;
    let only_b = when(&routes, |table| table.is_alive("b", b.owner().life)).await;
    assert_eq!(only_b.servers().len(), 1);
}

#[tokio::test]
async fn a_watch_ends_with_a_compaction_and_the_table_goes_on() {
    let etcd = Etcd::start();
    let folder = tempfile::tempdir().unwrap();
    let registry = Arc::new(etcd.registry().await);
    let a = join(registry.clone(), "a", folder.path()).await;
    let routes = Routes::follow(registry.clone(), &Tasks::new());
    for number in 0..20 {
        put(&*registry, &format!("k{number}")).await.unwrap();
    }
    let newest = registry.list("").await.unwrap().revision;
    etcd.ctl(&["compact", &newest.to_string()]);
    let mut late = registry.watch("", Revision(2)).await.unwrap();
    let event = tokio::time::timeout(LONG, late.next()).await.unwrap();
    assert_eq!(event, WatchEvent::Compacted);
    let term = elected(&a).await;
    when_elected(&routes, &term).await;
}

/// etcd stands still for longer than the TTL: the gate closes in time, and another server takes over or the life goes on,
/// but never both.
#[tokio::test]
async fn the_gate_closes_while_etcd_stands_still() {
    let etcd = Etcd::start();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("etcd://127.0.0.1:{}/test", etcd.port);
    let (of_a, of_b) = (
        Arc::new(registry(&url).await),
        Arc::new(registry(&url).await),
    );
    let a = join(of_a, "a", folder.path()).await;
    let term = elected(&a).await;
    served(&term, &a).await;
    etcd.stop();
    let stopped_at = Instant::now();
    // The fault lasts this long; nothing waits for it.
    let end = stopped_at + Duration::from_secs(3);
    let mut closed_at = None;
    while Instant::now() < end {
        if closed_at.is_none() && !a.gate().is_open() {
            closed_at = Some(stopped_at.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let closed_at = closed_at.expect("the gate stays open while etcd stands still");
    assert!(closed_at <= a.timing().open_for() + Duration::from_millis(500));
    etcd.go_on();
    answers(&of_b).await;
    let b = join(of_b, "b", folder.path()).await;
    // Either the first keepalive was in time, or the lease has ended.
    tokio::select! {
        () = a.gate().over() => {
            let term = elected(&b).await;
            let key = term.table().await.unwrap().ranges()[&RANGE].clone();
            let assignment = assign(&term, Seen::Key(key), &b).await;
            assert_eq!(assignment.record.logs, [LOG]);
            b.activate(&assignment).await.unwrap();
            assert!(!a.gate().is_open());
        }
        open = a.gate().opened(LONG) => {
            assert!(open || a.gate().is_over());
        }
    }
    let late = term.assign(&[]).await;
    assert!(matches!(late, Ok(_) | Err(TermError::Over)), "{late:?}");
}
