//! Object stores of others: S3 and what speaks like it, and Azure Blob storage.
//!
//! - What is needed to reach one comes from the environment, by the names that the stores' own tools use: those that begin with `AWS_`
//!   or `AZURE_`. Nothing else of the environment is looked at: `TOKEN` or `ENDPOINT` may be anybody's.
//! - Credentials that are missing are an error at once. The library would otherwise ask the metadata service of the machine, which
//!   away from the clouds means minutes of waiting for nobody; it is asked when `AWS_METADATA_ENDPOINT` or `AZURE_MSI_ENDPOINT` says so.
//! - TLS is rustls over ring, as everywhere here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use super::PlaceError;

/// For one request with its answer: an object of 16 MiB over a line of half a megabit per second. `AWS_TIMEOUT` and `AZURE_TIMEOUT`
/// say otherwise.
const REQUEST_TIMEOUT: &str = "300 seconds";

/// How often a request is tried again, and for how long: whoever waits should learn soon that nobody is there.
const TRIES_MAX: usize = 6;
const TRYING_MAX: Duration = Duration::from_secs(20);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// Variables, each by its name in small letters.
pub(super) type Environment = BTreeMap<String, String>;

/// The environment of the process.
pub(super) fn environment() -> Environment {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?.to_ascii_lowercase();
        Some((name, value.into_string().ok()?))
    });
    variables.collect()
}

/// The place that a URL names. No connection is made yet.
pub(super) fn open(
    url: &Url,
    environment: &Environment,
) -> Result<Arc<dyn ObjectStore>, PlaceError> {
    let unreachable = |error| PlaceError::Unreachable(url.to_string(), error);
    let (scheme, path) =
        ObjectStoreScheme::parse(url).map_err(|error| unreachable(error.into()))?;
    let prefix = Path::parse(path).map_err(|error| unreachable(error.into()))?;
    // The first one wins; a provider that is there already is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let store = amazon_s3(url, environment)?.build().map_err(unreachable)?;
            Ok(Arc::new(PrefixStore::new(store, prefix)))
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let store = azure(url, environment)?.build().map_err(unreachable)?;
            Ok(Arc::new(PrefixStore::new(store, prefix)))
        }
        _ => Err(PlaceError::NoSuchStore(url.to_string())),
    }
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            max_backoff: PAUSE_MAX,
            ..BackoffConfig::default()
        },
        max_retries: TRIES_MAX,
        retry_timeout: TRYING_MAX,
    }
}

/// The first of these variables that says something.
fn said<'e>(environment: &'e Environment, names: &[&str]) -> Option<&'e str> {
    let values = names.iter().filter_map(|name| environment.get(*name));
    values.map(String::as_str).find(|value| !value.is_empty())
}

fn needs(url: &Url, what: &str) -> PlaceError {
    PlaceError::Incomplete(url.to_string(), what.to_owned())
}

/// Whether the endpoint that is said is one without TLS, and nobody said that this is meant.
fn is_plain(environment: &Environment, endpoints: &[&str], allow: &str) -> bool {
    let is_allowed = said(environment, &[allow])
        .is_some_and(|value| matches!(value, "true" | "TRUE" | "True" | "1"));
    let endpoint = said(environment, endpoints);
    endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) && !is_allowed
}

fn amazon_s3(url: &Url, environment: &Environment) -> Result<AmazonS3Builder, PlaceError> {
    let (key, secret) = ("aws_access_key_id", "aws_secret_access_key");
    let others = [
        "aws_web_identity_token_file",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_metadata_endpoint",
        "aws_skip_signature",
    ];
    match (said(environment, &[key]), said(environment, &[secret])) {
        (Some(_), Some(_)) => {}
        (None, None) if said(environment, &others).is_some() => {}
        (None, None) => {
            return Err(needs(
                url,
                "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN; or, \
                 for the role of a machine, AWS_METADATA_ENDPOINT=http://169.254.169.254",
            ));
        }
        (Some(_), None) => return Err(needs(url, "AWS_SECRET_ACCESS_KEY")),
        (None, Some(_)) => return Err(needs(url, "AWS_ACCESS_KEY_ID")),
    }
    let endpoints = ["aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint"];
    if is_plain(environment, &endpoints, "aws_allow_http") {
        return Err(needs(
            url,
            "AWS_ALLOW_HTTP=true, as its endpoint is one without TLS",
        ));
    }
    let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
    let mut builder = AmazonS3Builder::new()
        .with_config(timeout, REQUEST_TIMEOUT)
        .with_retry(retries())
        .with_url(url.as_str());
    for (name, value) in environment {
        let known = name.starts_with("aws_").then(|| name.parse().ok());
        if let Some(key) = known.flatten() {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

fn azure(url: &Url, environment: &Environment) -> Result<MicrosoftAzureBuilder, PlaceError> {
    let emulator = said(environment, &["azure_storage_use_emulator"])
        .is_some_and(|value| !matches!(value, "false" | "0"));
    let credentials = [
        "azure_storage_account_key",
        "azure_storage_access_key",
        "azure_storage_sas_token",
        "azure_storage_sas_key",
        "azure_storage_token",
        "azure_client_id",
        "azure_storage_client_id",
        "azure_msi_endpoint",
        "azure_identity_endpoint",
        "azure_federated_token_file",
        "azure_use_azure_cli",
        "azure_skip_signature",
    ];
    // A URL such as abfss://container@account... has the account in it.
    let names_account = url.host_str().is_some_and(|host| host.contains('.'));
    let account = said(environment, &["azure_storage_account_name"]);
    if !emulator && !names_account && account.is_none() {
        return Err(needs(url, "AZURE_STORAGE_ACCOUNT_NAME"));
    }
    if !emulator && said(environment, &credentials).is_none() {
        return Err(needs(
            url,
            "credentials: AZURE_STORAGE_ACCOUNT_KEY; or AZURE_STORAGE_SAS_TOKEN; or AZURE_TENANT_ID, AZURE_CLIENT_ID and \
             AZURE_CLIENT_SECRET; or, for the identity of a machine, AZURE_MSI_ENDPOINT",
        ));
    }
    let endpoints = ["azure_storage_endpoint", "azure_endpoint"];
    if !emulator && is_plain(environment, &endpoints, "azure_allow_http") {
        return Err(needs(
            url,
            "AZURE_ALLOW_HTTP=true, as its endpoint is one without TLS",
        ));
    }
    let timeout = AzureConfigKey::Client(ClientConfigKey::Timeout);
    let mut builder = MicrosoftAzureBuilder::new()
        .with_config(timeout, REQUEST_TIMEOUT)
        .with_retry(retries())
        .with_url(url.as_str());
    for (name, value) in environment {
        let known = name.starts_with("azure_").then(|| name.parse().ok());
        if let Some(key) = known.flatten() {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(url: &str, variables: &[(&str, &str)]) -> Result<Arc<dyn ObjectStore>, String> {
        let environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        open(&Url::parse(url).unwrap(), &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_missing_is_said() {
        let key = ("aws_access_key_id", "k");
        let secret = ("aws_secret_access_key", "s");
        let plain = ("aws_endpoint_url", "http://127.0.0.1:9000");
        let account = ("azure_storage_account_name", "a");
        // As some variables of strangers are called.
        let strange = ("access_key_id", "x");
        type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c str);
        let cases: [Case<'_>; 9] = [
            ("s3://b/p", &[], "AWS_ACCESS_KEY_ID and"),
            ("s3://b/p", &[strange], "AWS_ACCESS_KEY_ID and"),
            ("s3://b/p", &[key], "needs AWS_SECRET_ACCESS_KEY"),
            (
                "s3://b/p",
                &[key, ("aws_secret_access_key", "")],
                "AWS_SECRET",
            ),
            ("s3://b/p", &[secret], "needs AWS_ACCESS_KEY_ID"),
            ("s3://b/p", &[key, secret, plain], "AWS_ALLOW_HTTP"),
            ("az://c/p", &[], "needs AZURE_STORAGE_ACCOUNT_NAME"),
            ("az://c/p", &[account], "AZURE_STORAGE_ACCOUNT_KEY"),
            ("gs://b/p", &[], "no object store"),
        ];
        for (url, variables, expected) in cases {
            let refused = opened(url, variables).unwrap_err();
            assert!(
                refused.contains(expected) && refused.contains(url),
                "{refused}"
            );
        }
    }

    #[test]
    fn what_is_said_is_enough() {
        let key = [("aws_access_key_id", "k"), ("aws_secret_access_key", "s")];
        opened("s3://b/p/q", &key).unwrap();
        let own = [
            ("aws_endpoint_url", "http://[::1]:9"),
            ("aws_allow_http", "true"),
        ];
        opened("s3://b", &[key, own].concat()).unwrap();
        opened(
            "s3://b",
            &[("aws_metadata_endpoint", "http://169.254.169.254")],
        )
        .unwrap();
        opened("az://c/p", &[("azure_storage_use_emulator", "true")]).unwrap();
        let account = [
            ("azure_storage_account_name", "a"),
            ("azure_storage_account_key", "a2V5"),
        ];
        opened("az://c/p", &account).unwrap();
    }
}
