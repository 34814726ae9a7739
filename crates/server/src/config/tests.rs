//! Tests the layers, the typed settings and the rules between them, and `docs/settings.md` with its example.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::*;

fn setting(flag: &str) -> &'static Setting {
    ALL.iter().find(|setting| setting.flag == flag).unwrap()
}

fn with_flags(flags: &[(&str, &str)]) -> Layers {
    flags
        .iter()
        .fold(Layers::default(), |layers, (flag, text)| {
            layers.flag(setting(flag), (*text).to_owned())
        })
}

/// The settings of a command line.
pub(crate) fn from_flags(flags: &[(&str, &str)]) -> Settings {
    settings(with_flags(flags)).unwrap()
}

fn settings(layers: Layers) -> Result<Settings, Error> {
    Settings::from_values(&layers.resolve()?.0)
}

/// Why a command line is refused.
pub(crate) fn refused(flags: &[(&str, &str)]) -> String {
    settings(with_flags(flags)).unwrap_err().to_string()
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn every_name_means_one_setting() {
    let mut long = BTreeSet::from(["config", "help", "version"]);
    let mut short = BTreeSet::from(['h', 'V', 'v']);
    let mut keys = BTreeSet::new();
    for setting in ALL {
        assert!(keys.insert(setting.key), "{}", setting.key);
        for name in setting.aliases.iter().chain([&setting.flag]) {
            assert!(long.insert(name), "{name}");
        }
        assert!(
            setting.short.is_none_or(|letter| short.insert(letter)),
            "{}",
            setting.flag
        );
        assert!(
            !setting.help.is_empty() && !setting.help.ends_with('.'),
            "{}",
            setting.flag
        );
    }
    for (accepted, _) in ACCEPTED {
        assert!(long.insert(accepted), "{accepted}");
    }
}

#[test]
fn defaults_serve_this_machine() {
    let settings = settings(Layers::default()).unwrap();
    assert_eq!(
        (settings.table.host.as_str(), settings.table.port),
        ("127.0.0.1", 10002)
    );
    assert_eq!(
        (settings.admin.host.as_str(), settings.admin.port),
        ("127.0.0.1", Some(10010))
    );
    assert_eq!(
        settings.store.place,
        Place::Directory(PathBuf::from("partita-data"))
    );
    assert_eq!(settings.accounts[0].name, WELL_KNOWN_ACCOUNT);
    assert_eq!(settings.limits.body_bytes_max, 4 << 20);
    assert_eq!(settings.limits.request_timeout, Duration::from_secs(30));
    assert_eq!((settings.tls, settings.oauth), (Tls::Off, Oauth::Off));
    assert!(settings.table.product_style_url);
}

#[test]
fn the_reader_can_be_selected() {
    use partita_engine::slate::Reads;

    let settings = settings(Layers::default()).unwrap();
    assert_eq!(settings.store.reader, Reads::Own);
    for (name, reads) in [("slatedb", Reads::SlateDb), ("compared", Reads::Compared)] {
        let given = from_flags(&[("reader", name)]);
        assert_eq!(given.store.reader, reads);
    }
    let text = refused(&[("reader", "other")]);
    assert!(
        text.contains("`partita`, `slatedb` or `compared`"),
        "{text}"
    );
}

#[test]
fn memory_follows_the_machine_or_the_setting() {
    let settings = settings(Layers::default()).unwrap();
    assert!((32 << 20..=1 << 30).contains(&settings.limits.memory_in_flight));
    assert!(settings.store.block_cache_bytes <= 256 << 20);
    let given = from_flags(&[("memory-in-flight", "17MiB"), ("block-cache-bytes", "1GiB")]);
    assert_eq!(
        (given.limits.memory_in_flight, given.store.block_cache_bytes),
        (17 << 20, 1 << 30)
    );
    let large = from_flags(&[("body-bytes-max", "1GiB")]);
    assert_eq!(large.limits.memory_in_flight, 2 << 30);
    let text = refused(&[("memory-in-flight", "15MiB")]);
    assert!(
        text.contains("16777216") && text.contains("--body-bytes-max"),
        "{text}"
    );
    let text = refused(&[("memory-in-flight", "much")]);
    assert!(text.contains("`auto`"), "{text}");
}

#[test]
fn each_layer_overrides_the_one_below() {
    let file = "[table]\nport = 1\nhost = '127.0.0.2'\nhost-suffixes = ['a.example', 'b.example']\n[limits]\nbatches-max = 3\n";
    let layers = || {
        Layers::default()
            .file_text(PathBuf::from("partita.toml"), file.to_owned())
            .environment(variables(&[
                ("PARTITA_TABLE_PORT", "2"),
                ("PARTITA_ADMIN_PORT", "0"),
                ("HOME", "/x"),
            ]))
            .flag(setting("table-port"), "3".to_owned())
    };
    let (values, warnings) = layers().resolve().unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let source = |key: &str| {
        values
            .iter()
            .find(|value| value.setting.key == key)
            .unwrap()
            .source
            .to_string()
    };
    assert_eq!(source("table.port"), "flag --table-port");
    assert_eq!(source("admin.port"), "variable PARTITA_ADMIN_PORT");
    assert_eq!(source("table.host"), "file partita.toml");
    assert_eq!(source("log.level"), "default");

    let settings = settings(layers()).unwrap();
    assert_eq!(
        (
            settings.table.port,
            settings.admin.port,
            settings.limits.batches_max
        ),
        (3, None, 3)
    );
    assert_eq!(settings.table.host_suffixes, ["a.example", "b.example"]);
}

#[test]
fn repeated_flags_override_and_lists_add_up() {
    let flags = [
        ("host-suffix", "a.x"),
        ("host-suffix", "B.y."),
        ("table-port", "1"),
        ("table-port", "2"),
    ];
    let settings = settings(with_flags(&flags)).unwrap();
    assert_eq!(settings.table.host_suffixes, ["a.x", "b.y"]);
    assert_eq!(settings.table.port, 2);
}

#[test]
fn errors_of_the_file_name_the_key() {
    let file = |text: &str| {
        let layers = Layers::default().file_text(PathBuf::from("p.toml"), text.to_owned());
        layers.resolve().unwrap_err().to_string()
    };
    assert_eq!(
        file("[table]\nprot = 1"),
        "settings file p.toml: unknown key table.prot; did you mean table.port?"
    );
    assert_eq!(file("zzz = 1"), "settings file p.toml: unknown key zzz");
    assert_eq!(
        file("[table]\nport = [1]"),
        "settings file p.toml: invalid type of table.port: expected a text or a number"
    );
    assert_eq!(
        file("table = 3"),
        "settings file p.toml: unknown key table; did you mean table.port?"
    );
    assert!(file("[table\n").starts_with("settings file p.toml is not TOML: "));
    let missing = Layers::default()
        .config_flag(PathBuf::from("no/such/file"))
        .read_file()
        .unwrap_err();
    assert_eq!(
        missing.to_string(),
        "settings file no/such/file cannot be read"
    );
}

#[test]
fn the_file_may_list_accounts_as_a_table() {
    let text = "[accounts]\nfirst = 'a2V5MQ=='\nsecond = ['a2V5Mg==', 'a2V5Mw==']\n";
    let layers = Layers::default().file_text(PathBuf::from("p.toml"), text.to_owned());
    let accounts = settings(layers).unwrap().accounts;
    assert_eq!((&*accounts[0].name, accounts[0].keys.len()), ("first", 1));
    assert_eq!(
        (&*accounts[1].name, accounts[1].keys[1].bytes()),
        ("second", b"key3".as_slice())
    );
}

#[test]
fn azurites_variables_are_read_and_ours_override_them() {
    let azurite = ("AZURITE_ACCOUNTS", "theirs:a2V5");
    let of = |pairs: &[(&str, &str)]| {
        let (values, warnings) = Layers::default()
            .environment(variables(pairs))
            .resolve()
            .unwrap();
        (
            Settings::from_values(&values).unwrap().accounts[0]
                .name
                .to_owned(),
            warnings,
        )
    };
    assert_eq!(of(&[azurite]).0, "theirs");
    assert_eq!(of(&[("PARTITA_ACCOUNTS", "ours:a2V5"), azurite]).0, "ours");
    let (_, warnings) = of(&[
        ("AZURITE_DB", "mysql://x"),
        ("PARTITA_TABEL_PORT", "7"),
        ("PARTITA_Q", "1"),
        ("PARTITA_ADMIN", "http://localhost:7"),
    ]);
    assert_eq!(
        warnings,
        [
            "variable AZURITE_DB has no effect: data is always kept in the embedded store",
            "unknown environment variable PARTITA_TABEL_PORT; did you mean PARTITA_TABLE_PORT?",
            "unknown environment variable PARTITA_Q",
        ]
    );
}

#[test]
fn invalid_values_name_setting_and_layer() {
    assert_eq!(
        refused(&[("table-port", "99999")]),
        "invalid value \"99999\" of table.port (from flag --table-port): expected a port from 0 to 65535"
    );
    assert!(refused(&[("request-timeout", "0")]).contains("a duration from 1ms"));
    assert!(refused(&[("body-bytes-max", "1KiB")]).contains("64KiB to 1GiB"));
    assert!(refused(&[("log-level", "loud")]).contains("log.level"));
    assert!(refused(&[("table-host", "a b")]).contains("table.host"));
    assert!(refused(&[("batches-max", "0")]).contains("limits.batches-max"));
    assert!(refused(&[("location", "")]).contains("expected a directory"));
}

#[test]
fn errors_of_accounts_hide_keys() {
    let text = refused(&[("accounts", "abc:c2VjcmV0:c2VjcmV0:c2VjcmV0")]);
    assert_eq!(
        text,
        "invalid value \"(hidden)\" of accounts (from flag --accounts): account abc has 3 keys: expected one or two"
    );
}

#[test]
fn memory_and_a_location_exclude_each_other() {
    assert_eq!(
        refused(&[("in-memory", "true"), ("location", "d")]),
        "--in-memory (from flag --in-memory) and --location (from flag --location) exclude each other"
    );
    let settings = settings(with_flags(&[("in-memory", "true")])).unwrap();
    assert_eq!(settings.store.place, Place::Memory);
}

#[test]
fn the_well_known_key_stays_on_this_machine_unless_allowed() {
    for host in ["0.0.0.0", "::", "192.168.1.2", "server.example"] {
        assert!(
            refused(&[("table-host", host)]).contains("--allow-well-known-key"),
            "{host}"
        );
        settings(with_flags(&[
            ("table-host", host),
            ("accounts", "abc:a2V5"),
        ]))
        .unwrap();
        settings(with_flags(&[
            ("table-host", host),
            ("allow-well-known-key", "true"),
        ]))
        .unwrap();
    }
    for host in [
        "127.0.0.1",
        "127.8.8.8",
        "::1",
        "[::1]",
        "localhost",
        "x.localhost",
    ] {
        settings(with_flags(&[("table-host", host)])).unwrap();
    }
    for host in ["0.0.0.0", "server.example"] {
        assert!(refused(&[("queue-host", host)]).contains("--queue-host"));
        settings(with_flags(&[("queue-host", host), ("queue-port", "0")])).unwrap();
    }
    // The key is public under any account name, and as a second key too.
    let accounts = format!("abc:a2V5:{WELL_KNOWN_KEY}");
    assert!(refused(&[("table-host", "0.0.0.0"), ("accounts", &accounts)]).contains("account abc"));
}

#[test]
fn tls_has_three_modes() {
    let tls = |flags: &[(&str, &str)]| settings(with_flags(flags)).map(|settings| settings.tls);
    assert_eq!(tls(&[("tls", "dev")]).unwrap(), Tls::Dev);
    assert_eq!(
        tls(&[("cert", "c.pem"), ("key", "k.pem")]).unwrap(),
        Tls::Pem {
            cert: "c.pem".into(),
            key: "k.pem".into()
        }
    );
    let pfx = |password: &str| Tls::Pfx {
        file: "c.pfx".into(),
        password: Password(password.to_owned()),
    };
    assert_eq!(
        tls(&[("cert", "c.pfx"), ("pwd", "secret")]).unwrap(),
        pfx("secret")
    );
    assert_eq!(tls(&[("cert", "c.pfx")]).unwrap(), pfx(""));
    assert!(!format!("{:?}", pfx("secret")).contains("secret"));
    for wrong in [
        &[("cert", "c.pem")][..],
        &[("key", "k.pem")],
        &[("pwd", "x")],
        &[("tls", "dev"), ("cert", "c.pem"), ("key", "k.pem")],
        &[("cert", "c"), ("key", "k"), ("pwd", "p")],
        &[("tls", "prod")],
    ] {
        assert!(tls(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn bearer_tokens_need_https_and_all_their_settings() {
    assert!(refused(&[("oauth", "basic")]).contains("need HTTPS"));
    let tls = ("tls", "dev");
    let issuer = ("oauth-issuer", "https://issuer.example/");
    let audience = ("oauth-audience", "https://storage.azure.com");
    let jwks = ("oauth-jwks", "keys.json");
    assert_eq!(
        settings(with_flags(&[tls, ("oauth", "basic")]))
            .unwrap()
            .oauth,
        Oauth::Basic
    );
    let verified = settings(with_flags(&[tls, issuer, audience, jwks]))
        .unwrap()
        .oauth;
    assert!(
        matches!(verified, Oauth::Verified { audiences, .. } if audiences == ["https://storage.azure.com"])
    );
    for wrong in [
        &[tls, issuer][..],
        &[tls, issuer, jwks],
        &[tls, audience],
        &[tls, ("oauth", "basic"), issuer],
        &[tls, ("oauth", "full")],
    ] {
        assert!(settings(with_flags(wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn conflicting_ports_and_timeouts_are_refused() {
    assert!(refused(&[("admin-port", "10002")]).contains("both 10002"));
    assert!(refused(&[("queue-port", "10010")]).contains("--admin-port and --queue-port are both"));
    assert!(refused(&[("queue-port", "10002")]).contains("--queue-port and --table-port are both"));
    assert!(refused(&[("idle-timeout", "2s")]).contains("--table-keep-alive"));
    for flag in ["table-keep-alive", "queue-keep-alive"] {
        let raised = settings(with_flags(&[(flag, "120")])).unwrap();
        assert_eq!(raised.limits.idle_timeout, Duration::from_secs(125));
        assert!(refused(&[(flag, "120"), ("idle-timeout", "100s")]).contains(flag));
    }
    // Queues take the time of tables, so a short idle timeout needs only that flag.
    let short = [("idle-timeout", "1s"), ("table-keep-alive", "1s")];
    let queue = settings(with_flags(&short)).unwrap().queue;
    assert_eq!(queue.unwrap().keep_alive, Duration::from_secs(1));
}

#[test]
fn the_queue_port_is_fixed_free_or_off() {
    let port = |flags: &[(&str, &str)]| {
        let queue = settings(with_flags(flags)).unwrap().queue;
        queue.map(|queue| queue.port)
    };
    assert_eq!(port(&[]), Some(10001));
    assert_eq!(port(&[("table-port", "7")]), Some(10001));
    assert_eq!(port(&[("queue-port", "8")]), Some(8));
    assert_eq!(port(&[("queue-port", "0")]), None);
    assert_eq!(port(&[("queue-port", "auto")]), Some(0));
    // A free table port: the queue port is free too, unless it is set.
    assert_eq!(port(&[("table-port", "0")]), Some(0));
    assert_eq!(port(&[("table-port", "0"), ("queue-port", "0")]), None);
    assert_eq!(
        port(&[("table-port", "0"), ("queue-port", "10001")]),
        Some(10001)
    );
    assert!(refused(&[("queue-port", "free")]).contains("`auto`, or a port"));
    // `azurite-table` has another default.
    let tables_only = Layers::default().default_of(setting("queue-port"), "0");
    let free = tables_only.flag(setting("table-port"), "0".to_owned());
    assert!(settings(free).unwrap().queue.is_none());
}

#[test]
fn silent_overrides_the_level() {
    let flags = [
        ("silent", "true"),
        ("log-level", "trace"),
        ("log-format", "json"),
        ("debug", "d.log"),
    ];
    let log = settings(with_flags(&flags)).unwrap().log;
    assert_eq!(
        (log.level, log.format),
        (tracing::Level::ERROR, LogFormat::Json)
    );
    assert_eq!(log.debug_file, Some(PathBuf::from("d.log")));
}

#[test]
fn showing_hides_secrets_and_names_sources() {
    let flags = [
        ("accounts", "abc:c2VjcmV0"),
        ("cert", "c.pfx"),
        ("pwd", "hidden-word"),
        ("silent", "true"),
    ];
    let (values, _) = with_flags(&flags).resolve().unwrap();
    let table = as_table(&values);
    let json = as_json(&values).to_string();
    for shown in [&table, &json] {
        assert!(
            !shown.contains("c2VjcmV0") && !shown.contains("hidden-word"),
            "{shown}"
        );
        assert!(
            shown.contains("abc (1 key)") && shown.contains("c.pfx"),
            "{shown}"
        );
    }
    let line = table
        .lines()
        .find(|line| line.starts_with("table.port"))
        .unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["table.port", "10002", "default"]
    );
    assert_eq!(as_json(&values)[0]["source"]["layer"], "default");
    let silent = as_json(&values)
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["key"] == "log.silent")
        .cloned();
    assert_eq!(silent.unwrap()["value"], true);
}

/// The row of a setting in `docs/settings.md`.
fn documented(setting: &Setting) -> String {
    let mut flags = format!("`--{}`", setting.flag);
    for alias in setting.aliases {
        flags.push_str(&format!(" `--{alias}`"));
    }
    if let Some(short) = setting.short {
        flags.push_str(&format!(" `-{short}`"));
    }
    let default = match setting.default {
        "" => "–".to_owned(),
        default => format!("`{default}`"),
    };
    let help = setting.help.replace('|', "\\|");
    format!("| `{}` | {flags} | {default} | {help} |", setting.key)
}

#[test]
fn the_document_lists_every_setting() {
    let document = include_str!("../../../../docs/settings.md");
    let rows = ALL.iter().map(|setting| documented(setting));
    let missing: Vec<String> = rows
        .filter(|row| !document.contains(row.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/settings.md lacks these rows:\n{}",
        missing.join("\n")
    );
}

#[test]
fn the_documents_example_is_valid() {
    let document = include_str!("../../../../docs/settings.md");
    let example = document
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let layers = Layers::default().file_text(PathBuf::from("partita.toml"), example.to_owned());
    let settings = settings(layers).unwrap();
    assert_eq!(settings.accounts.len(), 2);
}
