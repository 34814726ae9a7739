//! Files and functions of a usual size.
//!
//! What counts are lines of code outside tests: neither blank nor comment, so that explaining is never punished.

use anyhow::Context;
use syn::visit::{self, Visit};

use super::Finding;
use super::settings::Settings;
use super::tree::{File, Tree};

/// Lines of code from which a file is named in a note: look for the seam.
const FILE_LINES_NOTE: usize = 600;

/// Lines of code that a file may have without a stated reason.
const FILE_LINES_MAX: usize = 1_000;

/// Lines of code that a function may have without a stated reason: a screen.
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(tree: &Tree, settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut needed = Needed::default();
    for file in tree.rust().filter(|file| !is_test(&file.path)) {
        check_file(file, settings, &mut needed, &mut findings)?;
    }
    for exception in &settings.long_file {
        if !needed.files.contains(&exception.path) {
            findings.push(unneeded(&exception.path));
        }
    }
    for exception in &settings.long_function {
        let key = (exception.path.clone(), exception.name.clone());
        if !needed.functions.contains(&key) {
            findings.push(unneeded(&format!("{}, {}", exception.path, exception.name)));
        }
    }
    let reasons = settings.long_file.iter().map(|entry| &entry.reason);
    let reasons = reasons.chain(settings.long_function.iter().map(|entry| &entry.reason));
    if reasons.into_iter().any(|reason| reason.trim().is_empty()) {
        findings.push(Finding::new(
            "tidy.toml",
            0,
            "an exception without a reason",
        ));
    }
    Ok(findings)
}

/// Files past the usual size that do not fail yet.
pub(super) fn notes(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !is_test(&file.path))
        .map(|file| (file, code_lines(&file.text)))
        .filter(|(_, lines)| (FILE_LINES_NOTE..=FILE_LINES_MAX).contains(lines))
        .map(|(file, lines)| {
            Finding::new(&file.path, 0, format!("{lines} lines: look for the seam"))
        })
        .collect()
}

/// Exceptions that were made use of.
#[derive(Default)]
struct Needed {
    files: Vec<String>,
    functions: Vec<(String, String)>,
}

fn unneeded(what: &str) -> Finding {
    Finding::new(
        "tidy.toml",
        0,
        format!("the exception for {what} is no longer needed"),
    )
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn check_file(
    file: &File,
    settings: &Settings,
    needed: &mut Needed,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let lines = code_lines(&file.text);
    if lines > FILE_LINES_MAX {
        if settings
            .long_file
            .iter()
            .any(|entry| entry.path == file.path)
        {
            needed.files.push(file.path.clone());
        } else {
            let text = format!("{lines} lines of code: cut it, or say why not in tidy.toml");
            findings.push(Finding::new(&file.path, 0, text));
        }
    }
    let syntax = syn::parse_file(&file.text).with_context(|| format!("parsing {}", file.path))?;
    let mut functions = Functions {
        file,
        found: Vec::new(),
    };
    functions.visit_file(&syntax);
    for (name, line, lines) in functions.found {
        let key = (file.path.clone(), name.clone());
        if settings
            .long_function
            .iter()
            .any(|entry| entry.path == key.0 && entry.name == key.1)
        {
            needed.functions.push(key);
        } else {
            let text = format!("fn {name} has {lines} lines of code, more than a screen");
            findings.push(Finding::new(&file.path, line, text));
        }
    }
    Ok(())
}

/// Lines of code before the tests at a file's end.
fn code_lines(text: &str) -> usize {
    let code = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    code.lines().filter(|line| is_code(line)).count()
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

/// Finds the functions that are too long.
struct Functions<'a> {
    file: &'a File,
    found: Vec<(String, usize, usize)>,
}

impl Functions<'_> {
    fn measure(&mut self, name: &syn::Ident, block: &syn::Block) {
        let braces = block.brace_token.span;
        let (start, end) = (braces.open().start().line, braces.close().end().line);
        let body = self
            .file
            .text
            .lines()
            .skip(start.saturating_sub(1))
            .take(end + 1 - start);
        let lines = body.filter(|line| is_code(line)).count();
        if lines > FUNCTION_LINES_MAX {
            self.found.push((name.to_string(), start, lines));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.measure(&node.sig.ident, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.measure(&node.sig.ident, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|word| word == "test")
        };
        if !node.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "fn long() {{\n{}}}\n",
            "    call();\n    // why\n\n".repeat(lines)
        )
    }

    fn texts(path: &str, text: &str, settings: &str) -> Vec<String> {
        let tree = Tree::of(&[(path, text)]);
        let settings = Settings::parse(settings).unwrap();
        check(&tree, &settings)
            .unwrap()
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    #[test]
    fn a_long_function_fails_unless_excepted() {
        assert_eq!(texts("src/a.rs", &function(68), ""), [] as [&str; 0]);
        assert_eq!(
            texts("src/a.rs", &function(69), ""),
            ["fn long has 71 lines of code, more than a screen"]
        );
        let exception = "[[long_function]]\npath='src/a.rs'\nname='long'\nreason='one table'";
        assert_eq!(texts("src/a.rs", &function(69), exception), [] as [&str; 0]);
        assert_eq!(
            texts("src/a.rs", &function(1), exception),
            ["the exception for src/a.rs, long is no longer needed"]
        );
        let method = format!("impl A {{ {} }}", function(80));
        assert_eq!(texts("src/a.rs", &method, "").len(), 1);
    }

    #[test]
    fn tests_may_be_long() {
        let text = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(90));
        assert_eq!(texts("src/a.rs", &text, ""), [] as [&str; 0]);
        assert_eq!(texts("src/a/tests.rs", &function(90), ""), [] as [&str; 0]);
    }

    #[test]
    fn a_long_file_is_noted_then_fails() {
        let file = |lines: usize| "const A: u8 = 0;\n".repeat(lines);
        let tree = Tree::of(&[("src/a.rs", &file(601)), ("src/b.rs", &file(599))]);
        assert_eq!(notes(&tree).len(), 1);
        assert_eq!(texts("src/a.rs", &file(1_000), ""), [] as [&str; 0]);
        assert_eq!(
            texts("src/a.rs", &file(1_001), ""),
            ["1001 lines of code: cut it, or say why not in tidy.toml"]
        );
        let exception = "[[long_file]]\npath='src/a.rs'\nreason=' '";
        assert_eq!(
            texts("src/a.rs", &file(1_001), exception),
            ["an exception without a reason"]
        );
    }
}
