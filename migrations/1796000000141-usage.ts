import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What attempts have used, narrow enough to be summed by run, session, task, agent and workspace. */
export class Usage1796000000141 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table run_usage (
        run_id uuid not null,
        generation integer not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        task_id uuid,
        session_id uuid,
        used_at timestamptz not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        total_tokens bigint not null,
        cost numeric,
        currency text,
        constraint run_usage_pkey primary key (run_id, generation),
        constraint run_usage_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id) on delete cascade,
        constraint run_usage_cost_has_currency check ((cost is null) = (currency is null))
      )`);
    await db.query(`create index run_usage_by_agent on run_usage (agent_id)`);
    await db.query(`create index run_usage_by_task on run_usage (task_id) where task_id is not null`);
    await db.query(`create index run_usage_by_session on run_usage (session_id) where session_id is not null`);
    await db.query(`create index run_usage_by_workspace on run_usage (workspace_id, used_at)`);
    // Kept by the database: an attempt's usage is written in several places, and none of them can forget it.
    await db.query(`
      create function office_keep_usage() returns trigger language plpgsql as $$
      begin
        insert into run_usage (run_id, generation, workspace_id, agent_id, task_id, session_id, used_at,
                               input_tokens, output_tokens, total_tokens, cost, currency)
        select new.run_id, new.generation, new.workspace_id, r.agent_id, r.task_id, r.session_id, clock_timestamp(),
               least(coalesce((new.usage ->> 'input_tokens')::numeric, 0), 9007199254740991)::bigint,
               least(coalesce((new.usage ->> 'output_tokens')::numeric, 0), 9007199254740991)::bigint,
               least(coalesce((new.usage ->> 'total_tokens')::numeric, 0), 9007199254740991)::bigint,
               (new.usage -> 'cost' ->> 'amount')::numeric, new.usage -> 'cost' ->> 'currency'
          from runs r where r.id = new.run_id
        on conflict (run_id, generation) do nothing;
        return null;
      end $$`);
    await db.query(`
      create trigger run_attempts_usage_is_kept after update of usage on run_attempts
        for each row when (jsonb_typeof(new.usage) = 'object' and old.usage is distinct from new.usage)
        execute function office_keep_usage()`);
    await db.query(`
      insert into run_usage (run_id, generation, workspace_id, agent_id, task_id, session_id, used_at, input_tokens, output_tokens, total_tokens)
      select n.run_id, n.generation, n.workspace_id, r.agent_id, r.task_id, r.session_id, coalesce(n.finished_at, n.claimed_at),
             least(coalesce((n.usage ->> 'input_tokens')::numeric, 0), 9007199254740991)::bigint,
             least(coalesce((n.usage ->> 'output_tokens')::numeric, 0), 9007199254740991)::bigint,
             least(coalesce((n.usage ->> 'total_tokens')::numeric, 0), 9007199254740991)::bigint
        from run_attempts n join runs r on r.id = n.run_id where jsonb_typeof(n.usage) = 'object'`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop trigger run_attempts_usage_is_kept on run_attempts`);
    await db.query(`drop function office_keep_usage`);
    await db.query(`drop table run_usage`);
  }
}
