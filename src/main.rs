//! Start-up: arguments in, exit code out.

fn main() {
    std::process::exit(ipycodex::cli::main());
}
