//! What cells put out: MIME bundles, terminal bytes made safe or plain, tracebacks.

pub mod mime;
pub mod traceback;
