//! Trust in a gateway's TLS certificate: the authorities of the system, and the certificates of a file that the
//! user names.
//!
//! In: that file. Out: the configuration of connections. Invariants: every certificate is checked; certificates are
//! read with the first connection. A certificate that is itself in the user's file is accepted for the names it
//! carries: most self-made ones (`openssl req -x509`) are marked as authorities, which no server may use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

#[derive(Debug, Clone, Default)]
pub(super) struct Trust {
    file: Option<PathBuf>,
    config: Arc<OnceLock<Result<Arc<ClientConfig>, String>>>,
}

impl Trust {
    /// Trusts the system's authorities, and the certificates of this file.
    pub(super) fn with(file: Option<PathBuf>) -> Self {
        Trust {
            file,
            config: Arc::default(),
        }
    }

    /// Returns the configuration of connections; the first call reads the certificates.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        self.config
            .get_or_init(|| config(self.file.as_deref()))
            .clone()
    }
}

/// Reads the certificates of a file.
///
/// # Errors
/// The file is not readable, or has no certificate.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => Err("it holds no certificate in PEM form".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(error.to_string()),
    }
}

fn config(file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let own = match file {
        Some(file) => certificates(file).map_err(|why| format!("`{}`: {why}", file.display()))?,
        None => Vec::new(),
    };
    let mut roots = RootCertStore::empty();
    // Certificates of the system that cannot be parsed are ignored.
    let system = rustls_native_certs::load_native_certs().certs;
    roots.add_parsable_certificates(system.into_iter().chain(own.iter().cloned()));
    if roots.is_empty() {
        return Err("this system has no trusted certificate authorities".to_owned());
    }
    let provider = Arc::new(default_provider());
    let wrong = |error: &dyn std::error::Error| error.to_string();
    let others = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| wrong(&error))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(UserOrSystemVerifier { own, others }))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Accepts certificates signed by an authority, and those of the user's file themselves.
#[derive(Debug)]
struct UserOrSystemVerifier {
    own: Vec<CertificateDer<'static>>,
    others: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for UserOrSystemVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let told = self.others.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        // The server uses an authority's certificate, whose validity period was checked before.
        let used_itself = matches!(
            told,
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
        );
        if used_itself && self.own.iter().any(|own| own == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        told
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.others.supported_verify_schemes()
    }
}

/// Prefix of certificate errors in the texts of connection errors.
const CERTIFICATE: &str = "invalid peer certificate: ";

/// Returns the reason in plain words when an error is about a certificate.
pub(super) fn certificate_error(fault: &str) -> Option<String> {
    let (_, why) = fault.split_once(CERTIFICATE)?;
    let known = [
        (
            "UnknownIssuer",
            "no authority that is trusted here signed it",
        ),
        ("Expired", "it has expired"),
        ("certificate expired", "it has expired"),
        ("NotValidYet", "it is not valid yet"),
        ("certificate not valid yet", "it is not valid yet"),
        ("NotValidForName", "it is for another host name"),
        (
            "certificate not valid for name",
            "it is for another host name",
        ),
        (
            "CaUsedAsEndEntity",
            "it is self-signed, or an authority's own, and you have not named it",
        ),
    ];
    let found = known.iter().find(|(word, _)| why.contains(word));
    Some(found.map_or_else(|| why.to_owned(), |(_, said)| (*said).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        assert!(certificates(&file).is_err());
        std::fs::write(&file, "hello\n").unwrap();
        let why = Trust::with(Some(file)).config().unwrap_err();
        assert!(
            why.contains("ca.pem") && why.contains("no certificate"),
            "{why}"
        );
    }

    #[test]
    fn faults_of_certificates_are_told_from_others() {
        for (fault, said) in [
            (
                "io: invalid peer certificate: UnknownIssuer",
                Some("no authority that is trusted here signed it"),
            ),
            (
                "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
                Some("it is self-signed, or an authority's own, and you have not named it"),
            ),
            ("invalid peer certificate: BadEncoding", Some("BadEncoding")),
            ("Connection refused (os error 111)", None),
        ] {
            assert_eq!(certificate_error(fault).as_deref(), said, "{fault}");
        }
    }
}
