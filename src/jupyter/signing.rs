//! The parts of a message on the wire, and the signature among them (Jupyter messaging 5.5, "The Wire Protocol").
//!
//! In: a message and who it goes to. Out: parts, and back. Invariant: what is not signed with the key is no message.
//! A connection file with an empty key asks for no signature.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::message::{Channel, IncomingMessage, OutgoingMessage};

/// One message of a socket.
pub(super) type Parts = Vec<Vec<u8>>;

const DELIMITER: &[u8] = b"<IDS|MSG>";

/// Signs for one session of a client or a kernel.
#[derive(Debug, Clone)]
pub(super) struct Signing {
    key: Option<Hmac<Sha256>>,
    session: String,
}

impl Signing {
    pub(super) fn new(key: &str, session: String) -> Self {
        let key = (!key.is_empty()).then_some(key.as_bytes());
        Signing {
            // A key of any length will do for HMAC.
            key: key.and_then(|key| Hmac::new_from_slice(key).ok()),
            session,
        }
    }

    /// Returns the parts of a message to whoever has these identities.
    pub(super) fn seal(&self, identities: Parts, message: &OutgoingMessage) -> Parts {
        let signed = message.texts(&self.session).map(String::into_bytes);
        let signature = self.key.as_ref().map_or_else(String::new, |key| {
            let digest = over(key, &signed).finalize().into_bytes();
            digest.iter().map(|byte| format!("{byte:02x}")).collect()
        });
        let mut parts = identities;
        parts.extend([DELIMITER.to_vec(), signature.into_bytes()]);
        parts.extend(signed);
        parts.extend_from_slice(&message.buffers);
        parts
    }

    /// Returns the identities before a message, and the message; `None` when it is none, or not signed with the key.
    pub(super) fn open(&self, channel: Channel, parts: Parts) -> Option<(Parts, IncomingMessage)> {
        let delimiter = parts.iter().position(|part| part == DELIMITER)?;
        let (signature, rest) = parts[delimiter + 1..].split_first()?;
        if let Some(key) = &self.key {
            over(key, rest.get(..4)?)
                .verify_slice(&digits(signature)?)
                .ok()?;
        }
        let message = IncomingMessage::from_parts(channel, rest.iter().map(Vec::as_slice))?;
        Some((parts[..delimiter].to_vec(), message))
    }
}

fn over(key: &Hmac<Sha256>, signed: &[Vec<u8>]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    signed.iter().for_each(|part| mac.update(part));
    mac
}

/// The bytes that hexadecimal digits stand for.
fn digits(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    };
    text.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signing(key: &str) -> Signing {
        Signing::new(key, "s".to_owned())
    }

    #[test]
    fn a_message_comes_back_with_its_identities_and_buffers() {
        for key in ["", "a key", &"longer than a block of the hash ".repeat(8)] {
            let mut message = OutgoingMessage::new(Channel::Shell, "kind", json!({ "é": [1] }));
            message.parent = Some(json!({ "msg_id": "before", "field of its own": 1 }));
            message.buffers = vec![vec![0xff], Vec::new()];
            let to = vec![b"a".to_vec(), Vec::new()];
            let parts = signing(key).seal(to.clone(), &message);
            let (identities, back) = signing(key).open(Channel::Shell, parts).unwrap();
            assert_eq!(identities, to);
            assert_eq!((back.text("é"), &back.content["é"]), ("", &json!([1])));
            assert_eq!(back.header["session"], "s");
            assert_eq!(
                (back.msg_type.as_str(), back.parent.as_deref()),
                ("kind", Some("before"))
            );
            assert_eq!(back.buffers, message.buffers);
        }
    }

    /// `hmac.new(b"key", b'{"msg_type":"x"}{}{}{}', "sha256").hexdigest()` by Python.
    const BY_PYTHON: &str = "2282ffffd6e72182b2147b922df4101295f0e2d918c7acf0eeda19c870533a00";

    #[test]
    fn only_what_is_signed_with_the_key_is_a_message() {
        let header = br#"{"msg_type":"x"}"#.as_slice();
        let parts = |signature: &str| -> Parts {
            let all = [DELIMITER, signature.as_bytes(), header, b"{}", b"{}", b"{}"];
            all.map(<[u8]>::to_vec).into()
        };
        let opens = |key: &str, parts: Parts| signing(key).open(Channel::Iopub, parts).is_some();
        assert!(opens("key", parts(BY_PYTHON)));
        assert!(opens("key", parts(&BY_PYTHON.to_uppercase())));
        assert!(opens("", parts("")));
        assert!(!opens("other key", parts(BY_PYTHON)));
        for wrong in [
            "",
            &BY_PYTHON[1..],
            &BY_PYTHON[2..],
            &BY_PYTHON.replace('a', "g"),
            "é",
        ] {
            assert!(!opens("key", parts(wrong)), "{wrong}");
        }
        for at in 2..6 {
            let mut changed = parts(BY_PYTHON);
            changed[at].push(b' ');
            assert!(!opens("key", changed), "{at}");
            assert!(!opens("key", parts(BY_PYTHON)[..at].to_vec()), "{at}");
        }
        assert!(!opens("key", parts(BY_PYTHON)[1..].to_vec()));
    }
}
