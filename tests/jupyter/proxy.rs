//! A way between us and a gateway that can be cut, or answer in its place.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::gateway_server::Served;

/// The way between us and a gateway.
#[derive(Default)]
pub(super) struct Way {
    /// Its connections, to be cut.
    pub(super) open: Mutex<Vec<TcpStream>>,
    /// What a new connection is answered in the gateway's place.
    pub(super) answers: Mutex<Option<&'static str>>,
}

/// Carries bytes between us and a gateway.
pub(super) fn between(served: &Served) -> (String, Arc<Way>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let way: Arc<Way> = Arc::default();
    let (there, kept) = (served.address.clone(), Arc::clone(&way));
    std::thread::spawn(move || {
        for mut ours in listener.incoming().flatten() {
            if let Some(answer) = *kept.answers.lock().unwrap() {
                let _ = (ours.read(&mut [0; 4096]), ours.write_all(answer.as_bytes()));
                continue;
            }
            let Ok(theirs) = TcpStream::connect(&there) else {
                continue;
            };
            kept.open.lock().unwrap().push(ours.try_clone().unwrap());
            for (mut from, mut to) in [
                (ours.try_clone().unwrap(), theirs.try_clone().unwrap()),
                (theirs, ours),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
            }
        }
    });
    (address, way)
}
