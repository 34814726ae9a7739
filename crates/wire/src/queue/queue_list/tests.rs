use super::*;
use crate::Query;
use proptest::prelude::*;

const HEAD: &str = "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>";
const BASE: &str = "http://127.0.0.1:10001/acct";

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    let mut metadata = Metadata::default();
    for (name, value) in pairs {
        metadata.add(name, value).unwrap();
    }
    metadata
}

fn written(query: &str, version: &str, queues: &[(&str, Metadata)], next: Option<&str>) -> String {
    let parameters = ListParameters::parse(Query::new(query), "acct").unwrap();
    let writer = QueueListWriter {
        base: BASE,
        account: "acct",
        parameters: &parameters,
        version: Version::parse(version).unwrap(),
    };
    let mut out = Vec::new();
    let queues = queues.iter().map(|(name, metadata)| (*name, metadata));
    writer.write(queues, next, &mut out);
    String::from_utf8(out).unwrap()
}

fn body(inner: &str) -> String {
    format!("{HEAD}<EnumerationResults ServiceEndpoint=\"{BASE}/\">{inner}</EnumerationResults>")
}

/// Recordings python--test_queue_test_list_queues, js--queueserviceclient_listqueues_with_all_parameters and
/// storagepython2016--test_queue_test_list_queues_with_options.
#[test]
fn bodies_equal_those_of_the_service() {
    let queues = [
        ("queue1", metadata(&[("val1", "foo"), ("val2", "a&b")])),
        ("queue2", metadata(&[])),
    ];
    for version in ["2015-04-05", "2018-03-28", "2020-04-08"] {
        assert_eq!(
            written("comp=list", version, &queues, None),
            body(
                "<Queues><Queue><Name>queue1</Name></Queue><Queue><Name>queue2</Name></Queue></Queues><NextMarker />"
            )
        );
    }
    assert_eq!(
        written(
            "comp=list&prefix=queue&maxresults=2&include=metadata",
            "2020-04-08",
            &queues,
            Some("queue3")
        ),
        body(
            "<Prefix>queue</Prefix><MaxResults>2</MaxResults><Queues><Queue><Name>queue1</Name><Metadata><val1>foo</val1>\
             <val2>a&amp;b</val2></Metadata></Queue><Queue><Name>queue2</Name><Metadata /></Queue></Queues>\
             <NextMarker>/acct/queue3</NextMarker>"
        )
    );
    assert_eq!(
        written("marker=%2Facct%2Fqueue3&comp=list", "2018-03-28", &[], None),
        body("<Marker>/acct/queue3</Marker><Queues /><NextMarker />")
    );
}

/// The form in the service document "List Queues".
#[test]
fn old_versions_have_urls() {
    let expected = format!(
        "{HEAD}<EnumerationResults AccountName=\"{BASE}/\"><Queues><Queue><Name>queue1</Name>\
         <Url>{BASE}/queue1</Url></Queue></Queues><NextMarker /></EnumerationResults>"
    );
    let queues = [("queue1", metadata(&[]))];
    assert_eq!(written("", "2012-02-12", &queues, None), expected);
}

#[test]
fn other_bodies_are_refused() {
    for bad in [
        "<Queues/>",
        "<EnumerationResults/>",
        "<EnumerationResults><Queues><Queue/></Queues></EnumerationResults>",
        "<EnumerationResults><Queues/><Queues/></EnumerationResults>",
        "<EnumerationResults><Queues><Queue><Name>a</Name><Metadata><a/><A/></Metadata></Queue></Queues></EnumerationResults>",
    ] {
        assert!(read_queue_list(bad.as_bytes()).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn lists_round_trip(
        names in proptest::collection::vec("[a-z0-9]{3,8}", 0..6),
        pairs in proptest::collection::btree_map("[a-z_][a-z0-9_]{0,5}", "[ -~]{0,9}", 0..4),
        next in proptest::option::of("[a-z]{3,9}"),
    ) {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let queues: Vec<_> = names.iter().map(|name| (name.as_str(), metadata(&pairs))).collect();
        let body = written("include=metadata", "2019-02-02", &queues, next.as_deref());
        let listed = queues.iter().map(|(name, metadata)| ListedQueue {
            name: (*name).to_owned(),
            metadata: metadata.clone(),
        });
        let expected = QueueList {
            queues: listed.collect(),
            next_marker: next.map(|next| write_marker("acct", &next)),
        };
        prop_assert_eq!(read_queue_list(body.as_bytes()), Ok(expected));
    }

    #[test]
    fn any_body_is_read_or_refused(bytes: Vec<u8>, shaped in "(</?(EnumerationResults|Queues|Queue|Name|Metadata)/?>|[a-z ]){0,12}") {
        for body in [&bytes[..], shaped.as_bytes()] {
            let _ = read_queue_list(body);
        }
    }
}
