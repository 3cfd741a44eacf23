//! Streamed markdown: deltas in, settled lines and a live tail out.
