//! A session: its state, what it reaches, and the events between them that are not handled yet.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::Parts;
use crate::approvals::ApprovalQueue;
use crate::asides::Asides;
use crate::branches::Branches;
use crate::deps::SessionDeps;
use crate::effect::Event;
use crate::external_calls::ExternalCalls;
use crate::file_steps::FileSteps;
use crate::handle::{Command, Shared};
use crate::host_calls::{AgentHostCalls, CellHostCalls};
use crate::io::SessionIo;
use crate::kernels::Kernels;
use crate::numbering::Numbering;
use crate::outputs::Outputs;
use crate::peers::AgentPeer;
use crate::queue::EventQueue;
use crate::route;
use crate::run::RunSender;
use crate::runtimes::Runtimes;
use crate::scheduler::Scheduler;
use crate::state::SessionState;
use crate::text::report::Report;
use crate::tools::{SkillRegistry, ToolRunner};
use crate::turns::Turns;
use crate::undo::StepLog;
use crate::workbook::Workbook;

pub(super) struct Session {
    pub(super) state: SessionState,
    pub(super) io: SessionIo,
    queue: EventQueue,
}

impl Session {
    /// Makes a session of its parts, once it may begin; the second value carries errors of the record.
    pub(super) fn new(
        parts: Parts,
        commands: UnboundedSender<Command>,
        background: RunSender,
        shared: Arc<Shared>,
    ) -> (Self, UnboundedReceiver<Report>) {
        (parts.wait_for_start)();
        let skill_registry = SkillRegistry::new(parts.skills, {
            let inbox = commands.clone();
            move |found| {
                // Fails when the session has ended.
                let _ = inbox.send(Event::SkillsFound(Box::new(found)).into());
            }
        });
        // Without a user, cells alone are likely, whose first result is not to wait for the processor.
        if parts.asks {
            skill_registry.begin();
        }
        let state = SessionState {
            scheduler: Scheduler::default(),
            numbering: Numbering::new(parts.resumed, Arc::clone(&shared.next_line)),
            turns: Turns::new(parts.instructions),
            tool_runner: ToolRunner::default(),
            kernels: Kernels::default(),
            cell_calls: CellHostCalls::default(),
            agent_calls: AgentHostCalls::default(),
            external_calls: ExternalCalls::default(),
            approvals: ApprovalQueue::default(),
            step_log: StepLog::default(),
            branches: Branches::default(),
            replaced_next: None,
            skill_registry,
            startup: parts.startup_files,
            choices: parts.choices,
            cwd: parts.cwd,
            terminal_background: None,
            unreported: None,
            ended_cells: HashMap::new(),
            background,
        };
        let killer = Arc::clone(&shared.killer);
        let mut runtimes = Runtimes::new(parts.runtime, parts.shell, parts.stdin, killer);
        runtimes.user.keep_checkpoints(state.choices.checkpoints);
        let io = SessionIo {
            runtimes,
            agent: RefCell::new(AgentPeer::new(parts.agent)),
            record: parts.record,
            turn: None,
            asides: Asides::default(),
            outputs: Outputs::new(parts.artifacts, parts.record_path),
            workbook: Workbook::default(),
            files: FileSteps::new(parts.files),
            deps: SessionDeps {
                agents: parts.agents,
                missing: parts.missing,
                kernels: parts.kernels,
                asides: parts.asides,
                own_server: parts.own_server,
                exact_log: parts.exact_log,
                config_file: parts.config_file,
                provenance: parts.provenance,
                keys: parts.keys,
                notebooks: parts.notebooks,
                asks: parts.asks,
                lasting: parts.lasting,
            },
            inbox: commands,
            shared,
            awaiting_start: Vec::new(),
        };
        let queue = EventQueue::default();
        (Session { state, io, queue }, parts.reports)
    }

    /// Queues an event; it is handled before those that wait already.
    pub(super) fn raise(&mut self, event: Event) {
        self.queue.raise(event);
    }

    /// Handles events until none is left.
    pub(super) fn drain(&mut self) {
        while let Some(event) = self.queue.pop() {
            let effects = route::step(&mut self.state, event, &self.io.context());
            for effect in effects {
                self.io.run(effect, &mut self.queue);
            }
        }
    }
}
