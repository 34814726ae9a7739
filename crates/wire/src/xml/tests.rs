use super::*;
use crate::ErrorCode;
use partita_model::{
    AccessPolicy, AnalyticsVersion, CorsRule, DateTime, Logging, Metrics, ServiceProperties,
    SignedIdentifier,
};
use proptest::prelude::*;

const HEAD: &str = "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>";

fn acl(text: &str) -> Result<String, ErrorCode> {
    let identifiers =
        read_signed_identifiers(text.as_bytes(), "raud").map_err(|failure| failure.code)?;
    let mut out = Vec::new();
    write_signed_identifiers(&identifiers, &mut out);
    Ok(String::from_utf8(out)
        .unwrap()
        .strip_prefix(HEAD)
        .unwrap()
        .to_owned())
}

fn update(text: &str) -> Result<ServicePropertiesUpdate, ErrorCode> {
    ServicePropertiesUpdate::read(text.as_bytes()).map_err(|failure| failure.code)
}

fn written(properties: &ServiceProperties) -> String {
    let mut out = Vec::new();
    write_service_properties(properties, &mut out);
    String::from_utf8(out)
        .unwrap()
        .strip_prefix(HEAD)
        .unwrap()
        .to_owned()
}

/// The requests and answers in go--TestSetAccessPolicy, net--TableClientLiveTests_GetAccessPoliciesReturnsPolicies and
/// js--access_policy_operations_should_send_a_null_ap.
#[test]
fn policies_are_written_as_recorded() {
    for (sent, answered) in [
        ("", "<SignedIdentifiers />"),
        (
            "<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers />",
            "<SignedIdentifiers />",
        ),
        (
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<SignedIdentifiers><SignedIdentifier><AccessPolicy>\
             <Permission>r</Permission><Expiry>2024-01-01T00:00:00Z</Expiry><Start>2020-01-01T00:00:00Z</Start>\
             </AccessPolicy><Id>1</Id></SignedIdentifier></SignedIdentifiers>",
            "<SignedIdentifiers><SignedIdentifier><Id>1</Id><AccessPolicy><Start>2020-01-01T00:00:00.0000000Z</Start>\
             <Expiry>2024-01-01T00:00:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>\
             </SignedIdentifiers>",
        ),
        (
            "\u{FEFF}<SignedIdentifiers><SignedIdentifier><Id>MyPolicy</Id><AccessPolicy>\
             <Start>2020-01-01T01:01:00.0000000Z</Start></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
            "<SignedIdentifiers><SignedIdentifier><Id>MyPolicy</Id><AccessPolicy>\
             <Start>2020-01-01T01:01:00.0000000Z</Start></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
        ),
        (
            "<SignedIdentifiers><SignedIdentifier><Id>null</Id><AccessPolicy/></SignedIdentifier><SignedIdentifier>\
             <Id>empty</Id></SignedIdentifier><SignedIdentifier><Id>partial</Id><AccessPolicy><Start></Start><Expiry/>\
             <Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
            "<SignedIdentifiers><SignedIdentifier><Id>null</Id></SignedIdentifier><SignedIdentifier><Id>empty</Id>\
             </SignedIdentifier><SignedIdentifier><Id>partial</Id><AccessPolicy><Permission>r</Permission>\
             </AccessPolicy></SignedIdentifier></SignedIdentifiers>",
        ),
        (
            "<SignedIdentifiers>\n <!-- x --><SignedIdentifier> <Id>a&amp;b&#60;<![CDATA[>]]></Id>\n</SignedIdentifier></SignedIdentifiers>",
            "<SignedIdentifiers><SignedIdentifier><Id>a&amp;b&lt;&gt;</Id></SignedIdentifier></SignedIdentifiers>",
        ),
    ] {
        assert_eq!(acl(sent).as_deref(), Ok(answered), "{sent}");
    }
}

fn identifiers(inner: &str) -> String {
    format!("<SignedIdentifiers>{inner}</SignedIdentifiers>")
}

#[test]
fn bad_policies_are_refused() {
    let one = |inner: &str| identifiers(&format!("<SignedIdentifier>{inner}</SignedIdentifier>"));
    let policy = |inner: &str| one(&format!("<Id>x</Id><AccessPolicy>{inner}</AccessPolicy>"));
    let six: String = (0..6)
        .map(|id| format!("<SignedIdentifier><Id>id{id}</Id></SignedIdentifier>"))
        .collect();
    for bad in [
        identifiers(&six),
        // The recording go--TestSetInvalidAccessPolicy has both faults in one policy; here each fault is in its own.
        one("<AccessPolicy><Expiry>2042-01-01T01:01:01Z</Expiry></AccessPolicy>"),
        policy("<Expiry>2042-01-01T01:01:01.000000001Z</Expiry>"),
        one("<Id></Id>"),
        one(&format!("<Id>{}</Id>", "x".repeat(65))),
        one("<Id>x</Id><Id>y</Id>"),
        one("<Id>x</Id>").replace(
            "</SignedIdentifiers>",
            "<SignedIdentifier><Id>x</Id></SignedIdentifier></SignedIdentifiers>",
        ),
        one("<Id>x</Id><More/>"),
        one("<Id><b/></Id>"),
        policy("<Permission>rw</Permission>"),
        policy("<Start>soon</Start>"),
        "<SignedIdentifiers>".to_owned(),
        "<SignedIdentifiers/><SignedIdentifiers/>".to_owned(),
        "<SignedIdentifiers>text</SignedIdentifiers>".to_owned(),
        "<Other/>".to_owned(),
        "no xml".to_owned(),
        "<!DOCTYPE x [<!ENTITY e \"y\">]><SignedIdentifiers/>".to_owned(),
        one("<Id>&unknown;</Id>"),
        "<a>".repeat(20),
        identifiers(&"<SignedIdentifier/>".repeat(600)),
    ] {
        assert_eq!(acl(&bad), Err(ErrorCode::InvalidXmlDocument), "{bad}");
    }
    assert_eq!(
        read_signed_identifiers(b"\xFF\xFE", "raud")
            .unwrap_err()
            .code,
        ErrorCode::InvalidXmlDocument
    );
}

/// The request and the answer in go--TestSetMinuteMetrics.
#[test]
fn properties_are_written_as_recorded() {
    let sent = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<StorageServiceProperties><HourMetrics><Enabled>true</Enabled>\
        <IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy>\
        <Version>1.0</Version></HourMetrics><Logging><Delete>true</Delete><Read>true</Read><RetentionPolicy>\
        <Enabled>true</Enabled><Days>5</Days></RetentionPolicy><Version>1.0</Version><Write>true</Write></Logging>\
        <MinuteMetrics><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>\
        <Version>1.0</Version></MinuteMetrics><Cors><CorsRule><AllowedHeaders>x-ms-meta-data*</AllowedHeaders>\
        <AllowedMethods>PUT, GET</AllowedMethods><AllowedOrigins>www.xyz.com</AllowedOrigins><ExposedHeaders />\
        <MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";
    let mut properties = ServiceProperties::default();
    update(sent).unwrap().apply(&mut properties);
    assert_eq!(
        written(&properties),
        "<StorageServiceProperties><Logging><Version>1.0</Version><Read>true</Read><Write>true</Write>\
         <Delete>true</Delete><RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></Logging>\
         <HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy>\
         <Enabled>true</Enabled><Days>5</Days></RetentionPolicy></HourMetrics><MinuteMetrics><Version>1.0</Version>\
         <Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors>\
         <CorsRule><AllowedMethods>PUT,GET</AllowedMethods><AllowedOrigins>www.xyz.com</AllowedOrigins>\
         <AllowedHeaders>x-ms-meta-data*</AllowedHeaders><ExposedHeaders /><MaxAgeInSeconds>500</MaxAgeInSeconds>\
         </CorsRule></Cors></StorageServiceProperties>"
    );
}

/// The rule in azure-sdk-for-python, recording of test_table_service_properties test_set_cors.
#[test]
fn literal_headers_are_written_before_prefixes() {
    let rule = |allowed: &str, exposed: &str| {
        format!(
            "<AllowedHeaders>{allowed}</AllowedHeaders><ExposedHeaders>{exposed}</ExposedHeaders>\
             <MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>"
        )
    };
    let sent = rule(
        "x-ms-meta-data*,x-ms-meta-target*,x-ms-meta-xyz,x-ms-meta-foo",
        "x-ms-meta-data*,x-ms-meta-source*,x-ms-meta-abc,x-ms-meta-bcd",
    );
    let sent = format!(
        "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>www.xyz.com</AllowedOrigins>\
         <AllowedMethods>GET,PUT</AllowedMethods>{sent}"
    );
    let mut properties = ServiceProperties::default();
    update(&sent).unwrap().apply(&mut properties);
    let answered = rule(
        "x-ms-meta-xyz,x-ms-meta-foo,x-ms-meta-data*,x-ms-meta-target*",
        "x-ms-meta-abc,x-ms-meta-bcd,x-ms-meta-data*,x-ms-meta-source*",
    );
    let written = written(&properties);
    assert!(written.ends_with(&answered), "{written}");
}

#[test]
fn a_section_is_replaced_and_others_stay() {
    let mut properties = ServiceProperties {
        logging: Logging {
            read: true,
            ..Logging::default()
        },
        cors: vec![CorsRule::default()],
        ..ServiceProperties::default()
    };
    update("<StorageServiceProperties><Cors /></StorageServiceProperties>")
        .unwrap()
        .apply(&mut properties);
    assert!(properties.cors.is_empty() && properties.logging.read);
    update("<StorageServiceProperties/>")
        .unwrap()
        .apply(&mut properties);
    assert!(properties.logging.read);
    assert!(
        written(&ServiceProperties::default()).ends_with("<Cors /></StorageServiceProperties>")
    );
}

#[test]
fn bad_properties_are_refused() {
    let section =
        |inner: &str| format!("<StorageServiceProperties>{inner}</StorageServiceProperties>");
    let metrics = |enabled: &str, days: &str| {
        section(&format!(
            "<MinuteMetrics><Version>1.0</Version>{enabled}<RetentionPolicy><Enabled>true</Enabled><Days>{days}</Days>\
             </RetentionPolicy></MinuteMetrics>"
        ))
    };
    let on = "<Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>";
    assert!(update(&metrics(on, "365")).is_ok());
    let rule = "<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders/>\
        <ExposedHeaders/><MaxAgeInSeconds>0</MaxAgeInSeconds></CorsRule>";
    let cors = |rules: &str| section(&format!("<Cors>{rules}</Cors>"));
    assert!(update(&cors(&rule.repeat(5))).is_ok());
    for bad in [
        String::new(),
        metrics(on, "366"),
        metrics(on, "0"),
        metrics(on, "x"),
        metrics("<Enabled>true</Enabled>", "5"),
        metrics("<Enabled>yes</Enabled>", "5"),
        metrics("", "5"),
        metrics(on, "5").replace("1.0", "one"),
        section("<Logging><Version>1.0</Version></Logging>"),
        section("<Metrics/>"),
        section("<Cors/><Cors/>"),
        cors(&rule.repeat(6)),
        cors(&rule.replace("GET", "FETCH")),
        cors(&rule.replace("<ExposedHeaders/>", "")),
        cors(&rule.replace(">0<", ">-1<")),
        cors(&rule.replace(">0<", ">2147483648<")),
        // Characters that no XML document may contain; an answer could not repeat them.
        cors(&rule.replace(">*<", ">a\u{1}<")),
        cors(&rule.replace(">*<", ">a&#1;<")),
        cors(&rule.replace(">*<", ">a&#xFFFE;<")),
    ] {
        assert_eq!(update(&bad), Err(ErrorCode::InvalidXmlDocument), "{bad}");
    }
}

/// The request in storagepython2016--test_queue_test_set_queue_acl_with_signed_identifiers, and the letters of queues.
#[test]
fn policies_of_queues_have_their_own_letters() {
    let policy = |expiry: &str, letters: &str| {
        format!(
            "<SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11T00:00:00.0000000Z</Start>\
             <Expiry>{expiry}</Expiry><Permission>{letters}</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>"
        )
    };
    let read = |letters| {
        let sent = policy("2011-10-12", letters);
        read_signed_identifiers(sent.as_bytes(), crate::queue::POLICY_PERMISSIONS)
    };
    let mut out = Vec::new();
    write_signed_identifiers(&read("raup").unwrap(), &mut out);
    let answered = format!("{HEAD}{}", policy("2011-10-12T00:00:00.0000000Z", "raup"));
    assert_eq!(String::from_utf8(out).unwrap(), answered);
    // Recording js--queueclient_setaccesspolicy_negative.
    assert_eq!(
        read("rwdl").unwrap_err().code,
        ErrorCode::InvalidXmlDocument
    );
}

/// The old Python client writes Booleans with capitals (recording
/// storagepython--test_service_properties_test_queue_service_properties).
#[test]
fn booleans_may_have_capitals() {
    let sent = "<StorageServiceProperties><MinuteMetrics><Version>1.0</Version><Enabled>True</Enabled>\
        <IncludeAPIs>False</IncludeAPIs><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></MinuteMetrics>\
        </StorageServiceProperties>";
    let metrics = update(sent).unwrap().minute_metrics.unwrap();
    assert!(metrics.enabled && metrics.include_apis == Some(false));
    assert!(update(&sent.replace("True", "TRUE")).is_err());
}

#[test]
fn stats_have_the_status_live() {
    let mut out = Vec::new();
    write_service_stats(DateTime::parse("2024-01-02T03:04:05Z").unwrap(), &mut out);
    let expected = "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Tue, 02 Jan 2024 03:04:05 GMT\
        </LastSyncTime></GeoReplication></StorageServiceStats>";
    assert_eq!(String::from_utf8(out).unwrap(), format!("{HEAD}{expected}"));
}

fn times() -> impl Strategy<Value = Option<DateTime>> {
    let ticks = DateTime::MIN.ticks()..=DateTime::MAX.ticks();
    proptest::option::of(ticks.prop_map(|ticks| DateTime::from_ticks(ticks).unwrap()))
}

prop_compose! {
    fn metrics()(enabled: bool, include: bool, retention_days in proptest::option::of(1..=365u16)) -> Metrics {
        Metrics { version: AnalyticsVersion::default(), enabled, include_apis: enabled.then_some(include), retention_days }
    }
}

prop_compose! {
    fn identifier()(
        id in "[a-z<>&\"'é]{1,20}",
        start in times(),
        expiry in times(),
        permission in proptest::option::of("[raud]{1,4}"),
    ) -> SignedIdentifier {
        SignedIdentifier { id, policy: AccessPolicy { start, expiry, permission } }
    }
}

proptest! {
    #[test]
    fn policies_round_trip(mut identifiers in proptest::collection::vec(identifier(), 0..5)) {
        for (index, identifier) in identifiers.iter_mut().enumerate() {
            identifier.id.push_str(&index.to_string());
        }
        let mut out = Vec::new();
        write_signed_identifiers(&identifiers, &mut out);
        prop_assert_eq!(read_signed_identifiers(&out, "raud"), Ok(identifiers));
    }

    #[test]
    fn properties_round_trip(hour_metrics in metrics(), minute_metrics in metrics(), read: bool, write: bool, age in 0..=2_147_483_647u32, header in "[a-z&<]{1,9}") {
        let rule = CorsRule {
            allowed_origins: vec!["http://a.example".to_owned(), "*".to_owned()],
            allowed_methods: vec!["MERGE".to_owned()],
            allowed_headers: vec![header, "x*".to_owned()],
            exposed_headers: Vec::new(),
            max_age_seconds: age,
        };
        let logging = Logging { read, write, ..Logging::default() };
        let properties = ServiceProperties { logging, hour_metrics, minute_metrics, cors: vec![rule] };
        let mut out = Vec::new();
        write_service_properties(&properties, &mut out);
        let mut back = ServiceProperties::default();
        ServicePropertiesUpdate::read(&out).unwrap().apply(&mut back);
        prop_assert_eq!(back, properties);
    }

    #[test]
    fn any_body_is_read_or_refused(bytes: Vec<u8>, shaped in "(<[a-zA-Z]{1,4}/?>|</[a-z]{1,3}>|&[#a-z0-9x]{0,5};|<!\\[CDATA\\[|\\]\\]>|[a-z ]){0,20}") {
        for body in [&bytes[..], shaped.as_bytes()] {
            let _ = (read_signed_identifiers(body, "raud"), ServicePropertiesUpdate::read(body));
        }
    }
}
