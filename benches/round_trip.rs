//! `1+1` there and back, warm: from the request handed to our runtime to the end of its cell.
//!
//! The interpreter spends 0.96 times the instructions of IPython in process on a cell (`cargo bench -- counts`, rows
//! `cell` and `ipython`). The floor of a shell whose interpreter is another process is IPython in a process of its own,
//! which gets a line by a pipe and gives one back, and a thread that writes and reads these lines for the one that
//! asks: 1.48 to 1.56 times IPython in process, in four runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ipycodex::runtime::connect::{
    JupyterPlan, JupyterTarget, PythonPlan, RuntimeEvents, RuntimePlan, START_TIMEOUT, connect,
};
use ipycodex::runtime::{Ending, Execute, Runtime, RuntimeEvent, RuntimeReply, RuntimeRequest};

use crate::lines::LinePeer;
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Figures, Row, Target, in_turn, median};

const RUNS: usize = 15;

/// One figure is the median of this many, as in `peers/round_trip.py`.
pub const ROUND_TRIPS: usize = 20;

const WARMING: usize = 10;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let plain = peers::plain_python();
    let mut built_in = Lazy::new(|| Ours::start(&home, &plain, true));
    let environment = || peers::ipython_environment().clone();
    let mut with_ipython = Lazy::new(|| Ours::start(&home, &environment()?, false));
    let mut through_jupyter = Lazy::new(|| Ours::in_kernel(&home, &environment()?));
    let peer = |mode| LinePeer::start(&home, &environment()?, "round_trip.py", &[mode]);
    let mut kernel = Lazy::new(|| peer("kernel"));
    let mut in_process = Lazy::new(|| peer("in-process"));
    let mut floor = Lazy::new(|| Ok(Floor::of(peer("serve")?)));
    let [built_in, with_ipython, jupyter, kernel, in_process, floor] = in_turn(
        RUNS,
        [
            &mut || built_in.get()?.measure(),
            &mut || with_ipython.get()?.measure(),
            &mut || through_jupyter.get()?.measure(),
            &mut || kernel.get()?.measure(),
            &mut || in_process.get()?.measure(),
            &mut || floor.get()?.measure(),
        ],
    );
    let row = |what: &str, ours: &Figures, peer: Option<(&'static str, &Figures)>, target| Row {
        what: what.into(),
        unit: "ms",
        ours: ours.clone(),
        peer: peer.map(|(name, figures)| (name, figures.clone())),
        target,
    };
    let through_kernel = Some(("ipykernel", &kernel));
    let in_process = Some(("IPython in process", &in_process));
    let fifth = Target::TimesPeerAtMost(0.2);
    let (engine, shell) = ("1+1 warm, built-in engine", "1+1 warm, with IPython");
    vec![
        row(engine, &built_in, None, Target::AtMost(0.4)),
        row(engine, &built_in, through_kernel, fifth),
        row(
            "1+1 warm, with IPython (floor 1.5 x)",
            &with_ipython,
            in_process,
            Target::TimesPeerAtMost(1.3),
        ),
        row(
            "1+1 warm, its floor: IPython behind a thread",
            &floor,
            in_process,
            Target::None,
        ),
        row(shell, &with_ipython, through_kernel, fifth),
        row(
            "1+1 warm, jupyter:python3",
            &jupyter,
            Some(("jupyter_client", &kernel)),
            Target::TimesPeerAtMost(1.1),
        ),
    ]
}

/// IPython in a process of its own, and a thread that asks it.
struct Floor {
    asks: std::sync::mpsc::Sender<()>,
    answers: tokio::sync::mpsc::Receiver<Result<f64, String>>,
}

impl Floor {
    fn of(mut peer: LinePeer) -> Floor {
        let (asks, asked) = std::sync::mpsc::channel();
        let (tell, answers) = tokio::sync::mpsc::channel(1);
        std::thread::spawn(move || {
            for () in asked {
                // The value of the cell.
                if tell.blocking_send(peer.measure_line("1+1")).is_err() {
                    return;
                }
            }
        });
        Floor { asks, answers }
    }

    fn measure(&mut self) -> Result<f64, String> {
        let mut once = || {
            let begin = Instant::now();
            self.asks.send(()).map_err(|error| error.to_string())?;
            let value = self
                .answers
                .blocking_recv()
                .ok_or("the thread has left")??;
            assert_eq!(value, 2.0);
            Ok(begin.elapsed().as_secs_f64() * 1e3)
        };
        let times: Result<Vec<f64>, String> = (0..ROUND_TRIPS).map(|_| once()).collect();
        Ok(median(&times?).expect("there is more than none"))
    }
}

/// Started when it is first measured, so that what cannot start is a reason in its own row.
pub struct Lazy<T, F> {
    start: F,
    started: Option<T>,
}

impl<T, F: FnMut() -> Result<T, String>> Lazy<T, F> {
    pub fn new(start: F) -> Self {
        Lazy {
            start,
            started: None,
        }
    }

    pub fn get(&mut self) -> Result<&mut T, String> {
        if self.started.is_none() {
            self.started = Some((self.start)()?);
        }
        Ok(self.started.as_mut().expect("started above"))
    }
}

/// Our runtime, without a session around it.
pub struct Ours {
    pub runtime: Box<dyn Runtime>,
    pub events: RuntimeEvents,
    number: u32,
}

impl Ours {
    pub fn start(home: &Home, python: &Path, no_ipython: bool) -> Result<Ours, String> {
        let (runtime, events) = connect(RuntimePlan::Embedded(PythonPlan {
            interpreter: Some(PathBuf::from(python)),
            managed: None,
            no_ipython,
            cwd: home.work(),
            variables: home.variables().iter().cloned().collect(),
            terminal: None,
            cache_dir: home.path().join("cache/ipycodex"),
            script: None,
            kernel: None,
            confined: None,
        }));
        Ours::warm(runtime, events)
    }

    /// The same, with a kernel of Jupyter behind it: the one of this Python's environment.
    fn in_kernel(home: &Home, python: &Path) -> Result<Ours, String> {
        let prefix = python.parent().and_then(Path::parent);
        let variables = home.variables().iter().cloned().collect();
        let (runtime, events) = connect(RuntimePlan::Jupyter(JupyterPlan {
            target: JupyterTarget::Installed("python3".into()),
            cwd: home.work(),
            folders: ipycodex::jupyter::data_dirs(&variables, prefix),
            variables,
            connections: home.path().join("connections"),
            patience: START_TIMEOUT,
        }));
        Ours::warm(runtime, events)
    }

    /// A runtime that has been connected to.
    pub fn of(runtime: Box<dyn Runtime>, events: RuntimeEvents) -> Ours {
        Ours {
            runtime,
            events,
            number: 0,
        }
    }

    /// The same, warm.
    pub fn warm(runtime: Box<dyn Runtime>, events: RuntimeEvents) -> Result<Ours, String> {
        let mut ours = Ours::of(runtime, events);
        for _ in 0..WARMING {
            ours.once()?;
        }
        Ok(ours)
    }

    /// Waits until the interpreter has done what it does with IPython while nobody waits.
    pub fn await_warm(&mut self) -> Result<(), String> {
        let warmed = "__import__('sys').modules['_ipycodex_runner'].engine.warmed";
        while self.timed(warmed)?.1.as_deref() != Some("True") {
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<f64, String> {
        let times: Result<Vec<f64>, String> = (0..ROUND_TRIPS).map(|_| self.once()).collect();
        Ok(median(&times?).expect("there is more than none"))
    }

    /// In ms.
    pub fn once(&mut self) -> Result<f64, String> {
        let (elapsed, answer) = self.timed("1+1")?;
        match answer.as_deref() {
            Some("2") => Ok(elapsed),
            answer => Err(format!("1+1 gave {answer:?}")),
        }
    }

    /// Runs a cell.
    pub fn run(&mut self, code: &str) -> Result<(), String> {
        self.timed(code).map(drop)
    }

    /// Runs a cell; the time it took in ms, and its value.
    fn timed(&mut self, code: &str) -> Result<(f64, Option<String>), String> {
        self.number += 1;
        let begin = Instant::now();
        let cell = Execute::numbered(code.into(), self.number);
        let asked = self.runtime.submit(RuntimeRequest::Execute(cell));
        let mut answer = None;
        while let Some(event) = self.events.blocking_recv() {
            match event {
                RuntimeEvent::Display { display, .. } => answer = display.bundle.text("text/plain"),
                RuntimeEvent::Finished { id, finish } if id == asked => {
                    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
                    return if finish.ending == Ending::Ok {
                        Ok((elapsed, answer))
                    } else {
                        Err(format!("{code} ended as {:?}", finish.ending))
                    };
                }
                RuntimeEvent::StartFailed(failure) => return Err(failure.message),
                _ => {}
            }
        }
        Err("the runtime has left".into())
    }

    /// Makes a request; the time in ms until its reply, and the reply.
    pub fn ask(&mut self, request: RuntimeRequest) -> Result<(f64, RuntimeReply), String> {
        let begin = Instant::now();
        let asked = self.runtime.submit(request);
        while let Some(event) = self.events.blocking_recv() {
            match event {
                RuntimeEvent::Replied { id, answer } if id == asked => {
                    return Ok((begin.elapsed().as_secs_f64() * 1e3, answer));
                }
                RuntimeEvent::StartFailed(failure) => return Err(failure.message),
                _ => {}
            }
        }
        Err("the runtime has left".into())
    }
}
