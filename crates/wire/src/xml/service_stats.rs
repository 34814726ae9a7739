//! Service stats (service document "Get Table Service Stats").

use super::element::{write_declaration, write_end, write_start, write_text};
use crate::HttpDate;
use partita_model::DateTime;

/// Appends the body of Get Table Service Stats. The secondary is this very server, so it is live and in step; the time is
/// until when it is.
pub fn write_service_stats(last_sync: DateTime, out: &mut Vec<u8>) {
    write_declaration(out);
    write_start("StorageServiceStats", out);
    write_start("GeoReplication", out);
    write_text("Status", "live", out);
    write_text("LastSyncTime", &HttpDate::new(last_sync), out);
    write_end("GeoReplication", out);
    write_end("StorageServiceStats", out);
}
