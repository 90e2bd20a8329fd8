import type { Logger } from 'typeorm';

/**
 * TypeORM says nothing by itself, least of all the parameters of statements: those are people's text and secrets. Whoever handles
 * an error logs it. (`logging: false` alone does not keep it from printing the migrations that fail.)
 */
export class NoSqlLog implements Logger {
  logQuery(): void {}
  logQueryError(): void {}
  logQuerySlow(): void {}
  logSchemaBuild(): void {}
  logMigration(): void {}
  log(): void {}
}
