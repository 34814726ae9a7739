//! A URL below a table, such as `/name/Tables`. Clients request it if their endpoint contains a table's name.
//!
//! No operation is performed. The answers for a missing table, for `Tables` and for `Tables('other')` are recorded
//! (azure-sdk-for-python, test_table_client and test_table_service_properties
//! test_client_with_url_ends_with_table_name).

use super::{AuthorizedRequest, Call, Outcome, Refused, changes, failure, find_table};
use partita_wire::ErrorCode;
use partita_wire::table::{Operation, invalid_path};

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    has_one_key: bool,
) -> Outcome {
    let table = find_table(call, request, request.table()).await?;
    let refused: Refused = match request.operation {
        Operation::QueryEntities => ErrorCode::NotImplemented.into(),
        // Clients send the body of Create Table, without the keys of an entity, so reading it as an entity fails.
        Operation::InsertEntity => {
            let read = changes::insert(&request.body);
            read.err().unwrap_or_else(invalid_path).into()
        }
        Operation::DeleteEntity if has_one_key => {
            failure::one_key(request.account.name.as_str(), &table.name).into()
        }
        _ => invalid_path().into(),
    };
    Err(refused)
}
