//! Start-up: arguments in, exit code out.

fn main() {}
