//! Random operations, compared with a simple model.

use super::{Rig, to_ref};
use crate::{Error, Message, MessageRef};
use proptest::prelude::*;
use std::time::Duration;

/// An operation on the queue. Numbers select messages that were returned before.
#[derive(Debug, Clone)]
enum Step {
    Put {
        hidden: u64,
        ttl: Option<u64>,
        long: bool,
    },
    Get {
        count: usize,
        hidden: u64,
    },
    Peek {
        count: usize,
    },
    Update {
        which: usize,
        hidden: u64,
        text: Option<bool>,
    },
    Delete {
        which: usize,
    },
    Advance {
        seconds: u64,
    },
    RemoveExpired,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let hidden = || prop_oneof![Just(0_u64), 0..20_u64];
    prop_oneof![
        5 => (hidden(), prop::option::of(1..40_u64), prop::bool::weighted(0.1))
            .prop_map(|(hidden, ttl, long)| Step::Put { hidden, ttl: ttl.map(|ttl| ttl + hidden), long }),
        4 => (1..6_usize, 1..20_u64).prop_map(|(count, hidden)| Step::Get { count, hidden }),
        2 => (1..40_usize).prop_map(|count| Step::Peek { count }),
        3 => (0..64_usize, hidden(), prop::option::of(any::<bool>()))
            .prop_map(|(which, hidden, text)| Step::Update { which, hidden, text }),
        3 => (0..64_usize).prop_map(|which| Step::Delete { which }),
        2 => (0..15_u64).prop_map(|seconds| Step::Advance { seconds }),
        1 => Just(Step::RemoveExpired),
        1 => Just(Step::Restart),
    ]
}

/// A message of the model. Times are seconds.
#[derive(Debug, Clone)]
struct Known {
    /// What the service returned last for the message.
    returned: Message,
    visible_from: u64,
    number: usize,
    expires: Option<u64>,
    dequeue_count: u32,
    text: String,
}

#[derive(Debug, Default)]
struct Model {
    now: u64,
    messages: Vec<Known>,
    numbers: usize,
    /// All receipts ever returned, valid or not.
    receipts: Vec<MessageRef>,
}

impl Model {
    fn is_alive(&self, known: &Known) -> bool {
        known.expires.is_none_or(|expires| expires > self.now)
    }

    /// The indexes of the first visible messages.
    fn visible(&self, count: usize) -> Vec<usize> {
        let mut visible: Vec<_> = (0..self.messages.len())
            .filter(|index| {
                let known = &self.messages[*index];
                known.visible_from <= self.now && self.is_alive(known)
            })
            .collect();
        visible.sort_by_key(|index| {
            (
                self.messages[*index].visible_from,
                self.messages[*index].number,
            )
        });
        visible.truncate(count);
        visible
    }

    /// The message that a receipt is valid for.
    fn find(&self, message: MessageRef) -> Option<usize> {
        let found = self.messages.iter();
        let mut found = found.enumerate();
        let (index, _) =
            found.find(|(_, known)| to_ref(&known.returned) == message && self.is_alive(known))?;
        Some(index)
    }

    fn returned(&mut self, index: usize, message: &Message) {
        self.receipts.push(to_ref(message));
        self.messages[index].returned = message.clone();
    }
}

fn compare(known: &Known, message: &Message) {
    assert_eq!(known.returned.id, message.id);
    assert_eq!(known.dequeue_count, message.dequeue_count);
    assert_eq!(known.text.as_bytes(), &message.text[..]);
}

async fn run(steps: Vec<Step>) {
    let mut rig = Rig::new().await;
    let mut model = Model::default();
    for step in steps {
        perform(&mut rig, &mut model, step).await;
        let alive = model.messages.iter().filter(|known| model.is_alive(known));
        assert!(
            rig.count().await >= alive.count() as u64,
            "the count is too low"
        );
    }
    // All that is left comes out in order.
    rig.clock.advance(Duration::from_secs(1000));
    model.now += 1000;
    let expected: Vec<_> = model.visible(usize::MAX);
    let got = rig.get(10_000).await;
    assert_eq!(got.len(), expected.len());
    for (index, message) in expected.into_iter().zip(&got) {
        model.messages[index].dequeue_count += 1;
        compare(&model.messages[index], message);
        rig.delete(message).await.unwrap();
    }
    assert_eq!((rig.count().await, rig.rows().await <= 1), (0, true));
}

async fn perform(rig: &mut Rig, model: &mut Model, step: Step) {
    let seconds = Duration::from_secs;
    match step {
        Step::Put { hidden, ttl, long } => {
            let text = format!(
                "{}{}",
                model.numbers,
                "x".repeat(if long { 5000 } else { 0 })
            );
            let ttl_span = ttl.map(seconds);
            let message = rig.put_with(&text, seconds(hidden), ttl_span).await;
            model.receipts.push(to_ref(&message));
            model.messages.push(Known {
                returned: message,
                visible_from: model.now + hidden,
                number: model.numbers,
                expires: ttl.map(|ttl| model.now + ttl),
                dequeue_count: 0,
                text,
            });
            model.numbers += 1;
        }
        Step::Get { count, hidden } => {
            let got = rig.service.get_messages(&rig.queue, count, seconds(hidden));
            let got = got.await.unwrap();
            let expected = model.visible(count);
            assert_eq!(got.len(), expected.len());
            for (index, message) in expected.into_iter().zip(&got) {
                model.messages[index].dequeue_count += 1;
                model.messages[index].visible_from = model.now + hidden;
                compare(&model.messages[index], message);
                model.returned(index, message);
            }
        }
        Step::Peek { count } => {
            let peeked = rig.peek(count).await;
            let expected = model.visible(count);
            assert_eq!(peeked.len(), expected.len());
            for (index, message) in expected.into_iter().zip(&peeked) {
                compare(&model.messages[index], message);
            }
        }
        Step::Update {
            which,
            hidden,
            text,
        } => {
            let Some(&message) = model.receipts.get(which % model.receipts.len().max(1)) else {
                return;
            };
            let text = text.map(|long| "y".repeat(if long { 5000 } else { 3 }));
            let update = crate::UpdateMessage {
                message,
                visibility_timeout: seconds(hidden),
                text: text.clone().map(Into::into),
            };
            let updated = rig.service.update_message(&rig.queue, update).await;
            let Some(index) = model.find(message) else {
                assert!(
                    matches!(updated, Err(Error::MessageNotFound)),
                    "{updated:?}"
                );
                return;
            };
            let known = &mut model.messages[index];
            if known
                .expires
                .is_some_and(|expires| model.now + hidden > expires)
            {
                assert!(matches!(updated, Err(Error::VisibilityAfterExpiry)));
                return;
            }
            known.visible_from = model.now + hidden;
            if let Some(text) = text {
                known.text = text;
            }
            let message = updated.unwrap();
            compare(&model.messages[index], &message);
            model.returned(index, &message);
        }
        Step::Delete { which } => {
            let Some(&message) = model.receipts.get(which % model.receipts.len().max(1)) else {
                return;
            };
            let deleted = rig.service.delete_message(&rig.queue, message).await;
            match model.find(message) {
                Some(index) => {
                    deleted.unwrap();
                    model.messages.remove(index);
                }
                None => assert!(matches!(deleted, Err(Error::MessageNotFound))),
            }
        }
        Step::Advance { seconds: by } => {
            model.now += by;
            rig.clock.advance(seconds(by));
        }
        Step::RemoveExpired => {
            let shutdown = rig.tasks.shutdown();
            rig.service
                .remove_expired_messages(&shutdown)
                .await
                .unwrap();
            let alive: Vec<_> = model
                .messages
                .iter()
                .filter(|known| model.is_alive(known))
                .cloned()
                .collect();
            model.messages = alive;
        }
        Step::Restart => rig.restart(),
    }
}

proptest! {
    #[test]
    fn the_service_behaves_as_the_model(steps in prop::collection::vec(step(), 1..150)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(steps));
    }
}
