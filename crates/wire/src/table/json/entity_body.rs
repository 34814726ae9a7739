//! Writes the bodies that clients send: an entity, or the name of a new table. [`super::read_entity`] reads them.

use super::entity_writer::push_property;
use crate::json::{push_string, push_text};
use partita_model::{PropertyRef, ValueRef, is_plain};

/// Writes an entity property by property, for callers without a list of properties.
///
/// Types that JSON does not imply are annotated, so that a server stores every value unchanged, except minus zero,
/// which the service stores as zero. Doubles are always annotated, because Azurite reads `5.0` as an integer. Names and
/// texts are escaped but not checked.
#[derive(Debug)]
pub struct EntityBody<'o>(&'o mut Vec<u8>);

impl<'o> EntityBody<'o> {
    /// Begins an entity at the end of `out`.
    pub fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self(out)
    }

    /// Appends a property. PartitionKey and RowKey are appended as properties of type String.
    #[inline]
    pub fn property(&mut self, name: &str, value: ValueRef<'_>) {
        let plain = matches!(value, ValueRef::String(text) if is_plain(text));
        if let ValueRef::Double(value) = value
            && value.is_finite()
        {
            self.0.push(b'"');
            push_text(name, self.0);
            self.0.extend_from_slice(b"@odata.type\":\"Edm.Double\",");
        }
        if is_plain(name) {
            push_property(&PropertyRef { name, value, plain }, true, self.0);
        } else {
            let mut escaped = Vec::with_capacity(name.len() + 8);
            push_text(name, &mut escaped);
            let name = &String::from_utf8_lossy(&escaped);
            push_property(&PropertyRef { name, value, plain }, true, self.0);
        }
    }

    /// Ends the entity.
    pub fn end(self) {
        // The brace replaces the last comma.
        match self.0.last_mut() {
            Some(last) if *last == b',' => *last = b'}',
            _ => self.0.push(b'}'),
        }
    }
}

/// Appends an entity as the body of an insert, update or merge, as [`EntityBody`] writes it.
pub fn write_entity<'e>(
    partition_key: &str,
    row_key: &str,
    properties: impl IntoIterator<Item = (&'e str, ValueRef<'e>)>,
    out: &mut Vec<u8>,
) {
    let mut body = EntityBody::begin(out);
    body.property("PartitionKey", ValueRef::String(partition_key));
    body.property("RowKey", ValueRef::String(row_key));
    for (name, value) in properties {
        body.property(name, value);
    }
    body.end();
}

/// Appends the body of Create Table.
pub fn write_table_name(table: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"TableName\":");
    push_string(table, is_plain(table), out);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{
        PageReader, push_value_text, read_entity, read_row, read_table_name, read_value_text,
    };
    use crate::testing::{any_value, stored};
    use partita_model::{DateTime, Value};
    use proptest::prelude::*;

    type Model = Vec<(String, Value)>;

    fn model() -> impl Strategy<Value = Model> {
        proptest::collection::btree_map("[a-cA-C_][a-c0-9]{0,2}", any_value(), 0..12)
            .prop_map(|map| map.into_iter().collect())
    }

    fn body(partition_key: &str, row_key: &str, model: &Model) -> Vec<u8> {
        let mut out = Vec::new();
        let properties = model
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_ref()));
        write_entity(partition_key, row_key, properties, &mut out);
        out
    }

    fn listed(row: crate::table::RowReader<'_, '_>) -> Result<Model, crate::Failure> {
        let mut model = Model::new();
        row.properties(|_, name, value| model.push((name.to_owned(), value.to_value())))?;
        Ok(model)
    }

    #[test]
    fn names_are_escaped() {
        let model = vec![("a\":1,\"b".to_owned(), Value::Int64(5))];
        let text = String::from_utf8(body("p", "r", &model)).unwrap();
        assert_eq!(
            text,
            "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"a\\\":1,\\\"b@odata.type\":\"Edm.Int64\",\"a\\\":1,\\\"b\":\"5\"}"
        );
    }

    #[test]
    fn an_entity_without_members() {
        let mut out = b"x".to_vec();
        EntityBody::begin(&mut out).end();
        assert_eq!(out, b"x{}");
    }

    #[test]
    fn doubles_are_annotated() {
        let model = vec![
            ("D".to_owned(), Value::Double(5.0)),
            ("N".to_owned(), Value::Double(f64::NAN)),
        ];
        let text = String::from_utf8(body("", "", &model)).unwrap();
        assert_eq!(
            text,
            "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"D@odata.type\":\"Edm.Double\",\"D\":5.0,\
             \"N@odata.type\":\"Edm.Double\",\"N\":\"NaN\"}"
        );
    }

    #[test]
    fn a_page_is_read_to_its_end() {
        let body = br#"{"odata.metadata":"x","value":[
            {"odata.etag":"W/\"e\"","PartitionKey":"p","RowKey":"r","Timestamp":"2024-01-02T03:04:05Z","A":1,"B":null},
            {"C@odata.type":"Edm.Int64","C":"7"} ],"after":[1]}"#;
        let mut page = PageReader::new(body).unwrap();
        let row = page.next_row().unwrap().unwrap();
        assert_eq!(row.etag().unwrap().unwrap(), "W/\"e\"");
        assert_eq!(row.partition_key().unwrap().unwrap(), "p");
        assert_eq!(row.row_key().unwrap().unwrap(), "r");
        let time = DateTime::parse("2024-01-02T03:04:05Z").unwrap();
        assert_eq!(row.timestamp().unwrap(), Some(time));
        assert_eq!(listed(row).unwrap(), [("A".to_owned(), Value::Int32(1))]);
        let row = page.next_row().unwrap().unwrap();
        assert_eq!(
            row.source(),
            r#"{"C@odata.type":"Edm.Int64","C":"7"}"#,
            "the source must be only the row"
        );
        assert_eq!(row.etag().unwrap(), None);
        assert_eq!(row.partition_key().unwrap(), None);
        assert_eq!(row.timestamp().unwrap(), None);
        assert_eq!(listed(row).unwrap(), [("C".to_owned(), Value::Int64(7))]);
        assert!(page.next_row().unwrap().is_none());
        assert!(page.next_row().unwrap().is_none());
    }

    #[test]
    fn a_page_cut_short_is_refused() {
        let whole = br#"{"value":[{"A":1},{"B":"x"}]}"#;
        let rows = |body: &[u8]| {
            let mut page = PageReader::new(body)?;
            let mut count = 0;
            while page.next_row()?.is_some() {
                count += 1;
            }
            Ok::<_, crate::Failure>(count)
        };
        assert_eq!(rows(whole), Ok(2));
        assert_eq!(rows(br#"{"value":[]}"#), Ok(0));
        for length in 0..whole.len() {
            assert!(rows(&whole[..length]).is_err(), "{length}");
        }
        assert!(rows(br#"{"value":[{"A":1}{"A":1}]}"#).is_err());
        assert!(rows(br#"{"other":[]}"#).is_err());
    }

    proptest! {
        #[test]
        fn server_and_client_read_written_entities(partition_key: String, row_key: String, model in model()) {
            let body = body(&partition_key, &row_key, &model);
            let draft = read_entity(&body).unwrap();
            prop_assert_eq!(draft.partition_key.as_deref(), Some(&*partition_key));
            prop_assert_eq!(draft.row_key.as_deref(), Some(&*row_key));
            prop_assert_eq!(draft.properties, stored(model.iter().map(|(name, value)| (name, value))));
            let read = read_row(&body, |row| {
                assert_eq!(row.partition_key()?.as_deref(), Some(&*partition_key));
                assert_eq!(row.row_key()?.as_deref(), Some(&*row_key));
                listed(row)
            }).unwrap();
            // Debug text, because NaN differs from itself.
            prop_assert_eq!(format!("{read:?}"), format!("{model:?}"));
        }

        #[test]
        fn a_value_is_read_back_from_its_text(value in any_value()) {
            let mut text = String::new();
            push_value_text(value.as_ref(), &mut text);
            let read = read_value_text(value.edm_type(), &text).unwrap();
            prop_assert_eq!(format!("{read:?}"), format!("{value:?}"));
        }

        #[test]
        fn a_table_name_is_read_back(name: String) {
            let mut out = Vec::new();
            write_table_name(&name, &mut out);
            prop_assert_eq!(read_table_name(&out).unwrap(), name);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:a0-9]{0,40}") {
            let body = format!("{{\"value\":[{text}");
            if let Ok(mut page) = PageReader::new(body.as_bytes()) {
                while let Ok(Some(row)) = page.next_row() {
                    let _ = row.properties(|_, _, _| {});
                }
            }
        }
    }
}
