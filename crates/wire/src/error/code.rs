//! Every error code that the service can answer, with its status and its text.
//!
//! Sources: service documents "Common REST API Error Codes", "Table Service Error Codes" and "SAS Error Codes"; texts in
//! the words of the recorded answers where there are any, spelling slips included.

use std::fmt;

/// Declares the enum and its total mapping in one table, so that a code without a status or text does not compile.
macro_rules! codes {
    ($($variant:ident $name:literal $status:literal $text:literal;)+) => {
        /// A storage error code. The documentation of each variant is the text that goes with it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $text] $variant,)+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code as the client reads it, such as `TableNotFound`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The HTTP status, 400 to 599.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// The text of the code where nothing more exact is known.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

codes! {
    // The request as such.
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
    XMethodNotUsingPost "XMethodNotUsingPost" 400 "The request uses X-HTTP-Method with a verb other than POST.";
    XMethodIncorrectCount "XMethodIncorrectCount" 400 "More than one X-HTTP-Method is specified.";
    XMethodIncorrectValue "XMethodIncorrectValue" 400 "The specified X-HTTP-Method is invalid.";
    MethodNotAllowed "MethodNotAllowed" 405 "The requested method is not allowed on the specified resource.";
    UnsupportedHttpVerb "UnsupportedHttpVerb" 405 "The resource doesn't support the specified HTTP verb.";
    MissingContentLengthHeader "MissingContentLengthHeader" 411 "The Content-Length header was not specified.";
    RequestBodyTooLarge "RequestBodyTooLarge" 413 "The request body is too large and exceeds the maximum permissible limit.";
    ContentLengthExceeded "ContentLengthExceeded" 413 "The content length for the requested operation has exceeded the limit.";
    MediaTypeNotSupported "MediaTypeNotSupported" 415 "None of the provided media types are supported";
    JsonFormatNotSupported "JsonFormatNotSupported" 415 "JSON format is not supported.";
    AtomFormatNotSupported "AtomFormatNotSupported" 415 "Atom format is not supported.";
    JsonVerboseFormatNotSupported "JsonVerboseFormatNotSupported" 415 "JSON Verbose format is not supported.";

    // Who asks. `MissingCredentials` and `InvalidAuthenticationInfo` share a name: the service answers 401 with a challenge
    // to a request without credentials, and 400 to an Authorization header that does not parse.
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

    // Tables and entities.
    TableNotFound "TableNotFound" 404 "The table specified does not exist.";
    TableAlreadyExists "TableAlreadyExists" 409 "The table specified already exists.";
    TableBeingDeleted "TableBeingDeleted" 409 "The specified table is being deleted. Try operation later.";
    ResourceNotFound "ResourceNotFound" 404 "The specified resource does not exist.";
    EntityNotFound "EntityNotFound" 404 "The entity to update was not found.";
    EntityAlreadyExists "EntityAlreadyExists" 409 "The specified entity already exists.";
    ResourceAlreadyExists "ResourceAlreadyExists" 409 "The specified resource already exists.";
    ResourceTypeMismatch "ResourceTypeMismatch" 409 "The specified resource type does not match the type of the existing resource.";
    AccountBeingCreated "AccountBeingCreated" 409 "The specified account is in the process of being created.";
    UpdateConditionNotSatisfied "UpdateConditionNotSatisfied" 412 "The update condition specified in the request was not satisfied.";
    ConditionNotMet "ConditionNotMet" 412 "The condition specified using HTTP conditional header(s) is not met.";
    InvalidResourceName "InvalidResourceName" 400 "The specifed resource name contains invalid characters.";
    PropertiesNeedValue "PropertiesNeedValue" 400 "The values are not specified for all properties in the entity.";
    PropertyNameInvalid "PropertyNameInvalid" 400 "The property name is invalid.";
    PropertyNameTooLong "PropertyNameTooLong" 400 "The property name exceeds the maximum allowed length (255).";
    PropertyValueTooLarge "PropertyValueTooLarge" 400 "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
    KeyValueTooLarge "KeyValueTooLarge" 400 "The specified key value exceeds the maximum allowed size.";
    TooManyProperties "TooManyProperties" 400 "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.";
    EntityTooLarge "EntityTooLarge" 400 "The entity is larger than the maximum allowed size (1MB).";
    DuplicatePropertiesSpecified "DuplicatePropertiesSpecified" 400 "A property is specified more than one time.";
    DuplicateKeyPropertySpecified "DuplicateKeyPropertySpecified" 400 "A key property is specified more than one time.";
    PartitionKeyNotSpecified "PartitionKeyNotSpecified" 400 "The required property 'PartitionKey' is not specified.";
    PartitionKeyPropertyCannotBeUpdated "PartitionKeyPropertyCannotBeUpdated" 400 "The partition key property cannot be updated.";
    PrimaryKeyPropertyIsInvalidType "PrimaryKeyPropertyIsInvalidType" 400 "The primary key property is an invalid type.";
    InvalidValueType "InvalidValueType" 400 "The value specified is invalid.";
    OperatorInvalid "OperatorInvalid" 400 "Invalid operator.";
    TableHasNoProperties "TableHasNoProperties" 400 "The specified table has no properties.";
    TableHasNoSuchProperty "TableHasNoSuchProperty" 400 "The specified table has no such property.";

    // Batches.
    InvalidDuplicateRow "InvalidDuplicateRow" 400 "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    CommandsInBatchActOnDifferentPartitions "CommandsInBatchActOnDifferentPartitions" 400 "All commands in a batch must operate on same entity group.";
    BatchOperationNotSupported "BatchOperationNotSupported" 400 "The operation is not supported in a batch request.";

    // The service itself. 503 says that nothing was executed; 500 leaves that open.
    InternalError "InternalError" 500 "The server encountered an internal error. Please retry the request.";
    OperationTimedOut "OperationTimedOut" 500 "The operation could not be completed within the permitted time.";
    TableServerOutOfMemory "TableServerOutOfMemory" 500 "The table server is out of memory.";
    NotImplemented "NotImplemented" 501 "The requested operation is not implemented on the specified resource.";
    ServerBusy "ServerBusy" 503 "The server is busy.";
}

impl ErrorCode {
    /// The code of that name and status, if it is known here. A few names have two statuses; without a match the first one
    /// of the name counts.
    #[must_use]
    pub fn from_name(name: &str, status: u16) -> Option<Self> {
        let named = |code: &&Self| code.name() == name;
        let exact = Self::ALL
            .iter()
            .filter(named)
            .find(|code| code.status() == status);
        exact.or_else(|| Self::ALL.iter().find(named)).copied()
    }

    /// Whether it says who is asking is not known, or not believed.
    #[must_use]
    pub const fn refuses_credentials(self) -> bool {
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
