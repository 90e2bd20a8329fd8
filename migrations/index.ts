import { PeopleAndWorkspaces1796000000001 } from './1796000000001-people-and-workspaces.js';
import { AgentsAndTasks1796000000002 } from './1796000000002-agents-and-tasks.js';
import { SessionsAndRuns1796000000003 } from './1796000000003-sessions-and-runs.js';
import { InboxAndInterruptions1796000000004 } from './1796000000004-inbox-and-interruptions.js';
import { Recovery1796000000021 } from './1796000000021-recovery.js';
import { EventFloor1796000000031 } from './1796000000031-event-floor.js';
import { Diagnosis1796000000051 } from './1796000000051-diagnosis.js';
import { Projects1796000000101 } from './1796000000101-projects.js';
import { Transcript1796000000110 } from './1796000000110-transcript.js';
import { Runtime1796000000120 } from './1796000000120-runtime.js';
import { SeatsAndSignals1796000000130 } from './1796000000130-seats-and-signals.js';
import { Repositories1796000000140 } from './1796000000140-repositories.js';
import { Usage1796000000141 } from './1796000000141-usage.js';
import { PermissionRequests1796000000150 } from './1796000000150-permission-requests.js';
import { AgentUsers1796000000151 } from './1796000000151-agent-users.js';
import { DrainDeadline1796000000160 } from './1796000000160-drain-deadline.js';
import { MissingCapabilities1796000000170 } from './1796000000170-missing-capabilities.js';

/** Every migration, oldest first, by hand: a glob would load nothing, quietly, wherever TypeScript is not compiled ahead. */
export const migrations = [
  PeopleAndWorkspaces1796000000001,
  AgentsAndTasks1796000000002,
  SessionsAndRuns1796000000003,
  InboxAndInterruptions1796000000004,
  Recovery1796000000021,
  EventFloor1796000000031,
  Diagnosis1796000000051,
  Projects1796000000101,
  Transcript1796000000110,
  Runtime1796000000120,
  SeatsAndSignals1796000000130,
  Repositories1796000000140,
  Usage1796000000141,
  PermissionRequests1796000000150,
  AgentUsers1796000000151,
  DrainDeadline1796000000160,
  MissingCapabilities1796000000170,
];
