//! The operations of the Queue service, their stable names and their properties.

use crate::operation::operations;

operations! {
    /// An operation, which follows from the method, the resource and the query of a request.
    pub enum Operation {
        /// `GET /?comp=list`
        ListQueues = "ListQueues",
        /// `PUT /queue`
        CreateQueue = "CreateQueue",
        /// `DELETE /queue`
        DeleteQueue = "DeleteQueue",
        /// `GET` or `HEAD /queue?comp=metadata`
        GetQueueMetadata = "GetQueueMetadata",
        /// `PUT /queue?comp=metadata`
        SetQueueMetadata = "SetQueueMetadata",
        /// `GET` or `HEAD /queue?comp=acl`
        GetQueueAcl = "GetQueueACL",
        /// `PUT /queue?comp=acl`
        SetQueueAcl = "SetQueueACL",
        /// `POST /queue/messages`
        PutMessage = "PutMessage",
        /// `GET /queue/messages`
        GetMessages = "GetMessages",
        /// `GET /queue/messages?peekonly=true`
        PeekMessages = "PeekMessages",
        /// `PUT /queue/messages/id`
        UpdateMessage = "UpdateMessage",
        /// `DELETE /queue/messages/id`
        DeleteMessage = "DeleteMessage",
        /// `DELETE /queue/messages`
        ClearMessages = "ClearMessages",
        /// `GET /?restype=service&comp=properties`
        GetQueueServiceProperties = "GetQueueServiceProperties",
        /// `PUT /?restype=service&comp=properties`
        SetQueueServiceProperties = "SetQueueServiceProperties",
        /// `GET /?restype=service&comp=stats`
        GetQueueServiceStats = "GetQueueServiceStats",
        /// `OPTIONS` on any path
        Preflight = "QueuePreflightRequest",
    }
}

impl Operation {
    /// Whether the operation can change data. Get Messages does: it hides the messages that it returns.
    pub const fn is_write(self) -> bool {
        !matches!(
            self,
            Self::ListQueues
                | Self::GetQueueMetadata
                | Self::GetQueueAcl
                | Self::PeekMessages
                | Self::GetQueueServiceProperties
                | Self::GetQueueServiceStats
                | Self::Preflight
        )
    }
}
