//! Requests on the service: properties, CORS, stats, the secondary; and what the server tells about requests.

use super::*;

const CORS: &str = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://here</AllowedOrigins>\
    <AllowedMethods>GET</AllowedMethods><AllowedHeaders>x-ms-*</AllowedHeaders>\
    <ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";

#[tokio::test]
async fn properties_of_queues_are_not_those_of_tables() {
    let server = started(&[]).await;
    let path = "/?restype=service&comp=properties";
    let before = send(&server, "GET", path).await;
    assert_eq!((before.status, before.count("CorsRule")), (200, 0));
    assert_eq!(before.header("cache-control"), Some("no-cache"));
    let set = send_with(&server, "PUT", path, &[], CORS.as_bytes()).await;
    assert_eq!((set.status, set.body.as_str()), (202, ""));
    assert_eq!(set.header("content-type"), None);
    assert_eq!(send(&server, "GET", path).await.count("CorsRule"), 1);
    let account = partita_model::AccountName::new(ACCOUNT).unwrap();
    let tables = &server.status().open().unwrap().service;
    let of_tables = tables.properties().get(&account).await.unwrap();
    assert!(of_tables.cors.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn rules_for_origins_answer_preflights_and_add_headers() {
    let server = with_queue().await;
    let target = format!("/{ACCOUNT}/jobs/messages");
    let preflight = [
        ("Origin", "http://here"),
        ("Access-Control-Request-Method", "GET"),
    ];
    let refused = ask(&server, "OPTIONS", &target, &preflight, b"").await;
    assert_eq!(refused.error(), (403, "CorsPreflightFailure"));
    let path = "/?restype=service&comp=properties";
    send_with(&server, "PUT", path, &[], CORS.as_bytes()).await;
    let granted = ask(&server, "OPTIONS", &target, &preflight, b"").await;
    assert_eq!(granted.status, 200);
    assert_eq!(
        granted.header("access-control-allow-origin"),
        Some("http://here")
    );
    assert_eq!(granted.header("cache-control"), None);
    let origin = [("Origin", "http://here")];
    let read = send_with(&server, "GET", "/jobs?comp=metadata", &origin, b"").await;
    assert_eq!(read.header("vary"), Some("origin"));
    let exposed = read.header("access-control-expose-headers").unwrap();
    assert!(
        exposed.contains("x-ms-approximate-messages-count"),
        "{exposed}"
    );
    server.stop().await;
}

#[tokio::test]
async fn the_secondary_reads_and_has_stats() {
    let server = with_queue().await;
    let stats = "/?restype=service&comp=stats";
    let primary = send(&server, "GET", stats).await;
    assert_eq!(primary.error(), (400, "InvalidQueryParameterValue"));
    put(&server, "/jobs/messages", "x").await;
    let secondary = format!("/{ACCOUNT}-secondary");
    let sas = partita_wire::AccountSasTerms {
        permissions: "rwdlacup".to_owned(),
        resource_types: "sco".to_owned(),
        terms: partita_wire::SasTerms {
            expiry: Some(DateTime::parse("9999-01-01T00:00:00Z").unwrap()),
            ..partita_wire::SasTerms::default()
        },
    };
    let key = AccountKey::from_base64(WELL_KNOWN_KEY).unwrap();
    let sas = sas.sign(ACCOUNT, &key, partita_wire::ServiceKind::Queue);
    let read = ask(
        &server,
        "GET",
        &format!("{secondary}{stats}&{sas}"),
        &[],
        b"",
    )
    .await;
    assert_eq!(read.element("Status"), "live");
    let target = format!("{secondary}/jobs/messages?peekonly=true&{sas}");
    let peeked = ask(&server, "GET", &target, &[], b"").await;
    assert_eq!(peeked.element("MessageText"), "x");
    let target = format!("{secondary}/jobs/messages?{sas}");
    let got = ask(&server, "GET", &target, &[], b"").await;
    assert!(got.status >= 400, "{got:?}");
    server.stop().await;
}

#[tokio::test]
async fn requests_are_counted_by_operation() {
    let server = with_queue().await;
    put(&server, "/jobs/messages", "x").await;
    send(&server, "GET", "/jobs/messages").await;
    send(&server, "GET", "/other/messages").await;
    ask(&server, "GET", "/", &[], b"").await;
    let reading = server.status().metrics.read();
    let of = |name| {
        let mut operations = reading.operations.iter();
        operations.find(|operation| operation.name == name).unwrap()
    };
    assert_eq!(of("CreateQueue").requests(), 1);
    let got = of("GetMessages");
    assert_eq!((got.requests(), got.entities_out), (2, 1));
    let codes: Vec<_> = got
        .errors
        .iter()
        .map(|(code, count)| (code.name(), *count))
        .collect();
    assert_eq!(codes, [("QueueNotFound", 1)]);
    assert_eq!(of("UnknownQueueOperation").requests(), 1);
    assert_eq!(of("Unknown").requests(), 0);
    server.stop().await;
}

#[tokio::test]
async fn a_queue_over_its_target_is_refused() {
    let server = started(&[("target-queue-messages", "1")]).await;
    assert_eq!(send(&server, "PUT", "/jobs").await.status, 201);
    // The queue owes the messages that were asked for, for the next 31 s.
    let got = send(&server, "GET", "/jobs/messages?numofmessages=32").await;
    assert_eq!(got.status, 200);
    let refused = put(&server, "/jobs/messages", "x").await;
    assert_eq!(refused.error(), (503, "ServerBusy"));
    assert_eq!(refused.header("x-partita-reason"), Some("partition-target"));
    assert!(refused.header("retry-after").is_some());
    server.stop().await;
}

#[tokio::test]
async fn the_ports_share_the_places_of_connections() {
    let server = started(&[("connections-max", "2")]).await;
    let mut idle = Vec::new();
    for address in [
        server.listening().table.unwrap(),
        server.listening().queue.unwrap(),
    ] {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    // Closes the connection that has waited longest, at the other port.
    assert_eq!(send(&server, "GET", "/?comp=list").await.status, 200);
    let mut closed = Vec::new();
    let first = &mut idle[0];
    assert_eq!(first.read_to_end(&mut closed).await.unwrap(), 0);
    server.stop().await;
}
