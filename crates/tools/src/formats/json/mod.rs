//! JSON files: an array of entities, or entities one after the other, with any white space. `partita scan --output
//! json` writes such arrays. The entities have the JSON of [`super::jsonl`].

mod entity;
mod explain;
mod reader;
mod row;

pub use explain::explain_entity;
pub(super) use reader::Reader;
pub(super) use row::{Position, read_row};
