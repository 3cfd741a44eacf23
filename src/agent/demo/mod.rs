//! The built-in offline agent: the server half of the Codex protocol, in a child process of the same binary.
