//! The settings that all servers of a cluster must share: a request is authenticated by one server and executed by
//! another.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::config::Settings;

/// The bytes of a fingerprint.
const FINGERPRINT_BYTES: usize = 8;

/// A fingerprint of each group of settings that all servers must share, as `name=fingerprint`, separated by spaces. It
/// goes into the server's key at the coordinator, so it shows no secret.
pub(super) fn fingerprints(settings: &Settings) -> String {
    let mut accounts: Vec<String> = settings
        .accounts
        .iter()
        .map(|account| {
            let keys: Vec<String> = account.keys.iter().map(|key| key.to_base64()).collect();
            format!("{}:{}", account.name, keys.join(":"))
        })
        .collect();
    accounts.sort_unstable();
    let targets = (&settings.targets, &settings.queue_targets);
    let hosts = |listener: &crate::config::ServiceListener| {
        format!(
            "{:?} {}",
            listener.host_suffixes, listener.product_style_url
        )
    };
    let hosts = format!(
        "{} {:?}",
        hosts(&settings.table),
        settings.queue.as_ref().map(hosts)
    );
    let lease = settings.cluster.as_ref().map(|cluster| cluster.lease);
    let groups = [
        ("accounts", accounts.join("\n")),
        ("targets", format!("{targets:?}")),
        ("host names", hosts),
        // The manager assigns ranges without a key when, by its own lease, those of all other servers have ended.
        ("lease", format!("{lease:?}")),
    ];
    let named = groups.map(|(name, text)| format!("{}={}", name.replace(' ', "-"), hash(&text)));
    named.join(" ")
}

fn hash(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut hex = String::new();
    for byte in hash.iter().take(FINGERPRINT_BYTES) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// The groups of settings in which two servers differ. Groups that one of them does not know do not count.
pub(super) fn differences(one: &str, other: &str) -> Vec<String> {
    let groups = |text: &'_ str| -> Vec<(String, String)> {
        let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(name, hash)| (name.to_owned(), hash.to_owned()))
            .collect()
    };
    let other = groups(other);
    let differs = |(name, hash): &(String, String)| {
        let found = other.iter().find(|(known, _)| known == name);
        found.is_some_and(|(_, known)| known != hash)
    };
    let differing = groups(one).into_iter().filter(differs);
    differing.map(|(name, _)| name.replace('-', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::from_flags;

    #[test]
    fn servers_with_other_accounts_or_targets_differ() {
        let usual = fingerprints(&from_flags(&[("table-port", "1")]));
        let same = fingerprints(&from_flags(&[("table-port", "2"), ("garbage-age", "9s")]));
        assert!(differences(&usual, &same).is_empty());
        let targets = fingerprints(&from_flags(&[("targets", "azure")]));
        assert_eq!(differences(&usual, &targets), ["targets"]);
        let accounts = fingerprints(&from_flags(&[("accounts", "other:QUFBQQ==")]));
        assert_eq!(differences(&usual, &accounts), ["accounts"]);
        let hosts = fingerprints(&from_flags(&[("host-suffix", "tables.example")]));
        assert_eq!(differences(&usual, &hosts), ["host names"]);
        let alone = [("store", "file:///tmp/store"), ("cluster-key", "key")];
        let in_cluster = |lease| {
            let coordinator = [("coordinator", "etcd://127.0.0.1:2379"), ("lease", lease)];
            fingerprints(&from_flags(&[&alone[..], &coordinator].concat()))
        };
        let leases = differences(&in_cluster("2s"), &in_cluster("3s"));
        assert_eq!(leases, ["lease"]);
        // A server of another version may know other groups.
        assert!(differences(&usual, "").is_empty());
        assert!(!usual.contains("Eby8"), "{usual}");
    }
}
