//! Fuzzes the objects of a log in an object store. Checks that damaged objects are refused without a panic.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_wal::remote::read_untrusted;

/// Bytes of the header, the last of which are its checksum.
const HEADER_BYTES: usize = 64;

/// Sets the checksum at the end of `bytes`.
fn repair(bytes: &mut [u8]) {
    if let Some((content, crc)) = bytes.split_last_chunk_mut::<4>() {
        *crc = crc32fast::hash(content).to_le_bytes();
    }
}

fuzz_target!(|data: &[u8]| {
    read_untrusted(&Bytes::copy_from_slice(data));
    // With correct checksums of the header and the object, the input reaches the table of parts.
    let mut repaired = data.to_vec();
    if let Some(header) = repaired.get_mut(..HEADER_BYTES) {
        repair(header);
    }
    repair(&mut repaired);
    read_untrusted(&repaired.into());
});
