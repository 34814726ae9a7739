//! Executes single requests of a group, and answers them after the commit.

use super::execute::Execution;
use super::request::{Reply, Request};
use crate::Error;
use crate::message::Message;
use partita_heat::Access;

/// Sends the result of a request, once its group is committed or has failed.
pub(super) type Finish = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// What a request did, for the heat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) access: Access,
    pub(super) rows: usize,
    pub(super) bytes_in: usize,
    pub(super) bytes_out: usize,
}

impl Done {
    const fn wrote(access: Access, rows: usize, bytes_in: usize) -> Self {
        Self {
            access,
            rows,
            bytes_in,
            bytes_out: 0,
        }
    }

    /// A receive writes the messages that it hides; without a message it only reads.
    fn received(messages: &[Message]) -> Self {
        Self {
            access: match messages {
                [] => Access::Read,
                _ => Access::Write,
            },
            rows: messages.len(),
            bytes_in: 0,
            bytes_out: messages.iter().map(|message| message.text.len()).sum(),
        }
    }
}

impl Execution<'_> {
    /// Executes a request. The result is sent after the commit, also if it is an error: it may depend on changes of the
    /// group.
    pub(super) async fn execute(&mut self, request: Request) -> (Finish, Done) {
        match request {
            Request::Put(put, reply) => {
                let done = Done::wrote(Access::Insert, 1, put.text.len());
                (finish(reply, Ok(self.put(put))), done)
            }
            // The messages would be hidden from everyone.
            Request::Get { reply, .. } if reply.is_closed() => {
                (Box::new(|_| ()), Done::received(&[]))
            }
            Request::Get {
                count,
                visibility_timeout,
                wait,
                reply,
            } => {
                let received = self.get(count, visibility_timeout).await;
                if let Ok(received) = &received {
                    self.will_wait(received, wait);
                }
                let messages = received.as_ref().map(|received| &*received.messages);
                let done = Done::received(messages.unwrap_or_default());
                (finish(reply, received), done)
            }
            Request::Update(update, reply) => {
                let bytes = update.text.as_ref().map_or(0, |text| text.len());
                let done = Done::wrote(Access::Write, 1, bytes);
                (finish(reply, self.update(update).await), done)
            }
            Request::Delete(message, reply) => {
                let done = Done::wrote(Access::Write, 1, 0);
                (finish(reply, self.delete(message).await), done)
            }
            Request::BeginExpiry(reply) => {
                self.begin_expiry();
                (finish(reply, Ok(())), Done::wrote(Access::Read, 0, 0))
            }
            Request::RemoveExpired(positions, reply) => {
                let removed = self.remove_expired(positions).await;
                let rows = removed.as_ref().copied().unwrap_or_default();
                (finish(reply, removed), Done::wrote(Access::Write, rows, 0))
            }
            Request::EndExpiry(earliest, reply) => {
                self.end_expiry(earliest);
                (finish(reply, Ok(())), Done::wrote(Access::Read, 0, 0))
            }
        }
    }
}

fn finish<T: Send + 'static>(reply: Reply<T>, result: Result<T, Error>) -> Finish {
    Box::new(move |committed| {
        // Fails if the caller was dropped; the change is still valid.
        let _ = reply.send(committed.and(result));
    })
}

/// Sends the error of a group that was not executed.
pub(super) fn unanswered(request: Request) -> Finish {
    match request {
        Request::Put(_, reply) | Request::Update(_, reply) => refuse(reply),
        Request::Get { reply, .. } => refuse(reply),
        Request::Delete(_, reply) | Request::BeginExpiry(reply) | Request::EndExpiry(_, reply) => {
            refuse(reply)
        }
        Request::RemoveExpired(_, reply) => refuse(reply),
    }
}

fn refuse<T: Send + 'static>(reply: Reply<T>) -> Finish {
    Box::new(move |outcome| {
        if let Err(error) = outcome {
            let _ = reply.send(Err(error));
        }
    })
}
