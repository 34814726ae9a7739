//! Checks the sizes of files and functions.
//!
//! Counts lines of code outside tests, without blank lines and comments, so that a comment never makes a function too
//! long.

use syn::visit::{self, Visit};

use super::Finding;
use super::settings::{self, Settings, SizeException};
use super::tree::{File, Tree, is_test_item};

/// Lines of code from which a note suggests to split the file.
const FILE_LINES_NOTE: usize = 600;

/// Maximum number of lines of code of a file without an exception.
const FILE_LINES_MAX: usize = 1_000;

/// Maximum number of lines of code of a function without an exception: what fits on a screen.
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(tree: &Tree, settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut report = |exception: &SizeException, text: &str| {
        let name = exception.name.as_ref();
        let name = name.map_or_else(String::new, |name| format!(", {name}"));
        let text = format!("the exception for {}{name} {text}", exception.path);
        findings.push(Finding::new(settings::FILE, 0, text));
    };
    let mut long = Vec::new();
    for file in tree.rust().filter(|file| !is_test(&file.path)) {
        long.extend(long_parts(file)?);
    }
    let exceptions = settings.long_file.iter().chain(&settings.long_function);
    for exception in exceptions.clone() {
        if !long.iter().any(|part| part.matches(exception)) {
            report(exception, "is no longer needed");
        }
        if exception.reason.trim().is_empty() {
            report(exception, "has no reason");
        }
    }
    long.retain(|part| !exceptions.clone().any(|exception| part.matches(exception)));
    findings.extend(long.into_iter().map(|part| part.finding));
    Ok(findings)
}

/// Notes on files that are long, but not longer than the limit.
pub(super) fn notes(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !is_test(&file.path))
        .map(|file| (file, code_lines(&file.text)))
        .filter(|(_, lines)| (FILE_LINES_NOTE..=FILE_LINES_MAX).contains(lines))
        .map(|(file, lines)| {
            Finding::new(
                &file.path,
                0,
                format!("{lines} lines of code: consider splitting the file"),
            )
        })
        .collect()
}

/// A file or a function that is too long.
struct LongPart {
    /// Name of the function; `None` for a file.
    name: Option<String>,
    finding: Finding,
}

impl LongPart {
    fn matches(&self, exception: &SizeException) -> bool {
        self.name == exception.name && self.finding.path == exception.path
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The parts of a file that are too long: the file itself, and its functions.
fn long_parts(file: &File) -> anyhow::Result<Vec<LongPart>> {
    let mut functions = Functions {
        file,
        found: Vec::new(),
    };
    let lines = code_lines(&file.text);
    if lines > FILE_LINES_MAX {
        let text = format!("{lines} lines of code: split the file, or give a reason in tidy.toml");
        functions.found.push(LongPart {
            name: None,
            finding: Finding::new(&file.path, 0, text),
        });
    }
    functions.visit_file(&file.syntax()?);
    Ok(functions.found)
}

/// Number of lines of code before the tests at a file's end.
fn code_lines(text: &str) -> usize {
    let (code, _) = text
        .split_once("\n#[cfg(test)]\nmod tests {")
        .unwrap_or((text, ""));
    code.lines().filter(|line| is_code(line)).count()
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

/// Finds the functions that are too long.
struct Functions<'a> {
    file: &'a File,
    found: Vec<LongPart>,
}

impl Functions<'_> {
    fn measure(&mut self, name: &syn::Ident, block: &syn::Block) {
        let braces = block.brace_token.span;
        let (start, end) = (braces.open().start().line, braces.close().end().line);
        let lines = self.file.text.lines().skip(start.saturating_sub(1));
        let body = lines.take(end + 1 - start);
        let lines = body.filter(|line| is_code(line)).count();
        if lines > FUNCTION_LINES_MAX {
            let text = format!(
                "fn {name} has {lines} lines of code; at most {FUNCTION_LINES_MAX} are allowed"
            );
            self.found.push(LongPart {
                name: Some(name.to_string()),
                finding: Finding::new(&self.file.path, start, text),
            });
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
        if !is_test_item(&node.attrs) {
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
        super::super::texts(check(&tree, &settings).unwrap())
    }

    #[test]
    fn a_long_function_fails_unless_excepted() {
        assert_eq!(texts("src/a.rs", &function(68), ""), [] as [&str; 0]);
        assert_eq!(
            texts("src/a.rs", &function(69), ""),
            ["fn long has 71 lines of code; at most 70 are allowed"]
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
            ["1001 lines of code: split the file, or give a reason in tidy.toml"]
        );
        let exception = "[[long_file]]\npath='src/a.rs'\nreason=' '";
        assert_eq!(
            texts("src/a.rs", &file(1_001), exception),
            ["the exception for src/a.rs has no reason"]
        );
    }
}
