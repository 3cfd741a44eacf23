//! `model/list`: the available models.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize)]
pub(crate) struct ModelListParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
}

/// A page of models; a cursor means that there are more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelListResponse {
    pub(crate) data: Vec<Model>,
    #[serde(default)]
    pub(crate) next_cursor: Option<String>,
}

lenient! {
    struct Model {
        model: String,
        description: String,
        hidden: bool,
        supported_reasoning_efforts: Vec<ReasoningEffortOption>,
        default_reasoning_effort: String,
        is_default: bool,
    }

    struct ReasoningEffortOption {
        reasoning_effort: String,
    }
}
