// A server reduced to its execution room, to be killed. Argument: JSON `{stateDir, specs}`. Launches the specs, says
// `{"ready": …}` on stdout when every agent is at work, and then does what it is told on stdin, a JSON object a line.
import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { AcpAgentRuntime } from '../../../dist/src/execution/acp-agent-runtime.service.js';
import { AdapterRegistry } from '../../../dist/src/execution/adapter-registry.service.js';
import { ExecutionOptions } from '../../../dist/src/execution/execution-options.js';
import { ProcessSupervision } from '../../../dist/src/execution/supervisor/process-supervision.service.js';
import { SystemClock } from '../../../dist/src/platform/clock/system-clock.js';

const { stateDir, specs } = JSON.parse(process.argv[2]);
const options = new ExecutionOptions(stateDir);
const clock = new SystemClock();
const supervision = new ProcessSupervision(options, clock);
const runtime = new AcpAgentRuntime(new AdapterRegistry(options), supervision, clock);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function launch(spec) {
  await runtime.launch(spec);
  const events = runtime.subscribeEvents(spec.executionId);
  return new Promise((atWork) => {
    void (async () => {
      for await (const event of events) {
        if (event.type === 'update') atWork();
        if (event.type === 'outcome') say({ outcome: event.outcome, executionId: spec.executionId });
      }
    })();
  });
}

const can = {
  lease: ({ expiresInMs, enforce }) => supervision.setLease(expiresInMs, enforce),
  launch: (spec) => void launch(spec),
  supervisor: () => say({ supervisor: supervision.supervisorPid }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  for (const [name, argument] of Object.entries(JSON.parse(line))) can[name](argument);
});

await Promise.all(specs.map(launch));
say({ ready: true, supervisor: supervision.supervisorPid });
