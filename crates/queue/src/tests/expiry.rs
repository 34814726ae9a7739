//! The walk that removes expired messages, while messages change.

use super::{Rig, SECOND};
use crate::group::{Request, WriteSize};

/// A walk reads the rows in several snapshots. Between two of them a message can move from behind the rows that were
/// read to before them; here the walk sees no message at all.
#[tokio::test]
async fn a_message_that_moves_past_a_walk_is_removed_by_a_later_one() {
    let rig = Rig::new().await;
    let put = rig.put_with("x", 5 * SECOND, Some(10 * SECOND)).await;
    let (service, none) = (&rig.service, WriteSize::default());
    let begin = service.execute_uncharged(&rig.queue, none, Request::BeginExpiry);
    begin.await.unwrap();
    rig.update(&put, SECOND, None).await.unwrap();
    let end = |reply| Request::EndExpiry(u64::MAX, reply);
    let end = service.execute_uncharged(&rig.queue, none, end);
    end.await.unwrap();
    rig.clock.advance(10 * SECOND);
    let removed = service.remove_expired_messages(&rig.tasks.shutdown()).await;
    assert_eq!((removed.unwrap(), rig.count().await), (1, 0));
}
