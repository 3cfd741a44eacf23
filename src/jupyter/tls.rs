//! Who a gateway behind TLS has to be: one that certificates of the system, or of a file the user names, vouch for.
//!
//! In: that file. Out: what connections are made with. Invariants: nothing is taken unseen; certificates are read when
//! the first connection needs them. A certificate that stands in the user's file is taken as it is, under its names:
//! most that people make for themselves (`openssl req -x509`) are those of an authority, which no server may use.

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

/// Who is believed.
#[derive(Debug, Clone, Default)]
pub(super) struct Trust {
    file: Option<PathBuf>,
    config: Arc<OnceLock<Result<Arc<ClientConfig>, String>>>,
}

impl Trust {
    /// The system's, and the certificates of this file.
    pub(super) fn with(file: Option<PathBuf>) -> Self {
        Trust {
            file,
            config: Arc::default(),
        }
    }

    /// What connections are made with; certificates are read at the first.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        self.config
            .get_or_init(|| config(self.file.as_deref()))
            .clone()
    }
}

/// The certificates of a file.
///
/// # Errors
/// It cannot be read, or has none.
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
    // What cannot be read of the system's vouches for nobody.
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

/// Takes what others vouch for, and the user's own certificates themselves.
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
        // That of an authority, which its time has been looked at before.
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

/// How the text of a fault begins that is one of a certificate.
const CERTIFICATE: &str = "invalid peer certificate: ";

/// Why a certificate is not believed, where a fault is of that; in words a user knows.
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
