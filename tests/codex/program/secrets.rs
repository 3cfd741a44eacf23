//! Secrets of the environment: neither the agent's commands nor the record see them.

use super::program;
use crate::codex::app_server::running;

const CANARY: &str = "canary-7f3a9c";

#[test]
fn commands_of_the_agent_and_the_record_hold_no_secrets() {
    let Some(mut program) = program(
        "gpt-5.5",
        running("env; cat /proc/self/environ | tr '\\0' '\\n'"),
    ) else {
        return;
    };
    let secrets = [
        "OPENAI_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "DB_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
    ];
    for name in secrets {
        program.home.set(name, format!("{CANARY}-{name}"));
    }
    program.home.set("PLAIN", "plain-value");
    let ran = program.piped("a = 1\n.run it\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let told = format!("{:?}", program.endpoint.requests());
    assert!(
        told.contains("plain-value"),
        "the command ran and told: {told}"
    );
    assert!(!told.contains(CANARY), "the model was told a secret");
    assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY));
    let folder = program.home.history();
    for file in std::fs::read_dir(folder.parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(memchr::memmem::find(&bytes, CANARY.as_bytes()).is_none());
    }
    let stored = program.answers().join("\n");
    assert!(
        stored.contains("plain-value") && !stored.contains(CANARY),
        "{stored}"
    );
}
