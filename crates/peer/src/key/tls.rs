//! TLS between peers: version 1.3 only, each side verifies the other, no session is resumed.

use std::sync::Arc;

use partita_rt::Clock;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, PeerIncompatible,
    RootCertStore, ServerConfig, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::EndEntityCert;

use super::{Identity, KeyError, ServerName};

/// The protocol inside of TLS.
const ALPN: &[u8] = b"h2";

/// A server with the cluster key has another name than expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is named {}", found.as_ref().map_or("nothing", ServerName::as_str))]
pub(crate) struct WrongName {
    pub(crate) found: Option<ServerName>,
}

/// The name in a certificate.
pub(crate) fn name_of(certificate: &CertificateDer<'_>) -> Option<ServerName> {
    let parsed = EndEntityCert::try_from(certificate).ok()?;
    parsed.valid_uri_names().find_map(ServerName::from_uri)
}

impl Identity {
    /// The settings of the accepting side. The client may have any name; [`name_of`] its certificate says which.
    pub(crate) fn server_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, KeyError> {
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::clone(&self.roots),
            Arc::clone(&self.provider),
        );
        let verifier = verifier
            .build()
            .map_err(|error| KeyError::Invalid(error.to_string()))?;
        let builder = ServerConfig::builder_with_details(Arc::clone(&self.provider), self.time());
        let mut config = builder
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| KeyError::Invalid(error.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::clone(self) as _);
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A resumed session would skip the verification, and connections are too few for it to pay.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// The settings of the connecting side, for a server of this name.
    pub(crate) fn client_config(
        self: &Arc<Self>,
        expected: ServerName,
    ) -> Result<Arc<ClientConfig>, KeyError> {
        let verifier = PeerVerifier {
            expected,
            roots: Arc::clone(&self.roots),
            algorithms: self.provider.signature_verification_algorithms,
        };
        let builder = ClientConfig::builder_with_details(Arc::clone(&self.provider), self.time());
        let mut config = builder
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| KeyError::Invalid(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(Arc::clone(self) as _);
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok(Arc::new(config))
    }

    fn time(&self) -> Arc<dyn TimeProvider> {
        Arc::new(ClockTime(Arc::clone(&self.clock)))
    }
}

/// The time of certificates.
#[derive(Debug)]
struct ClockTime(Arc<dyn Clock>);

impl TimeProvider for ClockTime {
    fn current_time(&self) -> Option<UnixTime> {
        let since = self.0.now().duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(UnixTime::since_unix_epoch(since))
    }
}

/// Verifies that a server has the cluster key and the expected name.
#[derive(Debug)]
struct PeerVerifier {
    expected: ServerName,
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PeerVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &rustls_pki_types::ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(leaf)?;
        let algorithms = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &self.roots,
            intermediates,
            now,
            algorithms,
        )?;
        let found = name_of(leaf);
        if found.as_ref() == Some(&self.expected) {
            return Ok(ServerCertVerified::assertion());
        }
        let wrong = OtherError(Arc::new(WrongName { found }));
        Err(CertificateError::Other(wrong).into())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
