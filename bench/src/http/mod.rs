//! Just enough of HTTP/1.1 to read answers: the head's status and length, and a body reader that steps over content
//! without looking at it.

mod body;
mod head;

pub(crate) use body::BodyReader;
pub(crate) use head::{Head, find_header};
