use super::*;

fn life(id: u64) -> Life {
    Life(LeaseId(id))
}

fn serving() -> RangeRecord {
    RangeRecord {
        shape: RangeShape {
            epoch: 3,
            start: vec![0, 0xff],
            end: None,
        },
        state: RangeState::Serving {
            owner: Owner {
                name: "a:10011".to_owned(),
                life: life(0x12ab),
            },
            assigned: Some(41),
        },
        logs: vec![LogNumber(0x34cd)],
    }
}

/// The format is stored: a change of this text needs another format version.
#[test]
fn the_bytes_of_a_range_are_stable() {
    let bytes = encode(&serving());
    let text = r#"{"format":1,"epoch":3,"start":"AP8=","state":"serving","owner":{"name":"a:10011","life":"00000000000012ab"},"assigned":41,"logs":["00000000000034cd"]}"#;
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), text);
    assert_eq!(
        decode::<RangeRecord>("ranges/7", text.as_bytes()),
        Ok(serving())
    );
}

#[test]
fn every_record_is_read_back() {
    let released = RangeRecord {
        shape: RangeShape {
            end: Some(vec![7]),
            ..serving().shape
        },
        state: RangeState::Released,
        logs: Vec::new(),
    };
    assert_eq!(decode("k", &encode(&released)), Ok(released));
    let server = ServerRecord {
        life: life(u64::MAX),
        lease_ms: 2000,
        info: ServerInfo {
            addresses: [("peer".to_owned(), "10.0.0.1:10011".to_owned())].into(),
            speaks: [("rpc".to_owned(), [1, 2])].into(),
            zone: Some("z".to_owned()),
            draining: true,
            log: Some(LogNumber(1)),
            ..ServerInfo::default()
        },
    };
    assert_eq!(decode("k", &encode(&server)), Ok(server));
    let manager = ManagerRecord {
        owner: Owner {
            name: "b".to_owned(),
            life: life(5),
        },
    };
    assert_eq!(decode("k", &encode(&manager)), Ok(manager));
    for next in [None, Some(ClusterVersion(2))] {
        let version = VersionRecord {
            active: ClusterVersion(1),
            next,
        };
        assert_eq!(decode("k", &encode(&version)), Ok(version));
    }
    assert_eq!(
        decode("k", &encode(&MapRecord { version: 9 })),
        Ok(MapRecord { version: 9 })
    );
}

#[test]
fn another_format_and_damage_are_told_apart() {
    let later = br#"{"format":2,"version":1}"#;
    let unknown = decode::<MapRecord>("map", later).unwrap_err();
    assert!(matches!(
        unknown,
        RecordError::UnknownFormat { found: 2, .. }
    ));
    for damaged in [
        &b"{}"[..],
        b"",
        b"1",
        br#"{"format":1}"#,
        br#"{"format":1,"version":-1}"#,
    ] {
        let invalid = decode::<MapRecord>("map", damaged).unwrap_err();
        assert!(
            matches!(invalid, RecordError::Invalid { .. }),
            "{damaged:?}"
        );
    }
}

#[test]
fn a_life_is_sixteen_hexadecimal_digits() {
    assert_eq!(Life::parse("00000000000012ab"), Some(life(0x12ab)));
    for text in ["", "12ab", "000000000000000g", "0000000000000000"] {
        assert_eq!(Life::parse(text), None, "{text}");
    }
}
