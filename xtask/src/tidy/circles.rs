//! Finds circles between the files of a crate: siblings that use each other, directly or through other files.
//!
//! A file uses another when one of its paths (in a `use` or in code) leads there. A name that a module only re-exports
//! leads to the file that defines it. Two things do not count: tests, and a file that uses a module above it. `use
//! super::Error` is how Rust's child modules work, so for the files in a folder, the folder and its `mod.rs` are one
//! unit.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use syn::visit::{self, Visit};

use super::Finding;
use super::tree::{File, Tree, is_test_item};

/// The names that lead to a module from the root of its crate.
type ModulePath = Vec<String>;

/// The modules of a crate.
type Modules = BTreeMap<ModulePath, Module>;

/// The longest chain of re-exports to follow.
const REEXPORTS_MAX: usize = 8;

/// The circles of all crates, each reported at its first file.
pub(super) fn check(tree: &Tree) -> anyhow::Result<Vec<Finding>> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for file in tree.rust() {
        if let Some((folder, path)) = module_path(&file.path) {
            let module = Module::read(file, &path)?;
            crates.entry(folder).or_default().insert(path, module);
        }
    }
    let mut findings = Vec::new();
    for modules in crates.values() {
        for circle in circles(&uses(modules)) {
            let files = circle.iter().filter_map(|path| modules.get(*path));
            let files: Vec<&str> = files.map(|module| module.file.as_str()).collect();
            let text = format!("a circle of files: {}", files.join(", "));
            let first = files.first().context("a circle has files")?;
            findings.push(Finding::new(first, 0, text));
        }
    }
    Ok(findings)
}

/// The folder of the crate and the module path of a source file; `None` for tests and for binaries in `src/bin`.
fn module_path(path: &str) -> Option<(&str, ModulePath)> {
    let (folder, rest) = path.split_once("/src/")?;
    let names = rest.strip_suffix(".rs")?.split('/');
    let mut names: ModulePath = names.map(str::to_owned).collect();
    let is_binary = names.first().is_some_and(|name| name == "bin");
    if is_binary || names.iter().any(|name| name == "tests") {
        return None;
    }
    let is_root = names.len() == 1 && matches!(names[0].as_str(), "lib" | "main");
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    Some((folder, names))
}

/// A module, with the paths in its file.
struct Module {
    file: String,
    /// Names that it imports or re-exports, with their targets.
    imports: BTreeMap<String, ModulePath>,
    /// Targets of globs and of paths in code.
    mentions: BTreeSet<ModulePath>,
}

impl Module {
    fn read(file: &File, path: &[String]) -> anyhow::Result<Self> {
        let syntax = file.syntax()?;
        let mut reader = Reader {
            within: path.to_vec(),
            module: Self {
                file: file.path.clone(),
                imports: BTreeMap::new(),
                mentions: BTreeSet::new(),
            },
        };
        reader.visit_file(&syntax);
        Ok(reader.module)
    }
}

/// Collects the paths of a file.
struct Reader {
    /// The module being read: the module of the file, or an inline module in it.
    within: ModulePath,
    module: Module,
}

impl Reader {
    /// A path from the root of the crate. A path without `crate`, `self` or `super` counts as the path of a child
    /// module. A path into another crate leads back to this module, and a module's use of itself does not count.
    fn absolute(&self, names: &[String]) -> ModulePath {
        let mut base = self.within.clone();
        let is_prefix = |name: &&String| matches!(name.as_str(), "crate" | "self" | "super");
        let prefixes = names.iter().take_while(is_prefix).count();
        let (prefixes, rest) = names.split_at(prefixes);
        for prefix in prefixes {
            match prefix.as_str() {
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                _ => {}
            }
        }
        base.extend(rest.iter().cloned());
        base
    }

    fn import(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.import_as(before, &name.ident, &name.ident),
            syn::UseTree::Rename(rename) => self.import_as(before, &rename.ident, &rename.rename),
            syn::UseTree::Glob(_) => {
                let path = self.absolute(before);
                self.module.mentions.insert(path);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(before, tree);
                }
            }
        }
    }

    fn import_as(&mut self, before: &[String], name: &syn::Ident, alias: &syn::Ident) {
        let mut names = before.to_vec();
        let mut alias = alias.to_string();
        if name == "self" {
            alias = before.last().cloned().unwrap_or_default();
        } else {
            names.push(name.to_string());
        }
        let path = self.absolute(&names);
        self.module.imports.insert(alias, path);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !is_test_item(&node.attrs) && node.content.is_some() {
            self.within.push(node.ident.to_string());
            visit::visit_item_mod(self, node);
            self.within.pop();
        }
    }

    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        if !is_test_item(&node.attrs) {
            self.import(&mut Vec::new(), &node.tree);
        }
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        if !is_test_item(&node.attrs) {
            visit::visit_item_fn(self, node);
        }
    }

    fn visit_path(&mut self, node: &'ast syn::Path) {
        if node.segments.len() > 1 && node.leading_colon.is_none() {
            let names = node.segments.iter().map(|one| one.ident.to_string());
            let path = self.absolute(&names.collect::<Vec<_>>());
            self.module.mentions.insert(path);
        }
        visit::visit_path(self, node);
    }

    /// `pub(in path)` names a module without using it.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

/// The modules that each module uses, except itself and its ancestors.
type Uses<'a> = BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>;

fn uses(modules: &Modules) -> Uses<'_> {
    let of_module = modules.iter().map(|(path, module)| {
        let targets = module.imports.values().chain(&module.mentions);
        let used = targets.filter_map(|target| defining(modules, target, REEXPORTS_MAX));
        let outside = used.filter(|used| !path.starts_with(used));
        (path, outside.collect())
    });
    of_module.collect()
}

/// The module whose file defines the target of a path.
fn defining<'a>(
    modules: &'a Modules,
    target: &[String],
    reexports: usize,
) -> Option<&'a ModulePath> {
    let mut lengths = (0..=target.len()).rev();
    let length = lengths.find(|length| modules.contains_key(&target[..*length]))?;
    let (path, module) = modules.get_key_value(&target[..length])?;
    let item = target[length..].split_first();
    let import = item.and_then(|(name, rest)| Some((module.imports.get(name)?, rest)));
    match import {
        Some((import, rest)) if reexports > 0 => {
            defining(modules, &[import, rest].concat(), reexports - 1)
        }
        _ => Some(path),
    }
}

/// Groups of modules in which each module uses all others, directly or indirectly.
fn circles<'a>(uses: &Uses<'a>) -> Vec<Vec<&'a ModulePath>> {
    let reachable = |from: &ModulePath| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for used in uses.get(next).into_iter().flatten().copied() {
                if seen.insert(used) {
                    open.push(used);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<_, _> = uses.keys().map(|path| (*path, reachable(path))).collect();
    let mut circles: Vec<Vec<&ModulePath>> = Vec::new();
    for (path, seen) in &reached {
        let is_new = !circles.iter().any(|circle| circle.contains(path));
        if is_new && seen.contains(path) {
            let returns = |other: &&&ModulePath| reached[**other].contains(path);
            circles.push(seen.iter().filter(returns).copied().collect());
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> Vec<String> {
        let counted = check(&Tree::of(files)).unwrap();
        counted.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_circle() {
        let found = texts(&[
            ("a/src/lib.rs", "mod one; mod two; pub use one::One;"),
            ("a/src/one.rs", "use crate::two::Two; pub struct One;"),
            (
                "a/src/two.rs",
                "pub struct Two; fn f() { super::One::new() }",
            ),
            ("b/src/lib.rs", "mod one;"),
            ("b/src/one.rs", "use a::two::Two;"),
        ]);
        assert_eq!(found, ["a circle of files: a/src/one.rs, a/src/two.rs"]);
    }

    #[test]
    fn a_circle_is_found_through_other_files_and_folders() {
        let found = texts(&[
            ("a/src/main.rs", ""),
            ("a/src/one/mod.rs", "mod deep;"),
            ("a/src/one/deep.rs", "use crate::two;"),
            ("a/src/two.rs", "use crate::{three::{self as other}, one};"),
            ("a/src/three.rs", "use super::one::deep::*;"),
        ]);
        assert_eq!(
            found,
            ["a circle of files: a/src/one/deep.rs, a/src/three.rs, a/src/two.rs"]
        );
    }

    #[test]
    fn tests_and_modules_above_do_not_count() {
        let found = texts(&[
            (
                "a/src/lib.rs",
                "mod one; mod two; struct Error; use one::One;",
            ),
            ("a/src/one.rs", "use super::Error; use crate::two::Two;"),
            (
                "a/src/two.rs",
                "#[cfg(test)] mod tests { use crate::one::One; }",
            ),
            ("a/src/two/tests.rs", "use crate::one::One;"),
        ]);
        assert_eq!(found, [] as [&str; 0]);
    }
}
