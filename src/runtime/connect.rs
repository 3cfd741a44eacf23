//! Chooses a runtime by kind: the only place below start-up that names them.
