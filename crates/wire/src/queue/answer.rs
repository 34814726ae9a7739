//! The headers of answers.
//!
//! Facts from recorded answers, for the code that composes an answer:
//!
//! | header | on |
//! | --- | --- |
//! | `x-ms-version` | every answer: the version of the request |
//! | `Cache-Control: no-cache` | every 200 of a GET, also without a body ([`Operation::has_cache_control`]); nothing else |
//! | `Content-Type: application/xml` | every answer with a body, also an error; no answer without a body |
//! | `x-ms-client-request-id` | since version 2019-02-02 ([`crate::Version::CLIENT_REQUEST_ID`]) |
//! | `x-ms-error-code` | errors since version 2017-07-29 ([`has_error_code_header`]) |
//! | `x-ms-approximate-messages-count`, `x-ms-meta-*` | Get Queue Metadata, every version |
//! | `x-ms-popreceipt`, `x-ms-time-next-visible` (RFC 1123) | Update Message, every version |
//!
//! No answer has an `ETag`. Put Message is 201 with a body since version 2016-05-31, and without one before.

use super::Operation;
use crate::Version;

/// The first version whose errors have the header `x-ms-error-code` (document "Status and error codes"; recordings of
/// 2016-05-31 lack it, those of 2018-03-28 have it).
const ERROR_CODE_HEADER: Version = Version::from_date(20_170_729);

/// Whether an error has the header `x-ms-error-code`. Before, only its body has the code.
pub fn has_error_code_header(version: Version) -> bool {
    version >= ERROR_CODE_HEADER
}

impl Operation {
    /// The status of success. Create Queue answers 204 instead if the queue exists with the same metadata.
    pub const fn success_status(self) -> u16 {
        match self {
            Self::ListQueues
            | Self::GetQueueMetadata
            | Self::GetQueueAcl
            | Self::GetMessages
            | Self::PeekMessages
            | Self::GetQueueServiceProperties
            | Self::GetQueueServiceStats
            | Self::Preflight => 200,
            Self::CreateQueue | Self::PutMessage => 201,
            Self::SetQueueServiceProperties => 202,
            Self::DeleteQueue
            | Self::SetQueueMetadata
            | Self::SetQueueAcl
            | Self::UpdateMessage
            | Self::DeleteMessage
            | Self::ClearMessages => 204,
        }
    }

    /// Whether a success has `Cache-Control: no-cache`.
    pub const fn has_cache_control(self) -> bool {
        self.success_status() == 200 && !matches!(self, Self::Preflight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statuses and headers of the recorded answers.
    #[test]
    fn reads_are_200_and_not_cached() {
        for &operation in Operation::ALL {
            let is_get = !operation.is_write() || operation == Operation::GetMessages;
            assert_eq!(operation.success_status() == 200, is_get, "{operation}");
            let is_preflight = operation == Operation::Preflight;
            assert_eq!(
                operation.has_cache_control(),
                is_get && !is_preflight,
                "{operation}"
            );
        }
        assert_eq!(Operation::PutMessage.success_status(), 201);
        assert_eq!(Operation::SetQueueServiceProperties.success_status(), 202);
        assert_eq!(Operation::ClearMessages.success_status(), 204);
    }

    #[test]
    fn errors_have_the_header_since_2017_07_29() {
        let has = |text| has_error_code_header(Version::parse(text).unwrap());
        assert!(!has("2015-04-05") && !has("2016-05-31") && !has("2017-07-28"));
        assert!(has("2017-07-29") && has("2018-03-28"));
    }
}
