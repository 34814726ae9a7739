//! Writes whose answers are lost: a retry meets the effect of its own earlier attempt.

use partita_client::{Entity, ErrorCode, IfMatch, Outcome, TransactionAction, UpdateMode};

use crate::faults::{behind, entity};
use crate::faulty_server::{Act, status};

#[tokio::test]
async fn an_insert_that_meets_its_own_effect_succeeds() {
    for lost in [
        Act::ForwardAndClose,
        Act::ForwardAndAnswer(500),
        Act::ForwardAndAnswer(504),
    ] {
        let (real, straight, faulty, through) = behind([lost, Act::Forward]).await;
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
    let doomed = Entity::new("p", "doomed");
    straight.create_entity(&doomed).await.unwrap();
    let delete = |row_key: &str| TransactionAction::Delete {
        partition_key: "p".to_owned(),
        row_key: row_key.to_owned(),
        if_match: IfMatch::Any,
    };
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
    real.stop().await;
}
