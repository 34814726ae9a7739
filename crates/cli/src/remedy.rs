//! What to do about an error, where its cause is known: the last part of the message of a failed command.

use crate::error::CommandError;
use partita_client::{ConnectionFault, ErrorCode};

/// What the user can change; `None` where the message already says it, or no remedy is known.
pub(crate) fn remedy(error: &CommandError) -> Option<&'static str> {
    // The message of an admin error says what to do if no server answers.
    let is_admin = matches!(error, CommandError::Admin(_));
    let client = error.client_error();
    let fault = match client {
        Some(client) => ConnectionFault::of(client),
        None => ConnectionFault::of(error),
    };
    match fault {
        Some(ConnectionFault::Refused) if is_admin => return None,
        Some(ConnectionFault::Refused) => {
            return Some("is a server running? `partita serve` starts one");
        }
        Some(ConnectionFault::NoTls) => {
            return Some(
                "write http:// instead of https:// in the URL, or DefaultEndpointsProtocol=http in the connection string",
            );
        }
        Some(ConnectionFault::NoHttp) => {
            return Some(
                "if the server has TLS, write https:// instead of http:// in the URL, or DefaultEndpointsProtocol=https in the connection string",
            );
        }
        Some(ConnectionFault::UnknownAuthority) => {
            return Some(
                "name the file of its authority with --ca FILE or SSL_CERT_FILE=FILE; for a server with --tls dev, the server prints the file when it starts",
            );
        }
        _ => {}
    }
    match client?.code()? {
        ErrorCode::AuthenticationFailed => Some(
            "the account name, the key or the signature is wrong, or the clocks of both machines differ by more than 15m; check --account, --key, --sas or the connection string, and compare with `partita connect`",
        ),
        ErrorCode::InvalidResourceName | ErrorCode::OutOfRangeInput => Some(
            "the name of a table has 3 to 63 letters and digits, and begins with a letter; that of a queue has 3 to 63 lower-case letters, digits and single hyphens; a PartitionKey or RowKey has at most 512 characters, and none of / \\ # ?",
        ),
        _ => None,
    }
}
