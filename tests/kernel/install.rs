//! `kernel install`, `uninstall`, `list`, and what is said where there is nothing to do.

use crate::support::home::Home;

#[test]
fn a_kernel_is_installed_listed_and_taken_away() {
    let home = Home::new();
    let run = |words: &[&str]| {
        let mut all = vec!["kernel"];
        all.extend(words);
        home.run(&all, "")
    };
    let listed = run(&["list"]);
    assert!(
        listed.stdout.contains("No ipycodex kernel is installed"),
        "{listed:?}"
    );
    let installed = run(&["install", "--user"]);
    assert_eq!(installed.code(), 0, "{installed:?}");
    let folder = home.path().join("data/jupyter/kernels/ipycodex");
    let spec = std::fs::read_to_string(folder.join("kernel.json")).unwrap();
    for said in ["\"message\"", "{connection_file}", "--python", "python3"] {
        assert!(spec.contains(said), "{said}: {spec}");
    }
    let listed = run(&["list"]);
    assert!(
        listed.stdout.contains(folder.to_str().unwrap()),
        "{listed:?}"
    );
    assert_eq!(run(&["uninstall"]).code(), 0);
    assert!(!folder.exists());
    let gone = run(&["uninstall"]);
    assert_eq!(gone.code(), 1, "{gone:?}");
    assert!(
        gone.stderr.contains("no kernel of ipycodex is installed"),
        "{gone:?}"
    );
}

#[test]
fn the_kernel_of_agents_stands_beside_the_other() {
    let home = Home::new();
    let run = |words: &[&str]| home.run(words, "");
    assert_eq!(run(&["kernel", "install"]).code(), 0);
    let installed = run(&["kernel", "install", "--agent"]);
    assert_eq!(installed.code(), 0, "{installed:?}");
    assert!(
        installed.stdout.contains("ACP_AGENT_COMMAND"),
        "{installed:?}"
    );
    let folder = home.path().join("data/jupyter/kernels/agentclient");
    let spec = std::fs::read_to_string(folder.join("kernel.json")).unwrap();
    for said in [
        "\"Agent Client Protocol\"",
        "\"agent\"",
        "\"message\"",
        "\"--agent\"",
    ] {
        assert!(spec.contains(said), "{said}: {spec}");
    }
    let listed = run(&["kernel", "list"]).stdout;
    for name in ["kernels/ipycodex", "kernels/agentclient"] {
        assert!(listed.contains(name), "{listed}");
    }
    // With a name it is the agent of the other kernel.
    assert_eq!(run(&["kernel", "install", "--agent", "demo"]).code(), 0);
    let other = home
        .path()
        .join("data/jupyter/kernels/ipycodex/kernel.json");
    assert!(std::fs::read_to_string(other).unwrap().contains("\"demo\""));
    assert_eq!(run(&["kernel", "uninstall", "--agent"]).code(), 0);
    assert!(!folder.exists());
    let gone = run(&["kernel", "uninstall", "--agent"]);
    assert!(
        gone.code() == 1 && gone.stderr.contains("kernels/agentclient"),
        "{gone:?}"
    );
    assert!(run(&["kernel", "list"]).stdout.contains("kernels/ipycodex"));
}

#[test]
fn what_cannot_be_served_is_named() {
    let home = Home::new();
    let nothing = home.run(&["kernel"], "");
    assert_eq!(nothing.code(), 2, "{nothing:?}");
    assert!(
        nothing.stderr.contains("ipycodex kernel install"),
        "{nothing:?}"
    );
    let missing = home.run(&["kernel", "-f", "nowhere.json"], "");
    assert_eq!(missing.code(), 1, "{missing:?}");
    assert!(
        missing.stderr.contains("`nowhere.json` cannot be read"),
        "{missing:?}"
    );
    for (field, value, said) in [
        ("key", serde_json::json!(5), "expected a string"),
        ("shell_port", serde_json::json!("x"), "expected u16"),
        (
            "signature_scheme",
            serde_json::json!("hmac-md5"),
            "only hmac-sha256",
        ),
    ] {
        let mut file = serde_json::json!({
            "ip": "127.0.0.1", "transport": "tcp", "signature_scheme": "hmac-sha256", "key": "k",
            "shell_port": 0, "iopub_port": 0, "stdin_port": 0, "control_port": 0, "hb_port": 0,
        });
        file[field] = value;
        home.write("wrong.json", file.to_string());
        let ran = home.run(&["kernel", "-f", "wrong.json"], "");
        assert_eq!(ran.code(), 1, "{field}: {ran:?}");
        assert!(
            ran.stderr.contains("`wrong.json`") && ran.stderr.contains(said),
            "{field}: {ran:?}"
        );
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = port.local_addr().unwrap().port();
    let file = serde_json::json!({
        "ip": "127.0.0.1", "transport": "tcp", "signature_scheme": "hmac-sha256", "key": "k",
        "shell_port": taken, "iopub_port": 0, "stdin_port": 0, "control_port": 0, "hb_port": 0,
    });
    home.write("taken.json", file.to_string());
    let ran = home.run(&["kernel", "-f", "taken.json"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("cannot listen") && ran.stderr.contains("port"),
        "{ran:?}"
    );
}
