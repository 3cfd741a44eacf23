//! What a submitted text is. Pure rules, the one place that looks at leading characters.
