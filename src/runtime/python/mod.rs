//! The embedded Python runtime: one child process, two private pipes, and its terminal or output pipes.
