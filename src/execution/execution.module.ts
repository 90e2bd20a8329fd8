import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { AcpAgentRuntime } from './acp-agent-runtime.service.js';
import { AdapterProbe } from './adapter-probe.service.js';
import { AdapterRegistry } from './adapter-registry.service.js';
import { AgentRuntime } from './agent-runtime.js';
import { ExecutionOptions } from './execution-options.js';
import { ProcessSupervision } from './supervisor/process-supervision.service.js';

/** The room where agents run. It needs a `Clock` from a global module, and to be told where it may keep its records. */
@Module({})
export class ExecutionModule {
  static from(options: Pick<FactoryProvider<ExecutionOptions>, 'useFactory' | 'inject'>): DynamicModule {
    return {
      module: ExecutionModule,
      global: true,
      providers: [
        { provide: ExecutionOptions, ...options },
        ProcessSupervision,
        AdapterRegistry,
        AdapterProbe,
        { provide: AgentRuntime, useClass: AcpAgentRuntime },
      ],
      exports: [AgentRuntime, AdapterProbe, AdapterRegistry, ProcessSupervision, ExecutionOptions],
    };
  }
}
