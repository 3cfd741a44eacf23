//! What kernels and gateways send: ZMTP frames and the parts of messages, the frames of a websocket.
//!
//! In: what the other side writes once it has greeted. Invariants: whichever way it is cut, the same messages are
//! heard, each of them once; the loss of the connection is heard, with a reason.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;

use base64::Engine;
use ipycodex::jupyter::{ChannelEvent, ConnectionInfo, Gateway, IncomingMessage};
use ipycodex::jupyter::{open_channels, open_socket};
use serde_json::json;

use super::mutate::cuts;
use crate::support::home::PATIENCE;

/// A message as it was heard.
type Heard = (String, String, String, Vec<Vec<u8>>);

fn heard(message: &IncomingMessage) -> Heard {
    let header = message.header.to_string();
    let content = json!([message.parent, message.metadata, message.content]);
    assert!(message.header.is_object(), "{header}");
    (
        message.msg_type.clone(),
        header,
        content.to_string(),
        message.buffers.clone(),
    )
}

/// Writes in these pieces; the reader may have had enough.
fn pour(to: &mut impl Write, bytes: &[u8], cuts: &[usize]) {
    let mut from = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        if to
            .write_all(&bytes[from..cut])
            .and_then(|()| to.flush())
            .is_err()
        {
            return;
        }
        from = cut;
        std::thread::yield_now();
    }
}

fn block<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(PATIENCE, work).await };
    runtime.block_on(limited).expect("an end in time")
}

/// Any bytes behind the greeting of a kernel are messages, or end the connection.
pub fn kernel(bytes: &[u8]) {
    let whole = from_a_kernel(bytes, &[]);
    assert_eq!(from_a_kernel(bytes, &cuts(bytes)), whole);
}

fn from_a_kernel(bytes: &[u8], cuts: &[usize]) -> Vec<Heard> {
    let folder = tempfile::tempdir().unwrap();
    let ip = folder.path().join("k").display().to_string();
    let listeners = [1, 2, 3, 4].map(|port| UnixListener::bind(format!("{ip}-{port}")).unwrap());
    let info = json!({"transport": "ipc", "ip": ip, "shell_port": 1, "control_port": 2, "stdin_port": 3,
        "iopub_port": 4, "hb_port": 5, "key": "", "signature_scheme": "hmac-sha256"});
    let info: ConnectionInfo = serde_json::from_value(info).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut streams = listeners.map(|listener| listener.accept().unwrap().0);
            for (at, stream) in streams.iter_mut().enumerate() {
                let kind: &[u8] = if at == 3 { b"XPUB" } else { b"ROUTER" };
                let mut hello = vec![0; 64];
                (hello[0], hello[9], hello[10]) = (0xff, 0x7f, 3);
                hello[12..16].copy_from_slice(b"NULL");
                let ready = [
                    b"\x05READY\x0bSocket-Type\0\0\0",
                    &[kind.len() as u8][..],
                    kind,
                ]
                .concat();
                hello.extend([4, ready.len() as u8]);
                hello.extend(ready);
                stream.write_all(&hello).unwrap();
            }
            let iopub = &mut streams[3];
            let mut theirs = [0; 66];
            iopub.read_exact(&mut theirs).unwrap();
            let mut rest = vec![0; usize::from(theirs[65]) + 3];
            iopub.read_exact(&mut rest).unwrap();
            assert!(rest.ends_with(&[0, 1, 1]), "it subscribes to everything");
            pour(iopub, bytes, cuts);
            // The others stay until this one is read to its end.
            let _ = iopub.shutdown(std::net::Shutdown::Write);
            let _ = iopub.read(&mut [0]);
        });
        block(async {
            let (tell, mut told) = tokio::sync::mpsc::channel(16);
            let channels = open_channels(&info, tell).await.expect("it is a kernel");
            let mut all = Vec::new();
            loop {
                match told.recv().await.expect("the end is told") {
                    ChannelEvent::Message(message) => all.push(heard(&message)),
                    ChannelEvent::Lost(why) => {
                        assert!(
                            !why.is_empty() && !why.contains(char::is_control),
                            "{why:?}"
                        );
                        drop(channels);
                        return all;
                    }
                }
            }
        })
    })
}

/// Any bytes behind the answer of a gateway are frames, or end the connection.
pub fn gateway(bytes: &[u8]) {
    for newer in [true, false] {
        let whole = from_a_gateway(bytes, &[], newer);
        let cut = from_a_gateway(bytes, &cuts(bytes), newer);
        assert_eq!(cut, whole, "newer: {newer}");
    }
}

fn from_a_gateway(bytes: &[u8], cuts: &[usize], newer: bool) -> Vec<Heard> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Gateway::at(&format!("http://{address}"), None).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // One that knows the older form alone is asked for that in a second call.
            let mut stream = upgraded(&listener, newer);
            if !newer {
                stream = upgraded(&listener, false);
            }
            pour(&mut stream, bytes, cuts);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // Until the other side closes: what it still says would be answered with a reset.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        block(async {
            let socket = open_socket(&gateway, "k", "s")
                .await
                .expect("it is a gateway");
            let (_orders, mut orders) = tokio::sync::mpsc::unbounded_channel();
            let (tell, mut told) = tokio::sync::mpsc::channel(16);
            let listens = async {
                let mut all = Vec::new();
                while let Some(event) = told.recv().await {
                    if let ChannelEvent::Message(message) = event {
                        all.push(heard(&message));
                    }
                }
                all
            };
            let carries = async move {
                let why = socket.carry(&mut orders, &tell).await;
                assert!(
                    why.is_some_and(|why| !why.is_empty()),
                    "the end has a reason"
                );
                drop(tell);
            };
            tokio::join!(listens, carries).0
        })
    })
}

/// The stream of the next websocket.
fn upgraded(listener: &TcpListener, newer: bool) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        (name.eq_ignore_ascii_case("sec-websocket-key")).then(|| value.to_owned())
    });
    let key = key.expect("a websocket is asked for") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let accept = base64::engine::general_purpose::STANDARD.encode(sha1(key.as_bytes()));
    let protocol = match newer {
        true => "Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\n",
        false => "",
    };
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{protocol}\r\n"
    );
    stream.write_all(answer.as_bytes()).unwrap();
    stream
}

/// SHA-1, with which a server of websockets answers.
fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut state = [
        0x6745_2301_u32,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes(bytes.try_into().unwrap());
        }
        for at in 16..80 {
            let mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
            words[at] = mixed.rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (at, word) in words.iter().enumerate() {
            let (f, k) = match at {
                0..20 => (b & c | !b & d, 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let next = [a.rotate_left(5), f, e, k, *word];
            let next = next.into_iter().fold(0, u32::wrapping_add);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut digest = [0; 20];
    for (part, word) in digest.chunks_exact_mut(4).zip(state) {
        part.copy_from_slice(&word.to_be_bytes());
    }
    digest
}
