//! Reads and writes OData JSON (service document "Payload format for Table service operations").

mod double;
mod entity_body;
mod entity_reader;
mod entity_url;
mod entity_writer;
mod limit;
mod page_reader;
mod table_reader;
mod table_writer;
mod typed_value;

pub use entity_body::{EntityBody, write_entity, write_table_name};
pub use entity_reader::{MEMBERS_MAX, read_entity, read_properties};
pub use entity_url::{entity_url, push_entity_path, table_url};
pub use entity_writer::{EntityFormat, EntityWriter};
pub use limit::code_of_limit;
pub use page_reader::{PageReader, RowReader, read_row};
pub use table_reader::read_table_name;
pub use table_writer::TableWriter;
pub use typed_value::{push_value_text, read_value_text};

#[cfg(test)]
mod tests;
