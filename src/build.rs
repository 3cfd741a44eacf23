//! The build script: how the program is linked.
//!
//! On Linux the program has a fixed address, as Debian's Python has: 44,000 pointers that the loader would have to
//! correct in each start are right in the file (0.5 ms of 2 ms, and 700 kB that forks would copy page by page). As a
//! release it has no tables for unwinding (1.9 MB): it aborts on a panic, and its frames have no names to print.
#![allow(clippy::print_stdout, reason = "Cargo reads it")]

use std::path::PathBuf;

/// Understood by the linkers of GNU and LLVM.
const WITHOUT_TABLES: &str =
    "SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) } } INSERT AFTER .text;\n";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let target = |part: &str| variable(&format!("CARGO_CFG_TARGET_{part}"));
    // A program without libraries is linked in another way, which gcc does not take both of.
    let is_static = target("FEATURE")
        .split(',')
        .any(|feature| feature == "crt-static");
    if target("OS") != "linux" || target("ENV") != "gnu" || is_static {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    // mold reads no such scripts.
    let with_mold = ["CARGO_ENCODED_RUSTFLAGS", "LD_PRELOAD", "RUSTC_LINKER"]
        .iter()
        .any(|name| variable(name).contains("mold"));
    if variable("PROFILE") == "release" && !with_mold {
        let script = PathBuf::from(variable("OUT_DIR")).join("without_tables.ld");
        std::fs::write(&script, WITHOUT_TABLES).expect("Cargo's own folder can be written");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}
