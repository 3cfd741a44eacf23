//! The last line of an answer: tokens, price and time of the turn, and how full the model's context window is.

use std::time::Duration;

use crate::agent::Usage;
use crate::output::limits::grouped;

/// Percent of the window from which the line says what to do.
const NEARLY_FULL: u64 = 80;

/// Returns the line, without style.
pub(super) fn last_line(usage: Option<Usage>, took: Duration) -> String {
    let mut parts = Vec::new();
    if let Some(usage) = &usage {
        let other_figures = usage.cost.is_some() || usage.filled.is_some();
        if !other_figures || usage.input + usage.output > 0 {
            let (read, written) = (grouped(usage.input), grouped(usage.output));
            parts.push(format!("{read} in · {written} out"));
        }
        parts.extend(usage.cost.map(|cost| format!("{cost} so far")));
    }
    parts.push(format!("{:.1} s", took.as_secs_f64()));
    let fullness = usage.and_then(|usage| usage.fullness());
    parts.extend(fullness.map(|percent| match percent {
        0..NEARLY_FULL => format!("window {percent}% full"),
        _ => format!("window {percent}% full: `%ipycodex context` shows with what, `%ipycodex compact` makes room"),
    }));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Cost;

    #[test]
    fn the_line_has_what_is_known() {
        let counts = Usage {
            input: 1_234,
            output: 56,
            ..Usage::default()
        };
        let window = |filled| Usage {
            filled: Some(filled),
            window: Some(200_000),
            ..Usage::default()
        };
        let cost = Cost::new(0.5, "USD");
        for (usage, expected) in [
            (None, "3.2 s"),
            (Some(Usage::default()), "0 in · 0 out · 3.2 s"),
            (Some(counts), "1,234 in · 56 out · 3.2 s"),
            (
                Some(Usage { cost, ..counts }),
                "1,234 in · 56 out · 0.50 USD so far · 3.2 s",
            ),
            (
                Some(Usage {
                    cost,
                    ..Usage::default()
                }),
                "0.50 USD so far · 3.2 s",
            ),
            (Some(window(1_000)), "3.2 s · window 0% full"),
            (Some(window(159_999)), "3.2 s · window 79% full"),
            (
                Some(window(160_000)),
                "3.2 s · window 80% full: `%ipycodex context` shows with what, `%ipycodex compact` makes room",
            ),
        ] {
            assert_eq!(last_line(usage, Duration::from_millis(3_210)), expected);
        }
    }
}
