import { Module } from '@nestjs/common';
import { TaskModule } from '../tasks/task.module.js';
import { CompletionSignals } from './completion-signals.service.js';
import { SessionDesk } from './session-desk.service.js';
import { SessionController } from './session.controller.js';
import { SessionRepository } from './session.repository.js';
import { SessionService } from './session.service.js';
import { SignalRepository } from './signal.repository.js';
import { SessionsOfTasks } from './sessions-of-tasks.service.js';

/** The conversations. `SessionsOfTasks` is the `TaskSessions` that the app joins to `tasks/`. */
@Module({
  imports: [TaskModule],
  controllers: [SessionController],
  providers: [CompletionSignals, SessionDesk, SessionRepository, SessionService, SessionsOfTasks, SignalRepository],
  exports: [CompletionSignals, SessionService, SessionsOfTasks, SignalRepository],
})
export class SessionModule {}
