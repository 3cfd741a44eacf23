//! A scripted model: the Responses endpoint the real app-server talks to, on loopback, without login or network.
//!
//! In: a script, one [`Reply`] for each request (or a closure that reads the request). Out: the requests it saw. It
//! speaks plain HTTP/1.1 with one request a connection, each on a thread of its own. What the app-server 0.169.0 needs
//! is all that is here; `/v1/models` is 404.

pub(crate) mod reply;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

pub(crate) use reply::Reply;

type Answer = dyn Fn(usize, &Value) -> Reply + Send + Sync;

/// The endpoint; it lives as long as the test process.
#[derive(Clone)]
pub(crate) struct Endpoint {
    port: u16,
    state: Arc<State>,
}

struct State {
    answer: Box<Answer>,
    requests: Mutex<Vec<Value>>,
    arrived: Condvar,
    released: Mutex<bool>,
    release: Condvar,
    abandoned: AtomicUsize,
}

impl Endpoint {
    /// Answers the n-th request with the n-th reply; those beyond the script get an empty answer.
    pub(crate) fn script(replies: Vec<Reply>) -> Self {
        Endpoint::answering(move |index, _| {
            replies
                .get(index)
                .cloned()
                .unwrap_or_else(|| Reply::text("(end of script)"))
        })
    }

    /// Answers by the number of the request (from 0) and its body.
    pub(crate) fn answering(
        answer: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let port = listener.local_addr().expect("bound").port();
        let state = Arc::new(State {
            answer: Box::new(answer),
            requests: Mutex::default(),
            arrived: Condvar::new(),
            released: Mutex::new(false),
            release: Condvar::new(),
            abandoned: AtomicUsize::new(0),
        });
        let endpoint = Endpoint {
            port,
            state: Arc::clone(&state),
        };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                thread::spawn(move || {
                    // A client that leaves in mid-answer is part of many tests.
                    if serve(stream, &state).is_err() {
                        state.count_left();
                    }
                });
            }
        });
        endpoint
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        lock(&self.state.requests).clone()
    }

    /// Waits until `count` requests have arrived.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Value> {
        let requests = lock(&self.state.requests);
        self.state
            .arrived
            .wait_while(requests, |requests| requests.len() < count)
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Lets every [`Event::Hold`] go on, now and later.
    pub(crate) fn release(&self) {
        *lock(&self.state.released) = true;
        self.state.release.notify_all();
    }

    /// How many requests were given up before the release.
    pub(crate) fn abandoned(&self) -> usize {
        self.state.abandoned.load(Ordering::SeqCst)
    }

    /// Writes a `CODEX_HOME` whose provider is this endpoint.
    pub(crate) fn write_home(&self, home: &Path, model: &str) {
        std::fs::create_dir_all(home).expect("a directory");
        let config = format!(
            "model = \"{model}\"\nmodel_provider = \"mock\"\n\
             [model_providers.mock]\nname = \"Mock\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 2\n",
            self.port
        );
        std::fs::write(home.join("config.toml"), config).expect("a file");
    }
}

/// The texts of the conversation in a request, as `role: text`, without what Codex adds of its own.
pub(crate) fn conversation(request: &Value) -> Vec<String> {
    let own = [
        "<environment_context",
        "<user_instructions",
        "# AGENTS",
        "<permissions",
    ];
    let mut lines = Vec::new();
    for item in request["input"].as_array().into_iter().flatten() {
        let role = item["role"].as_str().unwrap_or_default();
        if role != "user" && role != "assistant" {
            continue;
        }
        for part in item["content"].as_array().into_iter().flatten() {
            let text = part["text"].as_str().unwrap_or_default();
            if !own.iter().any(|lead| text.starts_with(lead)) {
                lines.push(format!("{role}: {text}"));
            }
        }
    }
    lines
}

/// The outputs of tool calls in a request, in order.
pub(crate) fn tool_outputs(request: &Value) -> Vec<Value> {
    request["input"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|item| {
            item["type"]
                .as_str()
                .is_some_and(|it| it.ends_with("_output"))
        })
        .map(|item| item["output"].clone())
        .collect()
}

/// The name under which this request offers Codex's own shell.
pub(crate) fn shell_tool(request: &Value) -> Option<String> {
    request["tools"]
        .as_array()?
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .find(|name| ["exec_command", "shell_command", "shell", "local_shell"].contains(name))
        .map(str::to_owned)
}

fn serve(stream: TcpStream, state: &Arc<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    let mut request_line = String::new();
    reader.read_line(&mut request_line)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if !request_line.starts_with("POST") || !request_line.contains("/responses ") {
        return write!(
            out,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let index = {
        let mut requests = lock(&state.requests);
        requests.push(request.clone());
        requests.len() - 1
    };
    state.arrived.notify_all();
    let reply = (state.answer)(index, &request);
    reply.write(index, &mut out, &|| {
        watch(reader.get_ref(), state);
        let released = lock(&state.released);
        drop(
            state
                .release
                .wait_while(released, |released| !*released)
                .unwrap_or_else(PoisonError::into_inner),
        );
    })
}

impl State {
    /// A client has left. After the release that is nothing special.
    fn count_left(&self) {
        if !*lock(&self.released) {
            self.abandoned.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Notices a client that leaves while its answer waits.
fn watch(stream: &TcpStream, state: &Arc<State>) {
    let (Ok(mut stream), state) = (stream.try_clone(), Arc::clone(state)) else {
        return;
    };
    thread::spawn(move || {
        if matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)) {
            state.count_left();
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
