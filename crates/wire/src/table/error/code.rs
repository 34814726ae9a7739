//! The error codes that only the Table service uses, and the list of all codes that it can answer.
//!
//! Sources: service document "Table Service Error Codes"; texts are copied from recorded answers if available,
//! including their spelling mistakes.

use crate::error::{COMMON_ERROR_CODES, all_codes, error_codes};
use crate::{ErrorCode, Failure};

error_codes! {
    /// The codes that only the Table service uses.
    OWN_ERROR_CODES after COMMON_ERROR_CODES.len();

    // Malformed requests.
    MethodNotAllowed "MethodNotAllowed" 405 "The requested method is not allowed on the specified resource.";
    XMethodNotUsingPost "XMethodNotUsingPost" 400 "The request uses X-HTTP-Method with a verb other than POST.";
    XMethodIncorrectCount "XMethodIncorrectCount" 400 "More than one X-HTTP-Method is specified.";
    XMethodIncorrectValue "XMethodIncorrectValue" 400 "The specified X-HTTP-Method is invalid.";
    ContentLengthExceeded "ContentLengthExceeded" 413 "The content length for the requested operation has exceeded the limit.";
    MediaTypeNotSupported "MediaTypeNotSupported" 415 "None of the provided media types are supported";
    JsonFormatNotSupported "JsonFormatNotSupported" 415 "JSON format is not supported.";
    AtomFormatNotSupported "AtomFormatNotSupported" 415 "Atom format is not supported.";
    JsonVerboseFormatNotSupported "JsonVerboseFormatNotSupported" 415 "JSON Verbose format is not supported.";

    // Tables and entities.
    TableNotFound "TableNotFound" 404 "The table specified does not exist.";
    TableAlreadyExists "TableAlreadyExists" 409 "The table specified already exists.";
    TableBeingDeleted "TableBeingDeleted" 409 "The specified table is being deleted. Try operation later.";
    EntityNotFound "EntityNotFound" 404 "The entity to update was not found.";
    EntityAlreadyExists "EntityAlreadyExists" 409 "The specified entity already exists.";
    UpdateConditionNotSatisfied "UpdateConditionNotSatisfied" 412 "The update condition specified in the request was not satisfied.";
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

    // Failures of the service.
    TableServerOutOfMemory "TableServerOutOfMemory" 500 "The table server is out of memory.";
}

const COUNT: usize = COMMON_ERROR_CODES.len() + OWN_ERROR_CODES.len();

/// Every code that the Table service can answer, each at its [`ErrorCode::index`].
pub const ERROR_CODES: &[ErrorCode; COUNT] = &all_codes(OWN_ERROR_CODES);

/// 405 MethodNotAllowed, with the methods that are allowed.
pub(crate) fn method_not_allowed(allow: &'static str) -> Failure {
    let mut failure = Failure::new(ErrorCode::MethodNotAllowed);
    failure.allow = Some(allow);
    failure
}
