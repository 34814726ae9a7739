//! List Queues.

use super::QueueServiceClient;
use super::queue_request::queue_request;
use crate::Result;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use partita_wire::Method;
use partita_wire::queue::{ListedQueue, Operation, QueueList, read_queue_list};

/// The queues of all pages of a list.
pub type QueueStream = BoxStream<'static, Result<ListedQueue>>;

/// The pages of a list of queues.
pub type QueuePageStream = BoxStream<'static, Result<QueueList>>;

/// Which queues a list has, and what it says about them. The default is the names of all queues.
#[derive(Debug, Clone, Default)]
pub struct ListQueuesOptions {
    /// Only queues whose names begin with this text. Default: empty, all queues.
    pub prefix: String,
    /// Whether the queues have their metadata. Default: no.
    pub include_metadata: bool,
    /// The maximum number of queues on a page, 1 to 5,000. Default: `None`, 5,000. It does not bound the number of
    /// pages.
    pub page_queues_max: Option<u32>,
    /// Where the list begins: [`QueueList::next_marker`] of a page with the same prefix. Default: `None`, at the first
    /// queue.
    pub marker: Option<String>,
}

impl QueueServiceClient {
    /// Lists queues in the order of their names. The stream requests a page when it is polled for it, and ends after an
    /// error.
    pub fn list_queues(&self, options: ListQueuesOptions) -> QueueStream {
        let queues = |page: QueueList| stream::iter(page.queues.into_iter().map(Ok));
        self.list_queue_pages(options)
            .map_ok(queues)
            .try_flatten()
            .boxed()
    }

    /// Lists queues by pages, for their markers.
    pub fn list_queue_pages(&self, options: ListQueuesOptions) -> QueuePageStream {
        let service = self.clone();
        let pages = stream::try_unfold(Some(options), move |next| {
            let service = service.clone();
            async move {
                let Some(mut options) = next else {
                    return Ok(None);
                };
                let page = service.list_queues_page(&options).await?;
                let next = page.next_marker.clone().map(|marker| {
                    options.marker = Some(marker);
                    options
                });
                Ok(Some((page, next)))
            }
        });
        pages.boxed()
    }

    /// Lists the queues of one page.
    ///
    /// # Errors
    /// 400 for an invalid marker or size; 403 with a queue SAS, or an account SAS that does not permit it.
    pub async fn list_queues_page(&self, options: &ListQueuesOptions) -> Result<QueueList> {
        let ListQueuesOptions {
            prefix,
            include_metadata,
            page_queues_max,
            marker,
        } = options;
        let max = page_queues_max.map(|max| max.to_string());
        let parameters = [
            ("comp", Some("list")),
            ("prefix", Some(&**prefix).filter(|text| !text.is_empty())),
            ("include", include_metadata.then_some("metadata")),
            ("maxresults", max.as_deref()),
            ("marker", marker.as_deref()),
        ];
        let request = queue_request(Operation::ListQueues, Method::Get, "/".to_owned());
        let request = parameters
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .fold(request, |request, (name, value)| {
                request.with_parameter(name, value)
            });
        let reply = self.pipeline.send(&request).await?;
        read_queue_list(reply.body()).map_err(|failure| reply.unreadable(failure))
    }
}
