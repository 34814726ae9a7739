//! The identity of a server: its name, and a certificate that proves it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use partita_rt::Clock;
use rcgen::{Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::PrivatePkcs8KeyDer;

use super::authority::{authority, leaf};
use super::{ClusterKey, KeyError, ServerName};

/// A certificate is renewed after this time: long before it expires, rarely enough to cost nothing.
const RENEWED_AFTER: Duration = Duration::from_secs(86_400);

/// The identity of a server in its cluster.
pub struct Identity {
    name: ServerName,
    fingerprint: String,
    issuer: Issuer<'static, KeyPair>,
    pair: KeyPair,
    pub(super) roots: Arc<RootCertStore>,
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) clock: Arc<dyn Clock>,
    current: Mutex<Current>,
}

/// The current certificate.
struct Current {
    issued: SystemTime,
    key: Arc<CertifiedKey>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({}, {})", self.name, self.fingerprint)
    }
}

impl Identity {
    /// Issues a certificate for a server of this name.
    ///
    /// # Errors
    /// [`KeyError::Create`], and [`KeyError::Invalid`] for a key that TLS does not accept.
    pub fn issue(
        key: ClusterKey,
        name: ServerName,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, KeyError> {
        let fingerprint = key.fingerprint().to_owned();
        let params = authority(&fingerprint);
        let mut roots = RootCertStore::empty();
        // Of a trusted certificate, only name and public key count: it can be created anew at each start.
        let trusted = params.self_signed(&key.pair)?;
        roots.add(trusted.der().clone()).map_err(invalid)?;
        let issuer = Issuer::new(params, key.pair);
        let pair = KeyPair::generate()?;
        let provider = Arc::new(provider());
        let now = clock.now();
        let current = Current {
            issued: now,
            key: certify(&issuer, &pair, &provider, &name, now)?,
        };
        Ok(Arc::new(Self {
            name,
            fingerprint,
            issuer,
            pair,
            roots: Arc::new(roots),
            provider,
            clock,
            current: Mutex::new(current),
        }))
    }

    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// Identifies the cluster key; see [`ClusterKey::fingerprint`].
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The certificate, renewed if it is a day old, or if the clock was set back.
    fn certificate(&self) -> Arc<CertifiedKey> {
        let now = self.clock.now();
        let mut current = self.current.lock();
        let is_fresh = now
            .duration_since(current.issued)
            .is_ok_and(|age| age < RENEWED_AFTER);
        if !is_fresh {
            match certify(&self.issuer, &self.pair, &self.provider, &self.name, now) {
                Ok(key) => *current = Current { issued: now, key },
                Err(error) => tracing::warn!(%error, "the certificate for peers was not renewed"),
            }
        }
        Arc::clone(&current.key)
    }
}

/// The cryptography between peers. Encryption is a large part of what a long answer costs, and AES with 128 bits has 10 rounds
/// where rustls' first choice, AES with 256 bits, has 14.
fn provider() -> CryptoProvider {
    let first = TLS13_AES_128_GCM_SHA256;
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|suite| *suite != first);
    provider.cipher_suites.insert(0, first);
    provider
}

fn invalid(error: impl fmt::Display) -> KeyError {
    KeyError::Invalid(error.to_string())
}

fn certify(
    issuer: &Issuer<'static, KeyPair>,
    pair: &KeyPair,
    provider: &CryptoProvider,
    name: &ServerName,
    now: SystemTime,
) -> Result<Arc<CertifiedKey>, KeyError> {
    let certificate = leaf(name, now)?.signed_by(pair, issuer)?;
    let key = PrivatePkcs8KeyDer::from(pair.serialize_der());
    let key = provider.key_provider.load_private_key(key.into());
    let chain = vec![certificate.der().clone()];
    Ok(Arc::new(CertifiedKey::new(chain, key.map_err(invalid)?)))
}

impl ResolvesServerCert for Identity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certificate())
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.certificate())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
