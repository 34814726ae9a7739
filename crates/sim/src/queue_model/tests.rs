//! Wrong answers, each of which the model must find.

use std::time::Duration;

use super::{Found, Label, Put, QueueModel, Receive, Update};

const LABEL: Label = (1, 1);

/// How late a request without an answer is executed, at most.
const LATE: Duration = Duration::from_secs(2);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A model with a put of a message, sent and acknowledged in the first second.
fn model(number: u64, time_to_live: Option<Duration>) -> QueueModel {
    let mut model = QueueModel::new(LATE);
    put(&mut model, number, time_to_live);
    model
}

fn put(model: &mut QueueModel, number: u64, time_to_live: Option<Duration>) {
    let put = Put {
        label: (1, number),
        text: "text".to_owned(),
        visibility_timeout: Duration::ZERO,
        time_to_live,
    };
    model.put_sent(&put, at(0));
    model.put_done(&put, number.to_string(), "receipt 0", at(1));
}

fn found(number: u64, dequeue_count: u32) -> Found {
    Found {
        label: (1, number),
        id: number.to_string(),
        text: "text".to_owned(),
        dequeue_count,
        receipt: Some(format!("receipt {dequeue_count}")),
    }
}

/// A receive of 30 s, answered a second after `sent`.
fn receive(model: &mut QueueModel, sent: u64, messages: &[Found]) -> Result<(), String> {
    let receive: Receive = model.receive_sent(32, at(30), at(sent));
    model.receive_done(&receive, messages, at(sent + 1))
}

/// A deletion, accepted a second after `sent`.
fn delete(model: &mut QueueModel, receipt: &str, sent: u64) -> Result<(), String> {
    let change = model.change_sent(LABEL, receipt, None, at(sent))?;
    model.change_done(&change, None, at(sent + 1))
}

fn refused(checked: Result<(), String>, part: &str) {
    let wrong = checked.unwrap_err();
    assert!(wrong.contains(part), "{wrong}");
}

#[test]
fn a_message_is_received_once_while_it_is_hidden() {
    let mut model = model(1, None);
    receive(&mut model, 2, &[found(1, 1)]).unwrap();
    refused(receive(&mut model, 10, &[found(1, 2)]), "it is hidden");
}

#[test]
fn a_message_comes_back_with_the_next_count() {
    for (count, wrong) in [(2, None), (1, Some("count")), (3, Some("count"))] {
        let mut model = model(1, None);
        receive(&mut model, 2, &[found(1, 1)]).unwrap();
        let received = receive(&mut model, 40, &[found(1, count)]);
        match wrong {
            None => received.unwrap(),
            Some(part) => refused(received, part),
        }
    }
    let mut model = model(1, None);
    receive(&mut model, 2, &[found(1, 1)]).unwrap();
    refused(
        receive(&mut model, 40, &[]),
        "visible, but not in an answer",
    );
}

#[test]
fn a_deleted_a_cleared_and_an_expired_message_do_not_come_back() {
    let mut deleted = model(1, None);
    delete(&mut deleted, "receipt 0", 2).unwrap();
    refused(receive(&mut deleted, 4, &[found(1, 1)]), "it was deleted");
    let mut cleared = model(1, None);
    let clear = cleared.clear_sent(at(2));
    cleared.clear_done(clear, at(3));
    refused(receive(&mut cleared, 4, &[found(1, 1)]), "it was cleared");
    let mut expired = model(1, Some(at(5)));
    refused(receive(&mut expired, 10, &[found(1, 1)]), "it has expired");
}

#[test]
fn an_old_receipt_is_refused_and_a_valid_one_accepted() {
    let mut old = model(1, None);
    receive(&mut old, 2, &[found(1, 1)]).unwrap();
    refused(
        delete(&mut old, "receipt 0", 4),
        "an old receipt was accepted",
    );
    let change = old.change_sent(LABEL, "receipt 1", None, at(4)).unwrap();
    let answered = old.change_refused(&change, at(5));
    refused(answered, "a valid receipt was refused");
    let update = Update {
        visibility_timeout: at(3),
        text: None,
    };
    let change = old.change_sent(LABEL, "receipt 1", Some(update), at(6));
    let updated = old.change_done(&change.unwrap(), Some("receipt 2"), at(7));
    updated.unwrap();
    refused(
        delete(&mut old, "receipt 1", 8),
        "an old receipt was accepted",
    );
}

#[test]
fn messages_of_a_producer_are_received_in_order() {
    let mut model = model(1, None);
    put(&mut model, 2, None);
    let messages = [found(2, 1), found(1, 1)];
    refused(receive(&mut model, 2, &messages), "a later message");
}

#[test]
fn a_peek_shows_what_is_visible() {
    let mut model = model(1, None);
    put(&mut model, 2, None);
    refused(model.check_peek(32, &[found(1, 0)], at(2), at(3)), "(1, 2)");
    receive(&mut model, 2, &[found(1, 1), found(2, 1)]).unwrap();
    let peeked = model.check_peek(32, &[found(1, 1)], at(4), at(5));
    refused(peeked, "not visible");
}

#[test]
fn the_number_of_messages_is_not_too_low() {
    let mut model = model(1, None);
    put(&mut model, 2, None);
    model.check_count(2, at(2), at(3)).unwrap();
    refused(model.check_count(1, at(2), at(3)), "not at least 2");
    refused(model.check_empty(at(4)), "not received again");
}

#[test]
fn after_a_lost_answer_both_outcomes_are_possible() {
    let mut model = model(1, None);
    let change = model.change_sent(LABEL, "receipt 0", None, at(2)).unwrap();
    model.change_lost(&change, at(3));
    receive(&mut model, 10, &[]).unwrap();
    receive(&mut model, 20, &[found(1, 1)]).unwrap();
    // Now it is certain that the message was not deleted.
    refused(model.check_empty(at(22)), "not received again");
}

/// A model with one message, and a receive whose answer comes after that of a later receive.
fn overtaken_receive() -> (QueueModel, Receive) {
    let mut model = model(1, None);
    let early = model.receive_sent(32, at(1), at(2));
    let late = model.receive_sent(32, at(30), at(4));
    model.receive_done(&late, &[found(1, 2)], at(5)).unwrap();
    (model, early)
}

#[test]
fn an_answer_may_be_overtaken_by_that_of_a_later_receive() {
    let (mut overtaken, early) = overtaken_receive();
    let again = overtaken.receive_done(&early, &[found(1, 2)], at(6));
    refused(again, "count");
    let (mut overtaken, early) = overtaken_receive();
    overtaken
        .receive_done(&early, &[found(1, 1)], at(6))
        .unwrap();
    // The receipt of the later one is valid.
    delete(&mut overtaken, "receipt 2", 7).unwrap();
    // One that was sent after the answer cannot show an earlier state.
    refused(receive(&mut overtaken, 9, &[found(1, 1)]), "deleted");
}
