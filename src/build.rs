//! The build script: how the program is linked.
//!
//! On Linux the program has a fixed address, as Debian's Python has: 44,000 pointers that the loader would have to
//! correct in each start are right in the file (0.5 ms of 2 ms, and 700 kB that forks would copy page by page).
#![allow(clippy::print_stdout, reason = "Cargo reads it")]

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    // A program without libraries is linked in another way, which gcc does not take both of.
    let is_static = target("FEATURE")
        .split(',')
        .any(|feature| feature == "crt-static");
    if target("OS") == "linux" && target("ENV") == "gnu" && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
