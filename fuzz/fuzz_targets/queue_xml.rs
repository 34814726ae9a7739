//! Fuzzes the XML bodies of queues: messages and lists, of requests and of answers. Checks that an accepted text is
//! written to a body with the same text, and an accepted list to one with the same queues.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::{DateTime, Guid};
use partita_wire::queue::{
    ListParameters, MessageFields, MessageView, QueueListWriter, read_message, read_messages,
    read_queue_list, write_message, write_messages,
};
use partita_wire::{Query, Version};

fuzz_target!(|data: &[u8]| {
    let _ = read_messages(data);
    if let Ok(text) = read_message(data) {
        if let Ok(body) = write_message(&text) {
            assert_eq!(read_message(&body).as_deref(), Ok(&*text));
        }
        check_answers(&text);
    }
    if let Ok(list) = read_queue_list(data) {
        let parameters = ListParameters::parse(Query::new("include=metadata"), "acct");
        let writer = QueueListWriter {
            base: "http://127.0.0.1:10001/acct",
            account: "acct",
            parameters: &parameters.expect("valid parameters"),
            version: Version::CHALLENGE,
        };
        let queues = list.queues.iter();
        let mut body = Vec::new();
        writer.write(
            queues.map(|queue| (&*queue.name, &queue.metadata)),
            None,
            &mut body,
        );
        let again = read_queue_list(&body).expect("a written list is valid");
        assert_eq!(again.queues, list.queues);
    }
});

/// The text of a message is the same in each answer that has it.
fn check_answers(text: &str) {
    let message = MessageFields {
        id: Guid([7; 16]),
        inserted: DateTime::UNIX_EPOCH,
        expires: DateTime::MAX,
        receipt: "AgAAAAMAAAAAAAAA9LoMkJ1W2gE=",
        next_visible: DateTime::UNIX_EPOCH,
        dequeue_count: 1,
        text: text.as_bytes(),
    };
    for view in [MessageView::Get, MessageView::Peek] {
        for version in [Version::OLDEST, Version::CHALLENGE] {
            let mut body = Vec::new();
            write_messages(view, version, [message], &mut body);
            let again = read_messages(&body).expect("a written message is valid");
            assert_eq!(again[0].text.as_deref(), Some(text));
        }
    }
}
