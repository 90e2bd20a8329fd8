import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentDirectory } from './agent-directory.service.js';
import { AgentSwitches } from './agent-switches.service.js';
import { AgentController } from './agent.controller.js';
import { AgentRepository } from './agent.repository.js';
import { AgentService } from './agent.service.js';

/** The staff. Its ports `AgentReactions` and `AgentReadings` are filled above and joined by the app. */
@Module({
  imports: [AccessModule],
  controllers: [AgentController],
  providers: [AgentRepository, AgentService, AgentDirectory, AgentSwitches],
  exports: [AgentDirectory, AgentService, AgentSwitches],
})
export class AgentModule {}
