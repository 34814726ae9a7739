//! Writes whose answers are lost: a retry meets the effect of its own earlier attempt.

use partita_client::{
    Entity, ErrorCode, IfMatch, Outcome, TransactionAction, UnknownOutcome, UpdateMode,
};

use crate::faults::{behind, entity};
use crate::faulty_server::{Act, status};

const EQUAL: UnknownOutcome = UnknownOutcome::AssumeFromEqualContent;
const STAMP: UnknownOutcome = UnknownOutcome::WriteStamp;

/// The first attempt does not reach the server, and another client gets the lock before the second one.
#[tokio::test]
async fn r1_a_lock_has_one_owner() {
    for (unknown_outcome, methods) in [
        (UnknownOutcome::Report, &["POST", "POST"][..]),
        (STAMP, &["POST", "POST", "GET"]),
    ] {
        let (real, theirs, faulty, ours) = behind([Act::Close, Act::Forward]).await;
        let ours = ours.with_unknown_outcome(unknown_outcome);
        theirs.create_entity(&entity()).await.unwrap();
        let error = ours.create_entity(&entity()).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::EntityAlreadyExists));
        assert_eq!(error.outcome(), Outcome::MayHaveHappened);
        assert_eq!(faulty.methods(), methods);
        real.stop().await;
    }
    // The option for data of which it does not matter who wrote it.
    let (real, theirs, _faulty, ours) = behind([Act::Close, Act::Forward]).await;
    theirs.create_entity(&entity()).await.unwrap();
    let ours = ours.with_unknown_outcome(EQUAL);
    ours.create_entity(&entity()).await.unwrap();
    real.stop().await;
}

/// As the test above, with an update: the other client makes the same change to the same version.
#[tokio::test]
async fn r1_a_version_is_changed_once() {
    for unknown_outcome in [UnknownOutcome::Report, STAMP] {
        let (real, theirs, _faulty, ours) = behind([status(500), Act::Forward]).await;
        let ours = ours.with_unknown_outcome(unknown_outcome);
        let before = IfMatch::from(theirs.create_entity(&entity()).await.unwrap());
        let mut changed = entity();
        changed.insert("A", 2);
        let update = theirs.update_entity(&changed, UpdateMode::Replace, &before);
        update.await.unwrap();
        let update = ours.update_entity(&changed, UpdateMode::Replace, &before);
        let error = update.await.unwrap_err();
        assert!(error.is_precondition_failed());
        assert_eq!(error.outcome(), Outcome::MayHaveHappened);
        real.stop().await;
    }
}

#[tokio::test]
async fn a_write_stamp_proves_the_own_write() {
    let script = || [Act::ForwardAndClose, Act::Forward];
    let (real, straight, _faulty, through) = behind(script()).await;
    let through = through.with_unknown_outcome(STAMP);
    let etag = through.create_entity(&entity()).await.unwrap();
    let stored = straight.get_entity("p", "r").await.unwrap();
    assert_eq!(stored.etag(), Some(&etag));
    assert!(stored.get("WriteStamp").unwrap().as_guid().is_some());
    real.stop().await;

    let (real, straight, _faulty, through) = behind(script()).await;
    let through = through.with_unknown_outcome(STAMP);
    // The entity was read with the stamp of its last write, which this write replaces.
    let before = IfMatch::from(straight.create_entity(&stored).await.unwrap());
    let update = through.update_entity(&stored, UpdateMode::Merge, &before);
    update.await.unwrap();
    let now = straight.get_entity("p", "r").await.unwrap();
    assert_ne!(now.get("WriteStamp"), stored.get("WriteStamp"));
    real.stop().await;

    // The stamp of the written entity also proves the deletion, although the entity exists again.
    let (real, straight, faulty, through) = behind(script()).await;
    let through = through.with_unknown_outcome(STAMP);
    straight
        .create_entity(&Entity::new("p", "doomed"))
        .await
        .unwrap();
    let actions = [TransactionAction::Create(entity()), delete("doomed")];
    let done = through.submit_transaction(&actions).await.unwrap();
    let now = straight.get_entity("p", "r").await.unwrap();
    assert_eq!(done.etags, [now.etag().cloned(), None]);
    assert_eq!(faulty.methods(), ["POST", "POST", "GET"]);
    real.stop().await;
}

#[tokio::test]
async fn a_transaction_reports_an_unknown_outcome() {
    let (real, _straight, faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    let actions = [TransactionAction::Create(entity())];
    let error = through.submit_transaction(&actions).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::EntityAlreadyExists));
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
    assert_eq!(faulty.methods(), ["POST", "POST"]);
    real.stop().await;
}

fn delete(row_key: &str) -> TransactionAction {
    TransactionAction::Delete {
        partition_key: "p".to_owned(),
        row_key: row_key.to_owned(),
        if_match: IfMatch::Any,
    }
}

#[tokio::test]
async fn an_insert_that_meets_its_own_effect_succeeds() {
    for lost in [
        Act::ForwardAndClose,
        Act::ForwardAndAnswer(500),
        Act::ForwardAndAnswer(504),
    ] {
        let (real, straight, faulty, through) = behind([lost, Act::Forward]).await;
        let through = through.with_unknown_outcome(EQUAL);
        let etag = through.create_entity(&entity()).await.unwrap();
        assert_eq!(faulty.methods(), ["POST", "POST", "GET"]);
        assert_eq!(
            straight.get_entity("p", "r").await.unwrap().etag(),
            Some(&etag)
        );
        real.stop().await;
    }
}

#[tokio::test]
async fn an_insert_that_meets_another_entity_fails() {
    let (real, straight, faulty, through) = behind([status(500), Act::Forward]).await;
    let through = through.with_unknown_outcome(EQUAL);
    let mut theirs = entity();
    theirs.insert("A", 2);
    straight.create_entity(&theirs).await.unwrap();
    let error = through.create_entity(&entity()).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::EntityAlreadyExists));
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
    assert_eq!(faulty.methods(), ["POST", "POST", "GET"]);
    // If all attempts had known outcomes, the client does not read back.
    let error = straight.create_entity(&theirs).await.unwrap_err();
    assert_eq!(
        (error.attempts(), error.outcome()),
        (1, Outcome::DidNotHappen)
    );
    real.stop().await;
}

#[tokio::test]
async fn an_update_that_meets_its_own_effect_succeeds() {
    for mode in [UpdateMode::Merge, UpdateMode::Replace] {
        let (real, straight, faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
        let through = through.with_unknown_outcome(EQUAL);
        let before = straight.create_entity(&entity()).await.unwrap();
        let mut changed = Entity::new("p", "r");
        changed.insert("A", 7_i64);
        let etag = through
            .update_entity(&changed, mode, &IfMatch::from(&before))
            .await
            .unwrap();
        let now = straight.get_entity("p", "r").await.unwrap();
        assert_eq!(
            (now.etag(), now.get("A")),
            (Some(&etag), Some(&7_i64.into()))
        );
        assert_eq!(faulty.heads().len(), 3);
        // Without a lost answer, a 412 is an error, although the entity has these properties.
        let error = through
            .update_entity(&changed, mode, &IfMatch::from(&before))
            .await
            .unwrap_err();
        assert!(error.is_precondition_failed());
        assert_eq!(error.outcome(), Outcome::DidNotHappen);
        real.stop().await;
    }
}

#[tokio::test]
async fn a_transaction_that_meets_its_own_effect_succeeds() {
    let (real, straight, faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    let through = through.with_unknown_outcome(EQUAL);
    let doomed = Entity::new("p", "doomed");
    straight.create_entity(&doomed).await.unwrap();
    let actions = [TransactionAction::Create(entity()), delete("doomed")];
    let done = through.submit_transaction(&actions).await.unwrap();
    let now = straight.get_entity("p", "r").await.unwrap();
    assert_eq!(done.etags, [now.etag().cloned(), None]);
    assert_eq!(faulty.methods(), ["POST", "POST", "GET", "GET"]);
    real.stop().await;
}

#[tokio::test]
async fn a_delete_that_meets_its_own_effect_may_have_happened() {
    let (real, straight, _faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    straight.create_entity(&entity()).await.unwrap();
    let error = through
        .delete_entity("p", "r", &IfMatch::Any)
        .await
        .unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
    let error = through
        .delete_entity("p", "r", &IfMatch::Any)
        .await
        .unwrap_err();
    assert_eq!(error.outcome(), Outcome::DidNotHappen);
    through.delete_entity_if_exists("p", "r").await.unwrap();
    straight.delete().await.unwrap();
    let error = through.delete_entity_if_exists("p", "r").await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TableNotFound));
    real.stop().await;
}
