//! Service stats of any service (service document "Get Table Service Stats").

use super::element::{Element, invalid, write_declaration, write_end, write_start, write_text};
use crate::{Failure, http_date, parse_http_date};
use partita_model::DateTime;

/// Appends the body with service stats. The secondary endpoint is on the same server, so it is always live.
pub fn write_service_stats(last_sync: DateTime, out: &mut Vec<u8>) {
    write_declaration(out);
    write_start("StorageServiceStats", out);
    write_start("GeoReplication", out);
    write_text("Status", "live", out);
    write_text("LastSyncTime", &http_date(last_sync), out);
    write_end("GeoReplication", out);
    write_end("StorageServiceStats", out);
}

/// The state of the secondary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoReplication {
    /// `live`, `bootstrap` or `unavailable`.
    pub status: String,
    /// The secondary has every write before this time; `None` unless it is live.
    pub last_sync: Option<DateTime>,
}

/// Reads the body with service stats.
///
/// # Errors
/// 400 InvalidXmlDocument.
pub fn read_service_stats(body: &[u8]) -> Result<GeoReplication, Failure> {
    let root = Element::parse(body, "StorageServiceStats")?;
    let replication = root.child("GeoReplication")?.ok_or_else(invalid)?;
    let time = replication.text_of("LastSyncTime")?.unwrap_or_default();
    Ok(GeoReplication {
        status: replication
            .text_of("Status")?
            .ok_or_else(invalid)?
            .to_owned(),
        last_sync: parse_http_date(time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_are_read_as_written() {
        let at = DateTime::parse("2024-01-02T03:04:05Z").unwrap();
        let mut out = Vec::new();
        write_service_stats(at, &mut out);
        let read = read_service_stats(&out).unwrap();
        let live = GeoReplication {
            status: "live".to_owned(),
            last_sync: Some(at),
        };
        assert_eq!(read, live);
        let none = b"<StorageServiceStats><GeoReplication><Status>unavailable</Status><LastSyncTime/></GeoReplication></StorageServiceStats>";
        assert_eq!(read_service_stats(none).unwrap().last_sync, None);
        assert!(read_service_stats(b"<StorageServiceStats/>").is_err());
    }
}
