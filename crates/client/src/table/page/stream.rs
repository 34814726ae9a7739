//! Queries as streams: of pages, or of entities.

use super::{Continuation, Page, QueryOptions};
use crate::{Entity, Error, ErrorKind, Result, TableClient};
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::{JoinError, JoinSet};

/// The pages of a query. The client requests a page when the stream is polled for it; with
/// [`QueryOptions::read_ahead`], as soon as the previous page has arrived. The stream ends after an error; a new query
/// can resume at the last page's [`Page::continuation`].
#[must_use = "a stream does nothing until it is polled"]
pub struct PageStream {
    options: QueryOptions,
    pages: BoxStream<'static, Result<Page>>,
}

/// The entities of a query, from all of its pages.
#[must_use = "a stream does nothing until it is polled"]
#[derive(Debug)]
pub struct EntityStream {
    pages: PageStream,
    page: std::vec::IntoIter<Entity>,
}

/// The next page of a query.
enum Next {
    /// Not requested yet.
    At(Option<Continuation>),
    /// Requested by a task, which ends if the set is dropped.
    Running(JoinSet<Result<Page>>),
}

impl PageStream {
    pub(crate) fn new(table: TableClient, mut options: QueryOptions) -> Self {
        let begin = Next::At(options.from.take());
        let query = options.clone();
        let pages = stream::try_unfold(Some(begin), move |next| {
            let (table, query) = (table.clone(), query.clone());
            async move {
                let page = match next {
                    None => return Ok(None),
                    Some(Next::At(from)) => table.query_page(&query, from.as_ref()).await?,
                    Some(Next::Running(mut task)) => joined(task.join_next().await)?,
                };
                let next = page.continuation().cloned().map(|from| {
                    if !query.reads_ahead {
                        return Next::At(Some(from));
                    }
                    let mut task = JoinSet::new();
                    task.spawn(async move { table.query_page(&query, Some(&from)).await });
                    Next::Running(task)
                });
                Ok(Some((page, next)))
            }
        });
        Self {
            options,
            pages: pages.boxed(),
        }
    }
}

/// The result of a task. A panic in the task continues in the caller.
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
        self.pages.as_mut().poll_next(cx)
    }
}

impl EntityStream {
    pub(crate) fn new(pages: PageStream) -> Self {
        Self {
            pages,
            page: Vec::new().into_iter(),
        }
    }

    /// The same query by pages, for their continuations and bytes. Call it before you take the first entity: it drops
    /// the remaining entities of the current page.
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
            let Some(page) = ready!(self.pages.poll_next_unpin(cx)) else {
                return Poll::Ready(None);
            };
            match page.and_then(|page| page.entities()) {
                Ok(entities) => self.page = entities.into_iter(),
                Err(error) => {
                    self.pages.pages = stream::empty().boxed();
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl fmt::Debug for PageStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
