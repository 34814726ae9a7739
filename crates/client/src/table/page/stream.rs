//! Queries as streams: of pages, or of entities.

use super::{Continuation, Page, QueryOptions};
use crate::{Entity, Error, ErrorKind, Result, TableClient};
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::{JoinError, JoinSet};

/// The pages of a query, each asked for when the one before has been used, or with [`QueryOptions::read_ahead`] as soon as that
/// is there. After an error it ends; what came before can be resumed at the last page's [`Page::continuation`].
#[must_use = "a stream does nothing until it is polled"]
pub struct PageStream {
    table: TableClient,
    options: QueryOptions,
    state: State,
}

enum State {
    /// The next page begins there; at the beginning without.
    Next(Option<Continuation>),
    Asked(BoxFuture<'static, Result<Page>>),
    Ended,
}

/// The entities of a query, over all of its pages.
#[must_use = "a stream does nothing until it is polled"]
pub struct EntityStream {
    pages: PageStream,
    page: std::vec::IntoIter<Entity>,
}

impl PageStream {
    pub(crate) fn new(table: TableClient, mut options: QueryOptions) -> Self {
        let state = State::Next(options.take_from());
        Self {
            table,
            options,
            state,
        }
    }

    /// Asks for the page at that place; reading ahead, at once.
    fn ask(&self, from: Option<Continuation>) -> State {
        let (table, options) = (self.table.clone(), self.options.clone());
        let reads_ahead = options.reads_ahead();
        let asked = async move { table.query_page(&options, from.as_ref()).await };
        if !reads_ahead {
            return State::Asked(asked.boxed());
        }
        // Dropped, the set takes its task along.
        let mut task = JoinSet::new();
        task.spawn(asked);
        State::Asked(async move { joined(task.join_next().await) }.boxed())
    }
}

/// What a task has come to. A panic in it goes on in whoever waits for it.
fn joined(joined: Option<Result<Result<Page>, JoinError>>) -> Result<Page> {
    match joined {
        Some(Ok(page)) => page,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Some(Err(_)) | None => {
            let message = "the runtime is shutting down";
            Err(Error::new(ErrorKind::Broken, message))
        }
    }
}

impl Stream for PageStream {
    type Item = Result<Page>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Page>>> {
        loop {
            match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::Next(from) => {
                    let from = from.take();
                    self.state = self.ask(from);
                }
                State::Asked(asked) => {
                    let page = ready!(asked.as_mut().poll(cx));
                    let next = page
                        .as_ref()
                        .ok()
                        .and_then(|page| page.continuation().cloned());
                    self.state = match next {
                        Some(next) if self.options.reads_ahead() => self.ask(Some(next)),
                        Some(next) => State::Next(Some(next)),
                        None => State::Ended,
                    };
                    return Poll::Ready(Some(page));
                }
            }
        }
    }
}

impl EntityStream {
    pub(crate) fn new(pages: PageStream) -> Self {
        Self {
            pages,
            page: Vec::new().into_iter(),
        }
    }

    /// The same query page by page: with continuations to resume at, and the bytes as they came. To be called before the first
    /// entity was taken.
    pub fn by_page(self) -> PageStream {
        self.pages
    }
}

impl Stream for EntityStream {
    type Item = Result<Entity>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Entity>>> {
        loop {
            if let Some(entity) = self.page.next() {
                return Poll::Ready(Some(Ok(entity)));
            }
            let Some(page) = ready!(Pin::new(&mut self.pages).poll_next(cx)) else {
                return Poll::Ready(None);
            };
            match page.and_then(|page| page.entities()) {
                Ok(entities) => self.page = entities.into_iter(),
                Err(error) => {
                    self.pages.state = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl std::fmt::Debug for PageStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asked = matches!(self.state, State::Asked(_));
        f.debug_struct("PageStream")
            .field("options", &self.options)
            .field("asked", &asked)
            .finish()
    }
}

impl std::fmt::Debug for EntityStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntityStream")
            .field("pages", &self.pages)
            .finish()
    }
}
