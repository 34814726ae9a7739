//! Queries as streams: of pages, or of entities.

use super::{Continuation, Page, QueryOptions};
use crate::{Entity, Result, TableClient};
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The pages of a query, each asked for when the one before has been taken. After an error it ends; what came before can be
/// resumed at the last page's [`Page::continuation`].
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
}

impl Stream for PageStream {
    type Item = Result<Page>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Page>>> {
        loop {
            match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::Next(from) => {
                    let from = from.take();
                    let (table, options) = (self.table.clone(), self.options.clone());
                    let asked = async move { table.query_page(&options, from.as_ref()).await };
                    self.state = State::Asked(asked.boxed());
                }
                State::Asked(asked) => {
                    let page = ready!(asked.as_mut().poll(cx));
                    let next = page
                        .as_ref()
                        .ok()
                        .and_then(|page| page.continuation().cloned());
                    self.state = match next {
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
