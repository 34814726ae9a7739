//! What every registry must do. Each implementation runs all of it: `check(make).await`.
//!
//! The suite runs in real time, because etcd does: it waits only for events that the registry sends.

#![allow(clippy::unwrap_used, reason = "a test suite: a panic fails the test")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{
    Change, Compare, Entry, LeaseId, Operation, Outcome, Registry, RegistryError, Revision,
    TRANSACTION_MAX, Transaction, Watch, WatchEvent,
};

/// The shortest TTL that registries grant.
pub const TTL: Duration = Duration::from_secs(1);

/// How long an event may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Checks a registry that is empty and that no other client uses.
///
/// # Panics
/// When the registry is not correct.
pub async fn check(registry: Arc<dyn Registry>) {
    let registry = &*registry;
    reads_and_writes(registry).await;
    conditions(registry).await;
    transactions_are_atomic(registry).await;
    watches_see_whole_transactions(registry).await;
    watches_begin_in_the_past(registry).await;
    leases_end(registry).await;
    leases_are_kept_alive(registry).await;
    revoked_leases_end_at_once(registry).await;
    a_full_transaction_is_accepted(registry).await;
}

fn put(key: &str, value: &str) -> Operation {
    Operation::Put(
        key.to_owned(),
        Bytes::copy_from_slice(value.as_bytes()),
        None,
    )
}

fn delete(key: &str) -> Operation {
    Operation::Delete(key.to_owned())
}

/// A transaction that must be committed.
async fn write(registry: &dyn Registry, changes: Vec<Operation>) -> Revision {
    let transaction = Transaction {
        changes,
        ..Transaction::default()
    };
    match registry.commit(transaction).await.unwrap() {
        Outcome::Committed(revision) => revision,
        Outcome::Refused(_) => panic!("an unconditional transaction was refused"),
    }
}

async fn holds(registry: &dyn Registry, compares: Vec<Compare>) -> bool {
    let transaction = Transaction {
        compares,
        ..Transaction::default()
    };
    matches!(
        registry.commit(transaction).await.unwrap(),
        Outcome::Committed(_)
    )
}

async fn next(watch: &mut Box<dyn Watch>) -> (Revision, Vec<Change>) {
    let event = tokio::time::timeout(PATIENCE, watch.next()).await;
    match event.expect("the watch is silent") {
        WatchEvent::Changed(revision, changes) => (revision, changes),
        other => panic!("{other:?}"),
    }
}

async fn reads_and_writes(registry: &dyn Registry) {
    assert_eq!(registry.get("a").await.unwrap(), None);
    let created = write(registry, vec![put("a", "1")]).await;
    let modified = write(registry, vec![put("a", "2"), put("ab", ""), put("b", "3")]).await;
    assert!(created > Revision(0) && modified > created);
    let entry = Entry {
        key: "a".to_owned(),
        value: Bytes::from_static(b"2"),
        create_revision: created,
        mod_revision: modified,
        lease: None,
    };
    assert_eq!(registry.get("a").await.unwrap(), Some(entry.clone()));
    let listing = registry.list("a").await.unwrap();
    assert_eq!(listing.revision, modified);
    let keys: Vec<&str> = listing.entries.iter().map(|entry| &*entry.key).collect();
    assert_eq!(keys, ["a", "ab"]);
    assert_eq!(listing.entries.first(), Some(&entry));

    write(registry, vec![delete("a"), delete("missing")]).await;
    assert_eq!(registry.get("a").await.unwrap(), None);
    let again = write(registry, vec![put("a", "4")]).await;
    let entry = registry.get("a").await.unwrap().unwrap();
    assert_eq!(entry.create_revision, again, "it was created anew");
    assert_eq!(registry.list("").await.unwrap().entries.len(), 3);
    write(registry, vec![delete("a"), delete("ab"), delete("b")]).await;
    assert_eq!(registry.list("").await.unwrap().entries, []);
}

async fn conditions(registry: &dyn Registry) {
    let key = || "k".to_owned();
    let created = write(registry, vec![put("k", "1")]).await;
    let modified = write(registry, vec![put("k", "2")]).await;
    let lease = registry.grant(TTL).await.unwrap().lease;
    let other = LeaseId(lease.0 ^ 1);
    let leased = Operation::Put("l".to_owned(), Bytes::new(), Some(lease));
    write(registry, vec![leased]).await;
    for (compare, expected) in [
        (Compare::CreatedAt(key(), created), true),
        (Compare::CreatedAt(key(), modified), false),
        (Compare::CreatedAt("x".to_owned(), Revision(0)), true),
        (Compare::CreatedAt(key(), Revision(0)), false),
        (Compare::ModifiedAt(key(), modified), true),
        (Compare::ModifiedAt(key(), created), false),
        (Compare::ModifiedAt("x".to_owned(), Revision(0)), true),
        (Compare::HasLease("l".to_owned(), lease), true),
        (Compare::HasLease("l".to_owned(), other), false),
        (Compare::HasLease(key(), lease), false),
        (Compare::HasLease("x".to_owned(), lease), false),
        (Compare::LacksLease("l".to_owned(), lease), false),
        (Compare::LacksLease("l".to_owned(), other), true),
        (Compare::LacksLease(key(), lease), true),
        (Compare::LacksLease("x".to_owned(), lease), true),
    ] {
        assert_eq!(
            holds(registry, vec![compare.clone()]).await,
            expected,
            "{compare:?}"
        );
    }
    let one_fails = vec![
        Compare::ModifiedAt(key(), modified),
        Compare::ModifiedAt(key(), created),
    ];
    assert!(!holds(registry, one_fails).await);
    registry.revoke(lease).await.unwrap();
    write(registry, vec![delete("k")]).await;
}

async fn transactions_are_atomic(registry: &dyn Registry) {
    let revision = write(registry, vec![put("a", "1")]).await;
    let transaction = Transaction {
        compares: vec![Compare::ModifiedAt("a".to_owned(), Revision(0))],
        changes: vec![put("a", "2"), put("b", "2")],
        otherwise: vec!["b".to_owned(), "a".to_owned()],
    };
    let refused = registry.commit(transaction.clone()).await.unwrap();
    let a = registry.get("a").await.unwrap();
    assert_eq!(refused, Outcome::Refused(vec![None, a.clone()]));
    assert_eq!(a.unwrap().mod_revision, revision, "nothing was changed");

    // A lease that does not exist: neither of the changes is made.
    let gone = registry.grant(TTL).await.unwrap().lease;
    registry.revoke(gone).await.unwrap();
    let leased = Transaction {
        changes: vec![
            put("b", "2"),
            Operation::Put("c".to_owned(), Bytes::new(), Some(gone)),
        ],
        ..Transaction::default()
    };
    let refused = registry.commit(leased).await;
    assert_eq!(refused, Err(RegistryError::LeaseEnded));
    assert_eq!(registry.get("b").await.unwrap(), None);

    let transaction = Transaction {
        compares: vec![Compare::ModifiedAt("a".to_owned(), revision)],
        ..transaction
    };
    let committed = registry.commit(transaction).await.unwrap();
    let b = registry.get("b").await.unwrap().unwrap();
    assert_eq!(committed, Outcome::Committed(b.mod_revision));
    write(registry, vec![delete("a"), delete("b")]).await;
}

async fn watches_see_whole_transactions(registry: &dyn Registry) {
    let from = Revision(registry.list("").await.unwrap().revision.0 + 1);
    let mut watch = registry.watch("w/", from).await.unwrap();
    write(registry, vec![put("other", "1")]).await;
    let first = write(registry, vec![put("w/1", "x"), put("w/2", "y")]).await;
    let (revision, changes) = next(&mut watch).await;
    assert!(revision >= first);
    let one = registry.get("w/1").await.unwrap().unwrap();
    let two = registry.get("w/2").await.unwrap().unwrap();
    assert_eq!(changes, [Change::Put(one), Change::Put(two)]);
    write(
        registry,
        vec![delete("w/1"), put("w/3", "z"), delete("other")],
    )
    .await;
    let three = registry.get("w/3").await.unwrap().unwrap();
    let (_, mut changes) = next(&mut watch).await;
    changes.sort_by_key(|change| matches!(change, Change::Put(_)));
    let expected = [Change::Deleted("w/1".to_owned()), Change::Put(three)];
    assert_eq!(changes, expected);
    write(registry, vec![delete("w/2"), delete("w/3")]).await;
}

async fn watches_begin_in_the_past(registry: &dyn Registry) {
    let first = write(registry, vec![put("p", "1")]).await;
    write(registry, vec![put("p", "2")]).await;
    write(registry, vec![delete("p")]).await;
    let mut watch = registry.watch("p", first).await.unwrap();
    let mut changes = Vec::new();
    while changes.len() < 3 {
        changes.extend(next(&mut watch).await.1);
    }
    let values: Vec<Option<&[u8]>> = changes
        .iter()
        .map(|change| match change {
            Change::Put(entry) => Some(&*entry.value),
            Change::Deleted(_) => None,
        })
        .collect();
    assert_eq!(values, [Some(&b"1"[..]), Some(b"2"), None]);
}

/// The key of a lease is deleted after the TTL, not before.
async fn leases_end(registry: &dyn Registry) {
    let from = Revision(registry.list("").await.unwrap().revision.0 + 1);
    let mut watch = registry.watch("e", from).await.unwrap();
    let granted = registry.grant(TTL).await.unwrap();
    assert!(granted.ttl >= TTL && granted.lease.0 != 0);
    let began = std::time::Instant::now();
    let kept = registry.keep_alive(granted.lease).await.unwrap();
    assert_eq!(kept, Some(granted.ttl));
    let leased = |key: &str| Operation::Put(key.to_owned(), Bytes::new(), Some(granted.lease));
    write(registry, vec![leased("e1"), leased("e2")]).await;
    assert_eq!(next(&mut watch).await.1.len(), 2);
    let (_, mut changes) = next(&mut watch).await;
    assert!(began.elapsed() >= granted.ttl, "{:?}", began.elapsed());
    changes.sort_by_key(|change| format!("{change:?}"));
    let both = ["e1", "e2"].map(|key| Change::Deleted(key.to_owned()));
    assert_eq!(changes, both, "in one transaction");
    assert_eq!(registry.keep_alive(granted.lease).await.unwrap(), None);
    registry.revoke(granted.lease).await.unwrap();
}

async fn leases_are_kept_alive(registry: &dyn Registry) {
    let granted = registry.grant(TTL).await.unwrap();
    let leased = Operation::Put("kept".to_owned(), Bytes::new(), Some(granted.lease));
    write(registry, vec![leased]).await;
    let began = std::time::Instant::now();
    while began.elapsed() < granted.ttl * 2 {
        let kept = registry.keep_alive(granted.lease).await.unwrap();
        assert_eq!(kept, Some(granted.ttl));
        tokio::time::sleep(granted.ttl / 10).await;
    }
    let kept = registry.get("kept").await.unwrap();
    assert_eq!(kept.unwrap().lease, Some(granted.lease));
    registry.revoke(granted.lease).await.unwrap();
}

async fn revoked_leases_end_at_once(registry: &dyn Registry) {
    let granted = registry.grant(Duration::from_secs(60)).await.unwrap();
    let leased = Operation::Put("r".to_owned(), Bytes::new(), Some(granted.lease));
    write(registry, vec![leased, put("stays", "1")]).await;
    registry.revoke(granted.lease).await.unwrap();
    assert_eq!(registry.get("r").await.unwrap(), None);
    assert!(registry.get("stays").await.unwrap().is_some());
    assert_eq!(registry.keep_alive(granted.lease).await.unwrap(), None);
    write(registry, vec![delete("stays")]).await;
}

async fn a_full_transaction_is_accepted(registry: &dyn Registry) {
    let keys: Vec<String> = (0..TRANSACTION_MAX).map(|key| format!("f{key}")).collect();
    let full =
        |compare: &dyn Fn(&String) -> Compare, change: &dyn Fn(&String) -> Operation| Transaction {
            compares: keys.iter().map(compare).collect(),
            changes: keys.iter().map(change).collect(),
            otherwise: keys.clone(),
        };
    let absent = |key: &String| Compare::CreatedAt(key.clone(), Revision(0));
    let value = "v".repeat(400);
    let outcome = registry
        .commit(full(&absent, &|key| put(key, &value)))
        .await;
    assert!(matches!(outcome.unwrap(), Outcome::Committed(_)));
    let refused = registry.commit(full(&absent, &|key| delete(key))).await;
    let Outcome::Refused(read) = refused.unwrap() else {
        panic!("the keys exist")
    };
    assert!(read.iter().all(Option::is_some) && read.len() == TRANSACTION_MAX);
    write(registry, keys.iter().map(|key| delete(key)).collect()).await;
}
