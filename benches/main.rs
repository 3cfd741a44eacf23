//! Timings against the peers.

fn main() {}
