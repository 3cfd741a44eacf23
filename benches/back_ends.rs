//! Kernels that are not the user's own interpreter: `1+1` behind a gateway, and the agent's scratch kernel from the
//! call to the result, first and warm.

use std::path::Path;
use std::time::{Duration, Instant};

use ipycodex::runtime::connect::{
    Confinement, GatewayPlan, GatewayTarget, PythonPlan, RuntimePlan, START_TIMEOUT, SharedPlan,
    connect,
};
use serde_json::Value;

use crate::lines::LinePeer;
use crate::round_trip::{Lazy, Ours, ROUND_TRIPS};
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Row, Target, in_turn, median};

const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let python = || peers::kernels().ok_or_else(|| "no kernels".to_owned());
    let gateways = home.path().join("gateways");
    let mut ours = Lazy::new(|| behind_gateway(&home, &python()?, &gateways));
    let mut peer = Lazy::new(|| {
        let (url, token) = shared(&gateways)?;
        LinePeer::start(&home, &python()?, "gateway.py", &[&url, &token])
    });
    let mut warm = Lazy::new(|| scratch(&home, &python()?));
    let [gateway, client, first, warm] = in_turn(
        RUNS,
        [
            &mut || {
                let ours = ours.get()?;
                let times: Result<Vec<f64>, String> =
                    (0..ROUND_TRIPS).map(|_| ours.once()).collect();
                Ok(median(&times?).expect("there is more than none"))
            },
            &mut || peer.get()?.measure(),
            &mut || {
                let begin = Instant::now();
                scratch(&home, &python()?)?;
                Ok(begin.elapsed().as_secs_f64() * 1e3)
            },
            &mut || warm.get()?.once(),
        ],
    );
    vec![
        Row::timed(
            "1+1 warm, gateway",
            gateway,
            Some(("jupyter_server's gateway client", client)),
            Target::TimesPeerAtMost(1.1),
        ),
        Row::timed(
            "scratch kernel, call to result, first",
            first,
            None,
            Target::AtMost(1000.0),
        ),
        Row::timed(
            "scratch kernel, call to result, warm",
            warm,
            None,
            Target::AtMost(3.0),
        ),
    ]
}

/// A kernel behind the gateway that `gateway:auto` starts.
fn behind_gateway(home: &Home, python: &Path, gateways: &Path) -> Result<Ours, String> {
    let (runtime, events) = connect(RuntimePlan::Gateway(GatewayPlan {
        gateway: GatewayTarget::Shared(SharedPlan {
            folder: gateways.to_owned(),
            python: Some(python.to_owned()),
            program: env!("CARGO_BIN_EXE_ipycodex").into(),
            cwd: home.work(),
            variables: home.variables().iter().cloned().collect(),
            idle: Duration::from_secs(2),
        }),
        kernel: Some("python3".into()),
        variables: [].into(),
        patience: START_TIMEOUT,
    }));
    Ours::warm(runtime, events)
}

/// Address and token of the gateway there is.
fn shared(gateways: &Path) -> Result<(String, String), String> {
    let rooms = std::fs::read_dir(gateways).map_err(|error| error.to_string())?;
    let record = rooms
        .flatten()
        .find_map(|room| std::fs::read(room.path().join("gateway.json")).ok())
        .ok_or("no gateway runs")?;
    let record: Value = serde_json::from_slice(&record).map_err(|error| error.to_string())?;
    let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    Ok((text("url"), text("token")))
}

/// A kernel as the agent's own, which has given one result.
fn scratch(home: &Home, python: &Path) -> Result<Ours, String> {
    let (runtime, events) = connect(RuntimePlan::Embedded(PythonPlan {
        interpreter: Some(python.to_owned()),
        managed: None,
        no_ipython: false,
        cwd: home.work(),
        variables: home.variables().iter().cloned().collect(),
        terminal: None,
        cache_dir: home.path().join("cache/ipycodex"),
        script: None,
        kernel: None,
        confined: Some(Confinement {
            writes: vec![home.work()],
        }),
    }));
    let mut ours = Ours::of(runtime, events);
    ours.once()?;
    Ok(ours)
}
