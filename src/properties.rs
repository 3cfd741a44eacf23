//! How property tests run, and those of deep nesting: the same cases each time, or many new ones when asked.
//!
//! In: how many cases a test has, and [`TIMES`] in the environment. Out: the configuration each `proptest!` of this
//! crate names. Invariant: without the variable a run is a function of the source, so it fails for the commit that
//! broke something and for no other. Absent on purpose: files of failures; what random runs find becomes an example
//! test.

use proptest::test_runner::{Config, RngSeed};

/// How many times the usual number of cases to run, from a random seed.
const TIMES: &str = "IPYCODEX_PROPTEST_TIMES";

const SEED: u64 = 20_260_101;

/// The usual number of cases where a test has no reason for another.
pub const USUAL: u32 = 256;

/// For a test of `cases` cases.
pub fn cases(cases: u32) -> Config {
    config(cases, std::env::var(TIMES).ok().as_deref())
}

fn config(cases: u32, times: Option<&str>) -> Config {
    let times: Option<u32> = times.map(|times| {
        times
            .parse()
            .unwrap_or_else(|_| panic!("{TIMES} is a number, not {times:?}"))
    });
    Config {
        cases: cases.saturating_mul(times.unwrap_or(1)),
        rng_seed: times.map_or(RngSeed::Fixed(SEED), |_| RngSeed::Random),
        failure_persistence: None,
        ..Config::default()
    }
}

/// Runs a test on the smallest stack that a thread of ours has: none asks for another than the usual one of Rust and of
/// `tokio`. What overflows it ends the whole test program.
pub fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let thread = thread.spawn(test).expect("a thread can be had");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_repeatable_unless_more_is_asked_for() {
        let usual = config(200, None);
        assert_eq!((usual.cases, usual.rng_seed), (200, RngSeed::Fixed(SEED)));
        let asked = config(200, Some("50"));
        assert_eq!((asked.cases, asked.rng_seed), (10_000, RngSeed::Random));
    }
}
