use std::collections::HashSet;

use clap::ValueEnum;

use super::*;

fn source(kind: WorkloadKind) -> Workload {
    let addr = SocketAddr::from(([127, 0, 0, 1], 10_002));
    Workload::new(kind, &Account::well_known(), addr, 3).for_thread(1)
}

fn requests(kind: WorkloadKind, count: usize) -> Vec<String> {
    let mut source = source(kind);
    let mut slot = Vec::new();
    let mut fill = || {
        source.fill(&mut slot);
        String::from_utf8(slot.clone()).unwrap()
    };
    (0..count).map(|_| fill()).collect()
}

/// Whether the signature of a request matches its date and path.
fn signature_is_right(request: &str) -> bool {
    let header = |name: &str| {
        let prefix = format!("{name}: ");
        let head = request.split("\r\n\r\n").next().unwrap_or_default();
        head.split("\r\n")
            .find_map(|line| line.strip_prefix(&prefix))
            .unwrap_or_default()
            .to_owned()
    };
    let mut line = request.split(' ');
    let (method, target) = (line.next().unwrap(), line.next().unwrap());
    let path = target.split('?').next().unwrap();
    let signature =
        Account::well_known().sign(method, &header("Content-Type"), &header("x-ms-date"), path);
    header("Authorization") == format!("SharedKey devstoreaccount1:{signature}")
}

#[test]
fn every_request_is_signed_and_has_its_length() {
    for &kind in WorkloadKind::value_variants() {
        for request in requests(kind, 3) {
            assert!(signature_is_right(&request), "{request}");
            assert!(
                !request.contains('?') || kind == WorkloadKind::Page,
                "{request}"
            );
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let announced = head
                .split("\r\n")
                .find_map(|line| line.strip_prefix("Content-Length: "))
                .map_or(0, |text| text.parse().unwrap());
            assert_eq!(body.len(), announced);
        }
    }
}

#[test]
fn signing_again_keeps_the_request_valid() {
    let mut source = source(WorkloadKind::Batch);
    let mut slot = Vec::new();
    source.fill(&mut slot);
    source.refresh();
    source.fill(&mut slot);
    assert!(signature_is_right(std::str::from_utf8(&slot).unwrap()));
}

fn row_keys(request: &str) -> Vec<String> {
    request
        .split(r#""RowKey":""#)
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn rows_never_repeat_and_a_batch_has_one_partition() {
    let mut seen = HashSet::new();
    for kind in [WorkloadKind::InsertMany, WorkloadKind::Batch] {
        for request in requests(kind, 50) {
            let keys = row_keys(&request);
            assert_eq!(keys.len() as u64, kind.entities());
            if kind == WorkloadKind::Batch {
                seen.extend(keys);
            }
            let partitions: HashSet<&str> = request
                .split(r#""PartitionKey":""#)
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap())
                .collect();
            assert_eq!(partitions.len(), 1);
        }
    }
    assert_eq!(seen.len(), 50 * 100);
}

#[test]
fn a_batch_names_its_table_in_every_part() {
    let request = requests(WorkloadKind::Batch, 1).remove(0);
    assert_eq!(
        request
            .matches("/devstoreaccount1/benchbatch HTTP/1.1")
            .count(),
        100
    );
    assert_eq!(request.matches("changeset_").count(), 102);
}
