//! Sessions for turns beside the prompt: in an interpreter that is there already, as forks of the session there.

use super::parts::{Surroundings, agent_plan, own_server, silent_parts};
use crate::config::Settings;
use crate::environment::Environment;
use crate::mcp::SocketServer;
use crate::record::{self, RecordOptions, SessionSpec};
use crate::runtime::TerminalSize;
use crate::runtime::connect::connect_branch;
use crate::session::{self, AsideSession, Parts, PlannedRuntime, StartAside};
use crate::text::report::Report;

pub(super) fn start(
    environment: Environment,
    settings: Settings,
    size: TerminalSize,
) -> StartAside {
    Box::new(move |plan| {
        let cwd = plan.cwd.clone();
        let agent = agent_plan(&environment, &settings, &plan.choices.agent, cwd.clone())?;
        let Some((runtime, events)) = connect_branch(&plan.branch) else {
            return Err(Report::failure("its interpreter has ended"));
        };
        let runtime = PlannedRuntime {
            capabilities: runtime.capabilities(),
            needs_session_at_start: false,
            connect: Box::new(move |_| (runtime, events)),
        };
        let opening = RecordOptions {
            path: settings.paths.history.clone(),
            named: !settings.paths.history_is_ours(),
            record: true,
            leave_log: true,
        };
        let begin = SessionSpec {
            cwd: cwd.to_string_lossy().into_owned(),
            resume: None,
            fork: Some(plan.origin),
            provider: plan.choices.agent.to_string(),
            once: true,
        };
        let (record, reports) = record::open(opening, begin);
        let surroundings = Surroundings {
            cwd,
            size,
            choices: plan.choices.clone(),
            record,
            reports,
        };
        let parts = Parts {
            own_server: Some(own_server(&environment, Some(&plan.folder))),
            ..silent_parts(&environment, &settings, surroundings, runtime, agent)
        };
        let (session, beside) = session::start(parts)?;
        let sockets = plan.folder.join("ipycodex");
        let server = SocketServer::open(&sockets, session.clone(), plan.cwd.clone(), drop);
        Ok(AsideSession {
            session,
            beside,
            kept: Box::new(server),
        })
    })
}
