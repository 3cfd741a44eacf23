//! Sizes, ages and counts as short text for people. Pure.

use std::time::Duration;

pub fn bytes_in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => {
            let tenths = bytes / 100_000_000;
            format!("{}.{} GB", tenths / 10, tenths % 10)
        }
    }
}

pub fn age_in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Formats a count: `1 session`, `2 sessions`.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_told_in_their_unit() {
        let sizes = [0, 999, 1_001, 2_000_000, 1_250_000_000].map(bytes_in_words);
        assert_eq!(sizes, ["0 B", "999 B", "2 kB", "2 MB", "1.2 GB"]);
        let ages = [59, 61, 7_300, 180_000].map(|age| age_in_words(Duration::from_secs(age)));
        assert_eq!(ages, ["59 s", "1 min", "2 h", "2 days"]);
        let counts = [0, 1, 2].map(|count| counted(count, "cell"));
        assert_eq!(counts, ["0 cells", "1 cell", "2 cells"]);
    }
}
