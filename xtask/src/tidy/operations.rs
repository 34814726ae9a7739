//! Checks the files of operations: an operation of a protocol has a file with its name in each folder that `tidy.toml`
//! lists.

use super::Finding;
use super::settings::Settings;
use super::tree::Tree;

pub(super) fn check(tree: &Tree, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (protocol, operations) in &settings.operations {
        for (name, rooms) in &operations.files {
            for room in rooms {
                let text = match operations.rooms.get(room) {
                    None => format!("{protocol}: {name} is in the unknown room {room}"),
                    Some(folder) if has_file(tree, folder, name) => continue,
                    Some(folder) => {
                        format!("{protocol}: {name} has no file {name}.rs under {folder}")
                    }
                };
                findings.push(Finding::new("tidy.toml", 0, text));
            }
        }
    }
    findings
}

/// Whether the folder, or a folder below it, has the file `NAME.rs` or `NAME/mod.rs`.
fn has_file(tree: &Tree, folder: &str, name: &str) -> bool {
    let (prefix, file) = (format!("{folder}/"), format!("/{name}.rs"));
    let module = format!("/{name}/mod.rs");
    tree.rust().any(|found| {
        found.path.starts_with(&prefix)
            && (found.path.ends_with(&file) || found.path.ends_with(&module))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(paths: &[&str]) -> Vec<String> {
        let settings = Settings::parse(
            "[operations.table.rooms]\nlogic = 'a/src'\nfront = 'b/src/table'\n\
             [operations.table.files]\ninsert_entity = ['logic', 'front']\nservice_stats = ['front']",
        )
        .unwrap();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (*path, "")).collect();
        super::super::texts(check(&Tree::of(&files), &settings))
    }

    #[test]
    fn every_operation_has_its_files() {
        let complete = [
            "a/src/entity/insert_entity.rs",
            "b/src/table/insert_entity/mod.rs",
            "b/src/table/service_stats.rs",
        ];
        assert_eq!(findings(&complete), [] as [&str; 0]);
    }

    #[test]
    fn a_missing_file_fails() {
        let found = findings(&[
            "a/src/entity/old_insert_entity.rs",
            "b/src/insert_entity.rs",
            "b/src/table/service_stats.rs",
        ]);
        assert_eq!(
            found,
            [
                "table: insert_entity has no file insert_entity.rs under a/src",
                "table: insert_entity has no file insert_entity.rs under b/src/table",
            ]
        );
    }

    #[test]
    fn an_unknown_room_fails() {
        let settings =
            Settings::parse("[operations.table.files]\nget_entity = ['nowhere']").unwrap();
        let found = check(&Tree::of(&[]), &settings);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
