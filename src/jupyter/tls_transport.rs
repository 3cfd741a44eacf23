//! TLS for the HTTP client of gateways: ureq's connections with our own trust.
//!
//! Invariant: an `https` address is never requested without TLS. By hand, since ureq's own TLS takes root certificates
//! but no verifier, and [`Trust`] accepts a certificate that was named itself.

use std::fmt;
use std::io::{Read, Write};

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, TcpConnector,
    Transport, TransportAdapter,
};
use ureq::{Agent, Error, config::Config};

use super::tls::Trust;

pub(super) fn agent(config: Config, trust: &Trust) -> Agent {
    let connector = TcpConnector::default();
    Agent::with_parts(
        config,
        ().chain(connector).chain(Secured(trust.clone())),
        DefaultResolver::default(),
    )
}

/// Adds TLS to connections of `https` addresses.
#[derive(Debug)]
struct Secured(Trust);

impl<In: Transport> Connector<In> for Secured {
    type Out = Either<In, Tls>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let failed = |why: String| Error::Other(why.into());
        let config = self.0.config().map_err(failed)?;
        let host = details.uri.host().unwrap_or_default();
        let name = server_name(host).map_err(failed)?;
        let mut connection =
            ClientConnection::new(config, name).map_err(|error| failed(error.to_string()))?;
        let mut way = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        way.set_timeout(details.timeout);
        connection.complete_io(&mut way)?;
        Ok(Some(Either::B(Tls {
            buffers: LazyBuffers::new(
                details.config.input_buffer_size(),
                details.config.output_buffer_size(),
            ),
            stream: StreamOwned::new(connection, way),
        })))
    }
}

/// Returns the name that the certificate must carry for this host of an address.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(bare.to_owned()).map_err(|_| format!("`{bare}` is not a host name"))
}

struct Tls {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl Transport for Tls {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls")
            .field(&self.stream.sock.inner())
            .finish()
    }
}
