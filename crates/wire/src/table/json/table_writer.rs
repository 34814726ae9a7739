//! Writes a table or a list of tables.
//!
//! Shapes as recorded (gostorage--StorageTableSuite_Test_CreateAndDeleteTable for full metadata,
//! python--test_table_test_list_tables for the list).

use crate::json::push_text;
use crate::table::MetadataLevel;

/// Writes tables of one account in the same form.
#[derive(Debug)]
pub struct TableWriter<'a> {
    level: MetadataLevel,
    base: &'a str,
    account: &'a str,
}

impl<'a> TableWriter<'a> {
    /// A writer for answers at this level. `base` is the account's URL without a trailing slash.
    pub const fn new(level: MetadataLevel, base: &'a str, account: &'a str) -> Self {
        Self {
            level,
            base,
            account,
        }
    }

    /// Appends the beginning of a list.
    pub fn begin_page(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.push_metadata("", out);
        out.extend_from_slice(b"\"value\":[");
    }

    /// Appends one table of a list, after a comma unless it is the `first`.
    pub fn row(&self, first: bool, table: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(if first { b"{" } else { b",{" });
        self.push_members(table, out);
    }

    /// Appends the end of a list.
    pub fn end_page(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"]}");
    }

    /// Appends a table as a complete answer.
    pub fn single(&self, table: &str, out: &mut Vec<u8>) {
        out.push(b'{');
        self.push_metadata("/@Element", out);
        self.push_members(table, out);
    }

    fn push_metadata(&self, suffix: &str, out: &mut Vec<u8>) {
        if self.level > MetadataLevel::None {
            out.extend_from_slice(b"\"odata.metadata\":\"");
            push_text(self.base, out);
            out.extend_from_slice(b"/$metadata#Tables");
            out.extend_from_slice(suffix.as_bytes());
            out.extend_from_slice(b"\",");
        }
    }

    fn push_members(&self, table: &str, out: &mut Vec<u8>) {
        if self.level == MetadataLevel::Full {
            out.extend_from_slice(b"\"odata.type\":\"");
            push_text(self.account, out);
            out.extend_from_slice(b".Tables\",\"odata.id\":\"");
            push_text(self.base, out);
            out.extend_from_slice(b"/Tables('");
            push_text(table, out);
            out.extend_from_slice(b"')\",\"odata.editLink\":\"Tables('");
            push_text(table, out);
            out.extend_from_slice(b"')\",");
        }
        out.extend_from_slice(b"\"TableName\":\"");
        push_text(table, out);
        out.extend_from_slice(b"\"}");
    }
}
