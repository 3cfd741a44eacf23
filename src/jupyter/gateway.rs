//! HTTP client of a Jupyter gateway: lists kernels, starts, interrupts and ends one.
//!
//! In: address, token and certificate file. Out: replies, or errors that a user can act on. Calls block, each with
//! a time limit. Invariant: the token is sent to the gateway alone and is never shown. Absent on purpose: proxies.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::tls::{Trust, certificate_error};
use super::tls_transport::agent;

/// Time limit of calls about existing kernels.
const ANSWERS: Duration = Duration::from_secs(10);
/// Time limit of the call that only checks the gateway.
const LIVES: Duration = Duration::from_secs(5);

/// Address of a gateway, its token, and the certificates to trust.
#[derive(Clone)]
pub struct Gateway {
    /// `http://HOST:PORT/PATH` or `https://…`, without a trailing slash.
    url: String,
    token: Option<String>,
    trust: Trust,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gateway({})", self.url)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// There was no connection, or it broke or timed out.
    #[error("the gateway at {url} does not answer: {why}")]
    Unreachable {
        url: String,
        /// Error of the connection.
        why: String,
    },
    #[error("the certificate of the gateway at {url} is not accepted: {why}")]
    Untrusted {
        url: String,
        /// Reason in plain words.
        why: String,
    },
    /// The token is wrong or missing.
    #[error(
        "the gateway at {url} refused access (HTTP {status}{})",
        after_colon(said)
    )]
    Refused {
        url: String,
        /// 401 or 403.
        status: u16,
        /// The gateway's message; may be empty.
        said: String,
    },
    /// The kernel does not exist, or the address is not a gateway's.
    #[error("the gateway at {url} does not know `{what}` (HTTP 404)")]
    Missing {
        url: String,
        /// The name or path of the request.
        what: String,
    },
    /// The gateway runs as many kernels as it may.
    #[error("the gateway at {url} has reached its limit of kernels: {said}")]
    Full {
        url: String,
        /// The gateway's message.
        said: String,
    },
    /// Any other HTTP error.
    #[error("the gateway at {url} answers HTTP {status}: {said}")]
    Failed {
        url: String,
        status: u16,
        /// The gateway's message.
        said: String,
    },
    /// The reply has not the form of a gateway's.
    #[error("what answers at {url} is not a Jupyter gateway: {why}")]
    Strange {
        url: String,
        /// The expected content.
        why: String,
    },
}

/// Returns true for the message of a full gateway. A Kernel Gateway (`Resource Limit`) and an Enterprise Gateway
/// (`A max kernels limit has been set to 1`) send it with the status of a refused token.
fn is_kernel_limit(said: &str) -> bool {
    said == "Resource Limit" || said.starts_with("A max kernels")
}

fn after_colon(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

impl GatewayError {
    pub fn hint(&self) -> &'static str {
        match self {
            GatewayError::Refused { .. } => {
                "set IPYCODEX_GATEWAY_TOKEN to the token it was started with; an Enterprise Gateway may want to know \
                 who you are, too: set KERNEL_USERNAME"
            }
            GatewayError::Unreachable { .. } => {
                "start the gateway, or correct its address: `--runtime gateway:http://HOST:PORT`"
            }
            GatewayError::Untrusted { .. } => {
                "set IPYCODEX_GATEWAY_CA to a file with its certificate, or that of the authority that signed it (PEM)"
            }
            GatewayError::Missing { .. } | GatewayError::Strange { .. } => {
                "give its address without `/api`, followed by `#` and one of its kernels: \
                 `gateway:http://HOST:PORT#NAME`"
            }
            GatewayError::Full { .. } => {
                "end a kernel there, or ask whoever runs it for more (`max_kernels`)"
            }
            GatewayError::Failed { .. } => "its own log says more",
        }
    }
}

impl Gateway {
    /// Parses an address; `None` when it is no gateway address. A token in the address (`?token=T`) overrides
    /// `token`.
    pub fn at(address: &str, token: Option<String>) -> Option<Self> {
        let (url, query) = address.split_once('?').unwrap_or((address, ""));
        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"))?;
        let host = rest.split('/').next().unwrap_or_default();
        let fine = |letter: char| !letter.is_whitespace() && !letter.is_control() && letter != '@';
        if host.is_empty() || !rest.chars().all(fine) {
            return None;
        }
        let own = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="));
        let token = own.map(str::to_owned).or(token);
        Some(Gateway {
            url: url.trim_end_matches('/').to_owned(),
            token: token.filter(|token| !token.is_empty()),
            trust: Trust::default(),
        })
    }

    /// Trusts the certificates of this file as well as those of the system.
    #[must_use]
    pub fn with_ca_file(self, file: Option<PathBuf>) -> Self {
        Gateway {
            trust: Trust::with(file),
            ..self
        }
    }

    pub(super) fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Returns the error for a failed connection, from the connection's own message.
    pub(super) fn unreachable(&self, why: &str) -> GatewayError {
        let url = self.url.clone();
        match certificate_error(why) {
            Some(why) => GatewayError::Untrusted { url, why },
            // A server without TLS replies with other bytes, or waits for more.
            None if url.starts_with("https:")
                && ["InvalidContentType", "timeout"]
                    .iter()
                    .any(|word| why.contains(word)) =>
            {
                GatewayError::Unreachable {
                    url,
                    why: format!("{why} (without TLS it is `http://`)"),
                }
            }
            None => GatewayError::Unreachable {
                url,
                why: why.to_owned(),
            },
        }
    }

    /// Returns the address without the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the value of the `Authorization` header.
    pub(super) fn authorization(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("token {token}"))
    }

    /// Returns true when the gateway answers and accepts the token.
    pub fn answers(&self) -> bool {
        self.call("GET", "/api", None, LIVES).is_ok()
    }

    /// Returns the names of the gateway's kernels, the default first.
    ///
    /// # Errors
    /// The call fails, or the reply is not a gateway's.
    pub fn kernels(&self) -> Result<Vec<String>, GatewayError> {
        let told = self.json(self.call("GET", "/api/kernelspecs", None, ANSWERS)?)?;
        let specs = told["kernelspecs"]
            .as_object()
            .ok_or_else(|| GatewayError::Strange {
                url: self.url.clone(),
                why: "`/api/kernelspecs` lists no `kernelspecs`".to_owned(),
            })?;
        let first = told["default"].as_str().unwrap_or_default();
        let mut names: Vec<String> = specs.keys().cloned().collect();
        names.sort_by_key(|name| name != first);
        Ok(names)
    }

    /// Starts a kernel of this name within the time limit, with this directory and these variables where given;
    /// returns its id. Retries once after a server error.
    ///
    /// # Errors
    /// The gateway does not start one.
    /// It does not start one.
    pub fn start(
        &self,
        name: &str,
        directory: Option<&Path>,
        variables: &BTreeMap<OsString, OsString>,
        within: Duration,
    ) -> Result<String, GatewayError> {
        let mut wanted = json!({"name": name});
        if let Some(directory) = directory {
            wanted["path"] = json!(directory.to_string_lossy());
        }
        if !variables.is_empty() {
            // JSON has no strings that are not Unicode: such variables are left out.
            let texts = variables.iter();
            let texts = texts.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
            wanted["env"] = texts
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
        }
        let once = || self.call("POST", "/api/kernels", Some(&wanted), within);
        let told = match once() {
            Err(GatewayError::Failed { status: 500.., .. }) => once()?,
            told => told?,
        };
        let told = self.json(told)?;
        let id = told["id"].as_str().filter(|id| {
            !id.is_empty()
                && id
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        });
        id.map(str::to_owned).ok_or_else(|| GatewayError::Strange {
            url: self.url.clone(),
            why: "it did not return the `id` of the kernel it was asked to start".to_owned(),
        })
    }

    /// Returns the number of running kernels; a gateway may be configured to refuse the list.
    ///
    /// # Errors
    /// The gateway does not send the list.
    pub fn running(&self) -> Result<usize, GatewayError> {
        let told = self.json(self.call("GET", "/api/kernels", None, ANSWERS)?)?;
        let all = told.as_array().ok_or_else(|| GatewayError::Strange {
            url: self.url.clone(),
            why: "`/api/kernels` is not a list".to_owned(),
        })?;
        Ok(all.len())
    }

    /// Returns the state of a kernel (`idle`, `busy`, `starting`, `restarting`, `dead`) as the gateway knows it;
    /// `None` when the kernel no longer exists.
    ///
    /// # Errors
    /// The call fails.
    pub fn state(&self, id: &str) -> Result<Option<String>, GatewayError> {
        match self.call("GET", &format!("/api/kernels/{id}"), None, ANSWERS) {
            Ok(told) => {
                let told = self.json(told)?;
                let state = told["execution_state"].as_str().unwrap_or_default();
                Ok(Some(state.to_owned()))
            }
            Err(GatewayError::Missing { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Interrupts a kernel.
    ///
    /// # Errors
    /// The gateway does not interrupt the kernel.
    pub fn interrupt(&self, id: &str) -> Result<(), GatewayError> {
        let place = format!("/api/kernels/{id}/interrupt");
        self.call("POST", &place, Some(&json!({})), ANSWERS)
            .map(drop)
    }

    /// Ends a kernel; succeeds when the kernel is gone already.
    ///
    /// # Errors
    /// The gateway does not end the kernel.
    pub fn end(&self, id: &str) -> Result<(), GatewayError> {
        match self.call("DELETE", &format!("/api/kernels/{id}"), None, ANSWERS) {
            Err(GatewayError::Missing { .. }) => Ok(()),
            told => told.map(drop),
        }
    }

    fn json(&self, text: String) -> Result<Value, GatewayError> {
        crate::text::json::parse(text.as_bytes()).map_err(|error| GatewayError::Strange {
            url: self.url.clone(),
            why: format!("its answer is not JSON: {error}"),
        })
    }

    fn call(
        &self,
        method: &str,
        place: &str,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<String, GatewayError> {
        let unreachable = |why: String| self.unreachable(&why);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(within))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        let agent = agent(config, &self.trust);
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{place}", self.url));
        if let Some(value) = self.authorization() {
            request = request.header("Authorization", value);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request
            .header("Content-Type", "application/json")
            .body(body)
            .map_err(|error| unreachable(error.to_string()))?;
        let mut answer = agent
            .run(request)
            .map_err(|error| unreachable(error.to_string()))?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string();
        let said = || -> String {
            let text = text.as_deref().unwrap_or_default();
            let told = crate::text::json::parse(text.as_bytes()).unwrap_or_default();
            let words =
                [&told["message"], &told["reason"]].map(|word| word.as_str().unwrap_or_default());
            let said = words.into_iter().find(|word| !word.is_empty());
            let said = crate::text::escape::visible(said.unwrap_or(text));
            said.chars().take(300).collect()
        };
        let url = self.url.clone();
        match status {
            200..=299 => text.map_err(|error| unreachable(error.to_string())),
            403 if is_kernel_limit(&said()) => Err(GatewayError::Full { url, said: said() }),
            401 | 403 => Err(GatewayError::Refused {
                url,
                status,
                said: said(),
            }),
            404 => Err(GatewayError::Missing {
                url,
                what: place.to_owned(),
            }),
            _ => Err(GatewayError::Failed {
                url,
                status,
                said: said(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_tokens_are_not_shown() {
        let of = |address: &str| Gateway::at(address, Some("other".into()));
        let own = of("http://h:1/base/?a=b&token=secret").unwrap();
        assert_eq!(
            (own.url(), own.authorization().unwrap().as_str()),
            ("http://h:1/base", "token secret")
        );
        assert!(!format!("{own:?}").contains("secret"));
        assert_eq!(
            of("http://h").unwrap().authorization().unwrap(),
            "token other"
        );
        assert_eq!(of("https://h/x/").unwrap().url(), "https://h/x");
        for wrong in [
            "",
            "h:1",
            "ftp://h",
            "https://",
            "http://",
            "http:///x",
            "http://a b",
            "http://u:p@h",
        ] {
            assert!(of(wrong).is_none(), "{wrong}");
        }
    }
}
