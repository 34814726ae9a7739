//! Storage error codes. Each code has a name, an HTTP status and a text.
//!
//! Codes are constants, not variants of an enum, so that each service can declare its own codes with the same macro.
//! [`COMMON_ERROR_CODES`] are the codes that every storage service can answer.
//!
//! Sources: service documents "Common REST API Error Codes" and "SAS Error Codes"; texts are copied from recorded
//! answers if available, including their spelling mistakes.

use std::fmt;

/// A storage error code, such as `ErrorCode::TableNotFound`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(&'static Description);

/// The properties of a code.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Description {
    /// The position in the list of all codes of a service, in which the common codes come first.
    pub(crate) index: usize,
    pub(crate) name: &'static str,
    pub(crate) status: u16,
    pub(crate) text: &'static str,
}

/// Declares codes as constants of [`ErrorCode`], and a list of them. A code without a status or a text does not
/// compile.
macro_rules! error_codes {
    (
        $(#[$meta:meta])* $visibility:vis $list:ident after $before:expr;
        $($variant:ident $name:literal $status:literal $text:literal;)+
    ) => {
        #[derive(Clone, Copy)]
        enum Position { $($variant,)+ }

        #[allow(non_upper_case_globals, reason = "codes are written as the service writes them")]
        impl $crate::ErrorCode {
            $(
                #[doc = $text]
                pub const $variant: Self = Self::new(&$crate::error::Description {
                    index: $before + Position::$variant as usize,
                    name: $name,
                    status: $status,
                    text: $text,
                });
            )+
        }

        $(#[$meta])*
        $visibility const $list: &[$crate::ErrorCode] = &[$($crate::ErrorCode::$variant,)+];
    };
}
pub(crate) use error_codes;

error_codes! {
    /// The codes that every storage service can answer.
    pub COMMON_ERROR_CODES after 0;

    // Malformed requests.
    InvalidInput "InvalidInput" 400 "One of the request inputs is not valid.";
    InvalidHeaderValue "InvalidHeaderValue" 400 "The value for one of the HTTP headers is not in the correct format.";
    InvalidQueryParameterValue "InvalidQueryParameterValue" 400 "Value for one of the query parameters specified in the request URI is invalid.";
    OutOfRangeInput "OutOfRangeInput" 400 "One of the request inputs is out of range.";
    OutOfRangeQueryParameterValue "OutOfRangeQueryParameterValue" 400 "One of the query parameters specified in the request URI is outside the permissible range.";
    InvalidUri "InvalidUri" 400 "The requested URI does not represent any resource on the server.";
    RequestUrlFailedToParse "RequestUrlFailedToParse" 400 "The url in the request could not be parsed.";
    InvalidHttpVerb "InvalidHttpVerb" 400 "The HTTP verb specified was not recognized by the server.";
    InvalidMd5 "InvalidMd5" 400 "The MD5 value specified in the request is invalid. The MD5 value must be 128 bits and Base64-encoded.";
    Md5Mismatch "Md5Mismatch" 400 "The MD5 value specified in the request did not match with the MD5 value calculated by the server.";
    InvalidXmlDocument "InvalidXmlDocument" 400 "XML specified is not syntactically valid.";
    InvalidXmlNodeValue "InvalidXmlNodeValue" 400 "The value provided for one of the XML nodes in the request body was not in the correct format.";
    MissingRequiredHeader "MissingRequiredHeader" 400 "An HTTP header that's mandatory for this request is not specified.";
    MissingRequiredQueryParameter "MissingRequiredQueryParameter" 400 "A query parameter that's mandatory for this request is not specified.";
    MissingRequiredXmlNode "MissingRequiredXmlNode" 400 "A required XML node was not specified in the request body.";
    UnsupportedHeader "UnsupportedHeader" 400 "One of the HTTP headers specified in the request is not supported.";
    UnsupportedQueryParameter "UnsupportedQueryParameter" 400 "One of the query parameters specified in the request URI is not supported.";
    UnsupportedXmlNode "UnsupportedXmlNode" 400 "One of the XML nodes specified in the request body is not supported.";
    ConditionHeadersNotSupported "ConditionHeadersNotSupported" 400 "Condition headers are not supported.";
    MultipleConditionHeadersNotSupported "MultipleConditionHeadersNotSupported" 400 "Multiple condition headers are not supported.";
    HostInformationNotPresent "HostInformationNotPresent" 400 "The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.";
    UnsupportedHttpVerb "UnsupportedHttpVerb" 405 "The resource doesn't support the specified HTTP verb.";
    MissingContentLengthHeader "MissingContentLengthHeader" 411 "The Content-Length header was not specified.";
    RequestBodyTooLarge "RequestBodyTooLarge" 413 "The request body is too large and exceeds the maximum permissible limit.";

    // Credentials and permissions. `MissingCredentials` and `InvalidAuthenticationInfo` share a name: the service
    // answers 401 with a challenge to a request without credentials, and 400 to a malformed Authorization header.
    InvalidAuthenticationInfo "InvalidAuthenticationInfo" 400 "The authentication information was not provided in the correct format. Verify the value of Authorization header.";
    MissingCredentials "InvalidAuthenticationInfo" 401 "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    NoAuthenticationInformation "NoAuthenticationInformation" 401 "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    AuthenticationFailed "AuthenticationFailed" 403 "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    AuthorizationFailure "AuthorizationFailure" 403 "This request is not authorized to perform this operation.";
    AuthorizationServiceMismatch "AuthorizationServiceMismatch" 403 "This request is not authorized to perform this operation using this service.";
    AuthorizationResourceTypeMismatch "AuthorizationResourceTypeMismatch" 403 "This request is not authorized to perform this operation using this resource type.";
    AuthorizationPermissionMismatch "AuthorizationPermissionMismatch" 403 "This request is not authorized to perform this operation using this permission.";
    AuthorizationProtocolMismatch "AuthorizationProtocolMismatch" 403 "This request is not authorized to perform this operation using this protocol.";
    AuthorizationSourceIpMismatch "AuthorizationSourceIPMismatch" 403 "This request is not authorized to perform this operation using this source IP.";
    AccountIsDisabled "AccountIsDisabled" 403 "The specified account is disabled.";
    InsufficientAccountPermissions "InsufficientAccountPermissions" 403 "The account being accessed does not have sufficient permissions to execute this operation.";
    CorsPreflightFailure "CorsPreflightFailure" 403 "CORS not enabled or no matching rule found for this request.";

    // Resources and conditions.
    ResourceNotFound "ResourceNotFound" 404 "The specified resource does not exist.";
    ResourceAlreadyExists "ResourceAlreadyExists" 409 "The specified resource already exists.";
    ResourceTypeMismatch "ResourceTypeMismatch" 409 "The specified resource type does not match the type of the existing resource.";
    AccountBeingCreated "AccountBeingCreated" 409 "The specified account is in the process of being created.";
    ConditionNotMet "ConditionNotMet" 412 "The condition specified using HTTP conditional header(s) is not met.";
    InvalidResourceName "InvalidResourceName" 400 "The specifed resource name contains invalid characters.";

    // Failures of the service. After a 503 the request was not executed; after a 500 the outcome is unknown.
    InternalError "InternalError" 500 "The server encountered an internal error. Please retry the request.";
    OperationTimedOut "OperationTimedOut" 500 "The operation could not be completed within the permitted time.";
    NotImplemented "NotImplemented" 501 "The requested operation is not implemented on the specified resource.";
    ServerBusy "ServerBusy" 503 "The server is busy.";
}

/// The common codes, then the codes of one service: every code that the service can answer, each at its
/// [`ErrorCode::index`]. `COUNT` must be the number of these codes.
pub(crate) const fn all_codes<const COUNT: usize>(own: &[ErrorCode]) -> [ErrorCode; COUNT] {
    assert!(COUNT == COMMON_ERROR_CODES.len() + own.len());
    let mut all = [ErrorCode::InternalError; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = if at < COMMON_ERROR_CODES.len() {
            COMMON_ERROR_CODES[at]
        } else {
            own[at - COMMON_ERROR_CODES.len()]
        };
        at += 1;
    }
    all
}

impl ErrorCode {
    pub(crate) const fn new(description: &'static Description) -> Self {
        Self(description)
    }

    /// The code in answers, such as `TableNotFound`.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The HTTP status, 400 to 599.
    pub const fn status(self) -> u16 {
        self.0.status
    }

    /// The text of failures that do not set a different one.
    pub const fn text(self) -> &'static str {
        self.0.text
    }

    /// The position in the list of all codes of its service, such as [`crate::table::ERROR_CODES`]. Used as the index
    /// into arrays of counts.
    pub const fn index(self) -> usize {
        self.0.index
    }

    /// The code with this name and status among `codes`. A few names have two statuses; without an exact match the
    /// first code with this name is returned.
    pub fn find(codes: &[Self], name: &str, status: u16) -> Option<Self> {
        let named = || codes.iter().filter(|code| code.name() == name);
        let exact = named().find(|code| code.status() == status);
        exact.or_else(|| named().next()).copied()
    }

    /// Whether the code means that the credentials are missing, malformed or wrong.
    pub fn refuses_credentials(self) -> bool {
        matches!(
            self,
            Self::AuthenticationFailed
                | Self::InvalidAuthenticationInfo
                | Self::MissingCredentials
                | Self::NoAuthenticationInformation
                | Self::AccountIsDisabled
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.status())
    }
}
