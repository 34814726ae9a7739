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
    /// The rest of a page of which entities were taken; the next item of the stream.
    rest: Option<Page>,
    pages: BoxStream<'static, Result<Page>>,
}

/// The entities of a query, from all of its pages.
#[must_use = "a stream does nothing until it is polled"]
#[derive(Debug)]
pub struct EntityStream {
    pages: PageStream,
    current: Option<Current>,
    /// The number of entities that the stream may still return.
    limit: Option<usize>,
}

/// The current page of a stream of entities.
#[derive(Debug)]
struct Current {
    page: Page,
    /// The entities that the stream has not returned yet.
    left: std::vec::IntoIter<Entity>,
    /// The number of those that it has returned.
    taken: usize,
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
        let begin = (options.limit != Some(0)).then(|| Next::At(options.from.take()));
        let query = options.clone();
        let pages = stream::try_unfold((begin, query), move |(next, mut query)| {
            let table = table.clone();
            async move {
                let page = match next {
                    None => return Ok(None),
                    Some(Next::At(from)) => table.query_page(&query, from.as_ref()).await?,
                    Some(Next::Running(mut task)) => joined(task.join_next().await)?,
                };
                let next = following(&table, &mut query, &page)?;
                Ok(Some((page, (next, query))))
            }
        });
        Self {
            options,
            rest: None,
            pages: pages.boxed(),
        }
    }
}

/// The page after `page`; `None` at the end of the query or of its limit, which is reduced by the entities of `page`.
fn following(table: &TableClient, query: &mut QueryOptions, page: &Page) -> Result<Option<Next>> {
    let Some(from) = page.continuation().cloned() else {
        return Ok(None);
    };
    if let Some(limit) = &mut query.limit {
        *limit = limit.saturating_sub(page.count()?);
        if *limit == 0 {
            return Ok(None);
        }
    }
    if !query.reads_ahead {
        return Ok(Some(Next::At(Some(from))));
    }
    let mut task = JoinSet::new();
    let (table, query) = (table.clone(), query.clone());
    task.spawn(async move { table.query_page(&query, Some(&from)).await });
    Ok(Some(Next::Running(task)))
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
        if let Some(rest) = self.rest.take() {
            return Poll::Ready(Some(Ok(rest)));
        }
        self.pages.as_mut().poll_next(cx)
    }
}

impl Current {
    fn of(page: Page) -> Result<Self> {
        let left = page.entities()?.into_iter();
        Ok(Self {
            page,
            left,
            taken: 0,
        })
    }
}

impl EntityStream {
    pub(crate) fn new(pages: PageStream) -> Self {
        Self {
            limit: pages.options.limit,
            pages,
            current: None,
        }
    }

    /// The rest of the query by pages, for their continuations and bytes. The first page is the current one, without
    /// the entities that the stream has returned ([`Page::bytes`] still has them).
    pub fn by_page(mut self) -> PageStream {
        let unfinished = self.current.filter(|current| current.left.len() > 0);
        self.pages.rest = unfinished.map(|current| current.page.without(current.taken));
        self.pages
    }

    /// The next entity of the current page.
    fn take_next(&mut self) -> Option<Entity> {
        let current = self.current.as_mut()?;
        let entity = current.left.next()?;
        current.taken += 1;
        self.limit = self.limit.map(|limit| limit - 1);
        Some(entity)
    }
}

impl Stream for EntityStream {
    type Item = Result<Entity>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Entity>>> {
        loop {
            if self.limit == Some(0) {
                return Poll::Ready(None);
            }
            if let Some(entity) = self.take_next() {
                return Poll::Ready(Some(Ok(entity)));
            }
            let Some(page) = ready!(self.pages.poll_next_unpin(cx)) else {
                return Poll::Ready(None);
            };
            match page.and_then(Current::of) {
                Ok(current) => self.current = Some(current),
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
