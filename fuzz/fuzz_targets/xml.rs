//! Fuzzes the XML documents: service properties and access policies. Checks that an accepted document is written back
//! to one with the same meaning.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::ServiceProperties;
use partita_wire::table::POLICY_PERMISSIONS;
use partita_wire::{
    ServicePropertiesUpdate, read_signed_identifiers, write_service_properties,
    write_signed_identifiers,
};

fuzz_target!(|data: &[u8]| {
    if let Ok(update) = ServicePropertiesUpdate::read(data) {
        let mut properties = ServiceProperties::default();
        update.apply(&mut properties);
        let mut xml = Vec::new();
        write_service_properties(&properties, &mut xml);
        let mut again = ServiceProperties::default();
        ServicePropertiesUpdate::read(&xml)
            .expect("a written document is valid")
            .apply(&mut again);
        assert_eq!(in_any_order(again), in_any_order(properties));
    }
    if let Ok(identifiers) = read_signed_identifiers(data, POLICY_PERMISSIONS) {
        let mut xml = Vec::new();
        write_signed_identifiers(&identifiers, &mut xml);
        let again =
            read_signed_identifiers(&xml, POLICY_PERMISSIONS).expect("a written document is valid");
        assert_eq!(again, identifiers);
    }
});

/// The properties without the order of headers, because literal headers are written before prefixes.
fn in_any_order(mut properties: ServiceProperties) -> ServiceProperties {
    for rule in &mut properties.cors {
        rule.allowed_headers.sort_unstable();
        rule.exposed_headers.sort_unstable();
    }
    properties
}
