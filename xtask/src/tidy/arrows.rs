//! Checks that the manifests have only the dependencies (arrows) that `tidy.toml` allows.

use toml::{Table, Value};

use super::Finding;
use super::settings::Settings;
use super::tree::{File, Tree, package_name};

/// The manifest table of the dependencies of tests and examples.
const TESTS: &str = "dev-dependencies";

/// The tables of a manifest that name dependencies.
const DEPENDENCY_TABLES: [&str; 3] = ["dependencies", TESTS, "build-dependencies"];

pub(super) fn check(tree: &Tree, settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let is_manifest = |file: &&File| format!("/{}", file.path).ends_with("/Cargo.toml");
    for file in tree.files().filter(is_manifest) {
        let manifest = file.manifest()?;
        if let Some(name) = package_name(&manifest) {
            check_crate(file, name, &manifest, settings, &mut findings);
        }
    }
    Ok(findings)
}

fn check_crate(
    file: &File,
    name: &str,
    manifest: &Table,
    settings: &Settings,
    findings: &mut Vec<Finding>,
) {
    let mut report = |text: String| findings.push(Finding::new(&file.path, 0, text));
    let Some(below) = settings.arrows.get(name) else {
        report(format!(
            "crate {name} has no line under [arrows] in tidy.toml"
        ));
        return;
    };
    let in_tests = settings.test_arrows.get(name).into_iter().flatten();
    for (table, dependency) in dependencies(manifest) {
        if settings.arrows.contains_key(dependency) {
            let besides = in_tests.clone().filter(|_| table == TESTS);
            if !below
                .iter()
                .chain(besides)
                .any(|allowed| allowed == dependency)
            {
                report(format!(
                    "{name} must not depend on {dependency}: tidy.toml does not list it under [arrows]"
                ));
            }
            continue;
        }
        if let Some(rooms) = settings.only.get(dependency)
            && !rooms.iter().any(|room| room == name)
        {
            let rooms = rooms.join(", ");
            report(format!(
                "{name} must not depend on {dependency}: only {rooms} may"
            ));
        }
        if let Some(never) = settings.never.get(name)
            && never.iter().any(|banned| banned == dependency)
        {
            report(format!("{name} must never depend on {dependency}"));
        }
    }
}

/// Every dependency, with the name of its table.
fn dependencies(manifest: &Table) -> impl Iterator<Item = (&'static str, &str)> {
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(|targets| targets.values())
        .filter_map(Value::as_table);
    std::iter::once(manifest)
        .chain(targets)
        .flat_map(|within| DEPENDENCY_TABLES.map(|kind| (kind, within.get(kind))))
        .filter_map(|(kind, table)| Some((kind, table?.as_table()?)))
        .flat_map(|(kind, table)| {
            table
                .iter()
                .map(move |(key, value)| (kind, real_name(key, value)))
        })
}

/// The package name of a dependency, which may be renamed.
fn real_name<'a>(key: &'a str, value: &'a Value) -> &'a str {
    value.get("package").and_then(Value::as_str).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::super::texts;
    use super::*;

    fn findings(manifest: &str) -> Vec<String> {
        let settings = Settings::parse(
            "[arrows]\nlow = []\nhigh = ['low']\nside = []\n[test_arrows]\nside = ['high']\n[only]\nhyper = ['high']\n[never]\nlow = ['tokio']",
        )
        .unwrap();
        let tree = Tree::of(&[("crates/x/Cargo.toml", manifest)]);
        texts(check(&tree, &settings).unwrap())
    }

    #[test]
    fn downward_arrows_pass() {
        let manifest = "[package]\nname='high'\n[dependencies]\nlow.workspace=true\nhyper='1'";
        assert_eq!(findings(manifest), [] as [&str; 0]);
    }

    #[test]
    fn an_upward_arrow_fails_in_every_table() {
        for table in [
            "dependencies",
            "dev-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let manifest = format!("[package]\nname='low'\n[{table}]\nhigh.workspace=true");
            assert_eq!(
                findings(&manifest),
                ["low must not depend on high: tidy.toml does not list it under [arrows]"]
            );
        }
    }

    #[test]
    fn an_arrow_of_tests_is_for_tests_only() {
        let manifest = |table: &str| {
            findings(&format!(
                "[package]\nname='side'\n[{table}]\nhigh.workspace=true"
            ))
        };
        assert_eq!(manifest("dev-dependencies"), [] as [&str; 0]);
        assert_eq!(manifest("target.x.dev-dependencies"), [] as [&str; 0]);
        assert_eq!(
            manifest("dependencies"),
            ["side must not depend on high: tidy.toml does not list it under [arrows]"]
        );
    }

    #[test]
    fn a_banned_dependency_fails_under_another_name() {
        let manifest = "[package]\nname='low'\n[dependencies]\nh={package='hyper',version='1'}";
        assert_eq!(
            findings(manifest),
            ["low must not depend on hyper: only high may"]
        );
        let manifest = "[package]\nname='low'\n[dependencies]\ntokio='1'";
        assert_eq!(findings(manifest), ["low must never depend on tokio"]);
    }

    #[test]
    fn an_unknown_crate_fails() {
        assert_eq!(
            findings("[package]\nname='new'"),
            ["crate new has no line under [arrows] in tidy.toml"]
        );
    }
}
