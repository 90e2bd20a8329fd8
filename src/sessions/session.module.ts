import { Module } from '@nestjs/common';
import { TaskModule } from '../tasks/task.module.js';
import { SessionDesk } from './session-desk.service.js';
import { SessionController } from './session.controller.js';
import { SessionRepository } from './session.repository.js';
import { SessionService } from './session.service.js';
import { SessionsOfTasks } from './sessions-of-tasks.service.js';

/** The conversations. `SessionsOfTasks` is the `TaskSessions` that the app joins to `tasks/`. */
@Module({
  imports: [TaskModule],
  controllers: [SessionController],
  providers: [SessionDesk, SessionRepository, SessionService, SessionsOfTasks],
  exports: [SessionService, SessionsOfTasks],
})
export class SessionModule {}
