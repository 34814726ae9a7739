//! Checks that every silenced lint has a reason.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Meta, Token};

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let findings = &mut findings;
        Attributes { file, findings }.visit_file(&file.syntax()?);
    }
    Ok(findings)
}

struct Attributes<'a> {
    file: &'a File,
    findings: &'a mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for Attributes<'_> {
    fn visit_attribute(&mut self, node: &'ast syn::Attribute) {
        let silences = node.path().is_ident("allow") || node.path().is_ident("expect");
        if silences && !has_reason(node) {
            let line = node.pound_token.span.start().line;
            let text = "a silenced lint without a reason = \"...\"";
            self.findings
                .push(Finding::new(&self.file.path, line, text));
        }
        visit::visit_attribute(self, node);
    }
}

fn has_reason(attribute: &syn::Attribute) -> bool {
    attribute
        .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        .is_ok_and(|list| list.iter().any(|meta| meta.path().is_ident("reason")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&Tree::of(&[("src/a.rs", text)])).unwrap().len()
    }

    #[test]
    fn an_allow_without_a_reason_fails() {
        assert_eq!(count("#[allow(dead_code)] fn a() {}"), 1);
        assert_eq!(
            count("#![expect(unused)]\nfn a() { #[allow(unused)] let x = 1; }"),
            2
        );
        assert_eq!(
            count("#[allow(dead_code, reason = \"used by hand\")] fn a() {}"),
            0
        );
        assert_eq!(count("const TEXT: &str = \"#[allow(dead_code)]\";"), 0);
    }
}
