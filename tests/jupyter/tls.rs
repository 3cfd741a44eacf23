//! The real gateway behind TLS: whom we believe, and what is said of whom we do not. The certificates under
//! `tests/data/jupyter` are made for this and for nothing else.

use std::path::PathBuf;

use super::gateway_server::{Served, TOKEN};
use crate::support::home::Home;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/jupyter")
        .join(name)
}

/// A gateway that shows this certificate.
fn served(name: &str) -> Option<Served> {
    let file = |end: &str| data(&format!("{name}.{end}")).display().to_string();
    Served::start(&[
        &format!("--KernelGatewayApp.certfile={}", file("pem")),
        &format!("--KernelGatewayApp.keyfile={}", file("key")),
    ])
}

#[test]
fn a_gateway_behind_tls_is_believed_by_the_file_that_is_named() {
    // One that signed itself is named itself; of another one the authority is named.
    for (name, believed, other) in [("own", "own", "authority"), ("signed", "authority", "own")] {
        let Some(served) = served(name) else {
            return;
        };
        let mut home = Home::new();
        home.set("IPYCODEX_GATEWAY_TOKEN", TOKEN);
        let url = format!("gateway:https://{}", served.address);
        let run = |home: &Home, code: &str| home.run(&["--runtime", &url, "-c", code], "");
        for wrong in [None, Some(other)] {
            if let Some(wrong) = wrong {
                home.set("IPYCODEX_GATEWAY_CA", data(&format!("{wrong}.pem")));
            }
            let ran = run(&home, "1");
            assert_eq!(ran.code(), 1, "{ran:?}");
            for said in [
                "the certificate of the gateway at https://",
                "IPYCODEX_GATEWAY_CA",
            ] {
                assert!(ran.stderr.contains(said), "{said}: {ran:?}");
            }
        }
        home.set("IPYCODEX_GATEWAY_CA", data(&format!("{believed}.pem")));
        let ran = run(&home, "print('x' * 300_000)");
        assert_eq!(
            (ran.code(), ran.stdout.len()),
            (0, 300_001),
            "{:.300}",
            ran.stderr
        );
        // Its name counts, whoever vouches for it.
        let elsewhere = url.replace("127.0.0.1", "127.0.0.2");
        let ran = home.run(&["--runtime", &elsewhere, "-c", "1"], "");
        assert_eq!(ran.code(), 1, "{ran:?}");
    }
}

#[test]
fn who_speaks_tls_to_a_plain_gateway_is_told_so() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let mut home = Home::new();
    let url = format!("gateway:https://{}", served.address);
    // It waits for a line that does not come.
    let ran = home.run(&["--runtime", &url, "-c", "1"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("without TLS it is `http://`"),
        "{ran:?}"
    );
    home.set("IPYCODEX_GATEWAY_CA", "nowhere.pem");
    let ran = home.run(&["--runtime", &url, "-c", "1"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(ran.stderr.contains("nowhere.pem"), "{ran:?}");
}
