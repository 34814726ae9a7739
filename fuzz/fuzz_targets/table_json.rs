//! Fuzzes the JSON that creates a table.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_wire::table::read_table_name;

fuzz_target!(|data: &[u8]| {
    let _ = read_table_name(data);
});
