//! `model/list`: the available models.

use serde::{Deserialize, Serialize};

use super::or_default;

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

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Model {
    #[serde(deserialize_with = "or_default")]
    pub(crate) model: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) description: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) hidden: bool,
    #[serde(deserialize_with = "or_default")]
    pub(crate) supported_reasoning_efforts: Vec<ReasoningEffortOption>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) default_reasoning_effort: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) is_default: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReasoningEffortOption {
    #[serde(deserialize_with = "or_default")]
    pub(crate) reasoning_effort: String,
}
