//! Finds the account name in the header `Host`.

use std::net::Ipv4Addr;

/// The rules that decide whether a host contains the account name (host style, `account.table.example`) or the path
/// does (path style, `127.0.0.1:10002/account`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    suffixes: Vec<String>,
    product_style: bool,
}

impl Hosts {
    /// `suffixes` are domains such as `table.localhost`, whose subdomains are accounts. With `product_style`, the first
    /// label of any other host name is also an account, if an account with this name exists.
    pub fn new(suffixes: impl IntoIterator<Item = String>, product_style: bool) -> Self {
        let suffixes = suffixes
            .into_iter()
            .map(|suffix| suffix.trim_matches('.').to_ascii_lowercase())
            .filter(|suffix| !suffix.is_empty())
            .collect();
        Self {
            suffixes,
            product_style,
        }
    }

    /// The label that names the account, including `-secondary`; `None` for path style.
    ///
    /// Product style has the rule of Azurite (IP addresses, names without a dot and `host.docker.internal` are in path
    /// style), except that the account must exist. So `server.example/account` is in path style and works too.
    pub(super) fn account_label<'h>(
        &self,
        host: &'h str,
        is_account: impl Fn(&str) -> bool,
    ) -> Option<&'h str> {
        let name = without_port(host);
        let below = |suffix: &String| {
            let at = name.len().checked_sub(suffix.len() + 1)?;
            let (label, tail) = name.split_at_checked(at)?;
            let tail = tail.strip_prefix('.')?;
            let fits =
                tail.eq_ignore_ascii_case(suffix) && !label.is_empty() && !label.contains('.');
            fits.then_some(label)
        };
        if let Some(label) = self.suffixes.iter().find_map(below) {
            return Some(label);
        }
        let path_style = !self.product_style
            || name.starts_with('[')
            || name.parse::<Ipv4Addr>().is_ok()
            || name.eq_ignore_ascii_case("host.docker.internal");
        let (label, _) = name.split_once('.').filter(|_| !path_style)?;
        let account = label.strip_suffix("-secondary").unwrap_or(label);
        is_account(&account.to_ascii_lowercase()).then_some(label)
    }
}

/// Whether the text can be a `Host`: at most 255 letters, digits and `-_.:[]`. Answers repeat the host in headers and
/// in JSON, where other characters would need escapes.
pub(super) fn is_host(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    !text.is_empty() && text.len() <= 255 && text.bytes().all(allowed)
}

fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host
            .find(']')
            .and_then(|end| host.get(..=end))
            .unwrap_or(host);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}
