//! The session: owns the turn and the record, and is what every front-end talks to.
