//! The command line: what was typed, and which front-end or subcommand it means.
