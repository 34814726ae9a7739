//! Answers the requests of other servers for rows: of the catalog, and for background work.

use std::sync::Arc;

use bytes::Bytes;
use partita_peer::rows::{
    ExpectedRow, RowsAction, RowsAnswer, RowsRequest, decode_changes, encode_rows,
};
use partita_peer::{self as peer, Refuse};
use partita_service::{Busy, Error, Expected, FarWrite, Storage};

use crate::forwarding::{GATE_PATIENCE, Membership};

/// The most bytes of the changes of a write.
const CHANGES_BYTES_MAX: usize = 64 << 20;

/// Answers a request for rows. The answer passes the gate of the lease, like that to a client.
pub(super) async fn answer(
    membership: &Arc<Membership>,
    head: &Bytes,
    body: peer::Body,
) -> peer::Outcome {
    let request = RowsRequest::decode(head).map_err(|error| {
        tracing::warn!(%error, "a peer sent a malformed request for rows");
        Refuse
    })?;
    let hosted = match membership.hosted_range(request.range) {
        Ok(hosted) => hosted,
        Err(newest) => return reply(&RowsAnswer::NotHere(newest), Bytes::new()),
    };
    let storage = hosted.tables.storage();
    let is_write = matches!(request.action, RowsAction::Write);
    let executed = execute(storage, &request.action, head, body).await;
    let is_open = hosted.gate.is_open() || hosted.gate.opened(GATE_PATIENCE).await;
    if !is_open {
        // Another server may have changed the rows since.
        let closed = match is_write {
            true => RowsAnswer::Unknown,
            false => RowsAnswer::NotHere(request.tenure),
        };
        return reply(&closed, Bytes::new());
    }
    match executed {
        Ok(Executed::Row(row, lease_us)) => {
            let exists = row.is_some();
            let head = RowsAnswer::Row { exists, lease_us };
            reply(&head, row.unwrap_or_default())
        }
        Ok(Executed::Page(rows, next)) => {
            let next = next.as_deref();
            reply(&RowsAnswer::Page { next }, rows)
        }
        Ok(Executed::Written(done)) => reply(&RowsAnswer::Written(done), Bytes::new()),
        Err(error) => refusal(&error),
    }
}

enum Executed {
    Row(Option<Bytes>, u64),
    Page(Bytes, Option<Bytes>),
    Written(bool),
}

async fn execute(
    storage: &Storage,
    action: &RowsAction<'_>,
    head: &Bytes,
    body: peer::Body,
) -> Result<Executed, Error> {
    Ok(match action {
        RowsAction::Get { key } => Executed::Row(storage.serve_get(&head.slice_ref(key)).await?, 0),
        RowsAction::Lease { key } => {
            let leased = storage.serve_lease(&head.slice_ref(key)).await?;
            let micros = u64::try_from(leased.time.as_micros()).unwrap_or(u64::MAX);
            Executed::Row(leased.row, micros)
        }
        RowsAction::Scan {
            start,
            end,
            rows_max,
            bytes_max,
        } => {
            let keys = head.slice_ref(start)..head.slice_ref(end);
            let page = storage
                .serve_scan(keys, *rows_max as usize, *bytes_max as usize)
                .await?;
            let rows = encode_rows(page.rows.iter());
            Executed::Page(rows, page.next)
        }
        RowsAction::Write => {
            let body = body.collect(CHANGES_BYTES_MAX).await;
            let body = body.map_err(|_| Busy::in_transit("the body did not arrive"))?;
            let changes = decode_changes(&body).map_err(|_| Error::TooLarge)?;
            let changes = changes.into_iter().map(|change| FarWrite {
                key: change.key,
                expected: match change.expected {
                    ExpectedRow::Any => Expected::Any,
                    ExpectedRow::Absent => Expected::Absent,
                    ExpectedRow::Row(row) => Expected::Row(row),
                },
                row: change.row,
            });
            Executed::Written(storage.serve_write(changes.collect()).await?)
        }
    })
}

fn refusal(error: &Error) -> peer::Outcome {
    let detail = error.to_string();
    let head = match error {
        Error::Busy(busy) => RowsAnswer::Busy {
            reason: busy.reason.as_str(),
            detail: &busy.detail,
        },
        Error::TooLarge => RowsAnswer::TooLarge,
        Error::OutcomeUnknown => RowsAnswer::Unknown,
        Error::Corrupt(_) => RowsAnswer::Corrupt(&detail),
    };
    reply(&head, Bytes::new())
}

fn reply(head: &RowsAnswer<'_>, body: Bytes) -> peer::Outcome {
    Ok(peer::Reply {
        head: head.encode(),
        body: vec![body],
    })
}
