//! What the kernel says of itself.

use serde_json::{Value, json};

use crate::jupyter::PROTOCOL;
use crate::kernel::front::Introduces;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) struct About;

impl Introduces for About {
    async fn kernel(&self) -> Value {
        let own = env!("CARGO_PKG_VERSION");
        json!({
            "status": "ok",
            "protocol_version": PROTOCOL,
            "implementation": "agent_client_kernel",
            "implementation_version": own,
            "language_info": {
                "name": "agent",
                "version": own,
                "mimetype": "text/plain",
                "file_extension": ".agent",
            },
            "banner": format!("Agent Client Protocol Kernel v{own}"),
            "debugger": false,
            "supported_features": [],
            "help_links": [{"text": "ipycodex", "url": env!("CARGO_PKG_REPOSITORY")}],
        })
    }
}
