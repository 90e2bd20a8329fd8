import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { brokenConstraint, isUnavailable } from '../../../src/platform/database/sqlstate.js';
import { Tx } from '../../../src/platform/database/tx.js';
import { openOfficeDb, type OfficeDb } from '../../support/office-db.js';

let office: OfficeDb;
let workspaceId: string;
beforeAll(async () => {
  office = await openOfficeDb({ poolSize: 12 });
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = newId();
  await office.dataSource.query(`insert into workspaces (id, name, task_prefix) values ($1, 'w', 'W')`, [workspaceId]);
  await office.dataSource.query('insert into office_event_counters (workspace_id) values ($1)', [workspaceId]);
});

const emitTask = (tx: Tx, title: string): void => tx.emit('office.task.updated', { task_id: title, fields: [] });

const told = async (): Promise<{ seq: number; task: string }[]> =>
  office.dataSource.query(`select seq::int as seq, payload ->> 'task_id' as task from office_events where workspace_id = $1 order by seq`, [
    workspaceId,
  ]);

describe('the unit of work', () => {
  it('leaves no event of a change that did not happen', async () => {
    const broken = office.unitOfWork.run(workspaceId, async (tx) => {
      emitTask(tx, 'never');
      await tx.query('insert into office_event_counters (workspace_id) values ($1)', [workspaceId]);
    });
    await expect(broken).rejects.toSatisfy((error) => brokenConstraint(error) === 'office_event_counters_pkey');
    expect(await told()).toEqual([]);
  });

  it('numbers events without a gap that anybody could ever see, in the order of the commits', async () => {
    let done = false;
    const watch = (async () => {
      for (let seen = 0; !done;) {
        const events = await told();
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, place) => place + 1));
        expect(events.length).toBeGreaterThanOrEqual(seen);
        seen = events.length;
      }
    })();
    const units = await Promise.allSettled(
      Array.from({ length: 120 }, (_unit, n) =>
        office.unitOfWork.run(workspaceId, async (tx) => {
          emitTask(tx, `${n} first`);
          await tx.query('select pg_sleep(random() / 100)');
          if (n % 3 === 0) throw new Error('changed my mind');
          emitTask(tx, `${n} second`);
        }),
      ),
    );
    done = true;
    await watch;
    const events = await told();
    expect(units.filter(({ status }) => status === 'fulfilled')).toHaveLength(80);
    expect(events).toHaveLength(160);
    for (let place = 0; place < events.length; place += 2) {
      const unit = events[place]!.task.split(' ')[0];
      expect([events[place]!.task, events[place + 1]!.task]).toEqual([`${unit} first`, `${unit} second`]);
    }
  });

  it('writes what goes with the commit in the order in which it was said, before the events, or not at all', async () => {
    const rename = `update workspaces set name = name || $2 where id = $1`;
    await office.unitOfWork.run(workspaceId, async (tx) => {
      tx.last(rename, [workspaceId, '1']);
      tx.last(rename, [workspaceId, '2']);
      emitTask(tx, 'told');
      await tx.query(rename, [workspaceId, '0']);
    });
    const name = async (): Promise<unknown> => office.dataSource.query('select name from workspaces where id = $1', [workspaceId]);
    expect([await name(), await told()]).toEqual([[{ name: 'w012' }], [{ seq: 1, task: 'told' }]]);

    const broken = office.unitOfWork.run(workspaceId, async (tx) => {
      await tx.query(rename, [workspaceId, 'x']);
      tx.last('insert into office_event_counters (workspace_id) values ($1)', [workspaceId]);
      emitTask(tx, 'never');
    });
    await expect(broken).rejects.toSatisfy((error) => brokenConstraint(error) === 'office_event_counters_pkey');
    expect([await name(), await told()]).toEqual([[{ name: 'w012' }], [{ seq: 1, task: 'told' }]]);
    expect(await office.unitOfWork.run(workspaceId, (tx) => tx.query('select 1 as one'))).toEqual([{ one: 1 }]);
  });

  it('commits nothing of a workspace that cannot number its events', async () => {
    await office.dataSource.query('delete from office_event_counters where workspace_id = $1', [workspaceId]);
    const broken = office.unitOfWork.run(workspaceId, async (tx) => {
      await tx.query(`update workspaces set name = 'lost' where id = $1`, [workspaceId]);
      emitTask(tx, 'never');
    });
    await expect(broken).rejects.toThrow('seq');
    expect(await office.dataSource.query('select name from workspaces where id = $1', [workspaceId])).toEqual([{ name: 'w' }]);
  });

  it('does not take a rollback for a commit, when the work kept quiet about a statement that had failed', async () => {
    const careless = office.unitOfWork.run(workspaceId, async (tx) => {
      await tx.query(`update workspaces set name = 'lost' where id = $1`, [workspaceId]);
      await tx.query('select 1 / 0').catch(() => undefined);
    });
    await expect(careless).rejects.toThrow('as if it had not');
    expect(await office.dataSource.query('select name from workspaces where id = $1', [workspaceId])).toEqual([{ name: 'w' }]);
  });

  it('opens with a statement that sees what is committed, and locks it', async () => {
    const blocked = await office.unitOfWork.run(workspaceId, async (tx) => {
      const found = await tx.openWith<{ name: string }>('select name from workspaces where id = $1 for no key update', [workspaceId]);
      expect(found).toEqual([{ name: 'w' }]);
      return office.dataSource.query('select from workspaces where id = $1 for no key update skip locked', [workspaceId]);
    });
    expect(blocked).toEqual([]);
  });

  it('writes nothing before it is known that the transaction is open', async () => {
    const runner = office.dataSource.createQueryRunner();
    const unopened = new Tx(runner.manager, workspaceId, Promise.reject(new Error('no transaction')));
    const insert = 'insert into workspaces (id, name, task_prefix) values ($1, $2, $3)';
    await expect(unopened.query(insert, [newId(), 'astray', 'A'])).rejects.toThrow('no transaction');
    await expect(unopened.prepared(insert, [newId(), 'astray', 'A'])).rejects.toThrow('no transaction');
    await expect(unopened.openWith('select 1')).rejects.toThrow('no transaction');
    await runner.release();
    expect(await office.dataSource.query(`select from workspaces where name = 'astray'`)).toEqual([]);
  });

  it('nudges after the commit, when others can see what it is about, and not at all without one', async () => {
    const seen: Promise<number>[] = [];
    const deaf = office.nudges.on('events', () => seen.push(told().then((events) => events.length)));
    await office.unitOfWork.run(workspaceId, async (tx) => emitTask(tx, 'one'));
    await office.unitOfWork
      .run(workspaceId, async (tx) => {
        emitTask(tx, 'two');
        throw new Error('changed my mind');
      })
      .catch(() => undefined);
    deaf();
    expect(await Promise.all(seen)).toEqual([1]);
  });

  it('runs the whole unit again when PostgreSQL broke a deadlock with it', async () => {
    const other = newId();
    await office.dataSource.query(`insert into workspaces (id, name, task_prefix) values ($1, 'w', 'W')`, [other]);
    let runs = 0;
    let arrived = 0;
    let bothArrived: () => void;
    const both = new Promise<void>((resolve) => (bothArrived = resolve));
    const cross = (first: string, second: string) =>
      office.unitOfWork.run(workspaceId, async (tx) => {
        runs++;
        emitTask(tx, `from ${first}`);
        await tx.query(`update workspaces set name = name || '!' where id = $1`, [first]);
        if (++arrived === 2) bothArrived();
        await both;
        await tx.query(`update workspaces set name = name || '!' where id = $1`, [second]);
      });
    await Promise.all([cross(workspaceId, other), cross(other, workspaceId)]);
    expect(runs).toBe(3);
    expect((await told()).map(({ task }) => task).sort()).toEqual([`from ${workspaceId}`, `from ${other}`].sort());
    expect(await office.dataSource.query('select name from workspaces where id in ($1, $2)', [workspaceId, other])).toEqual([
      { name: 'w!!' },
      { name: 'w!!' },
    ]);
  });

  it('says that the database is away when the connection breaks between two statements', async () => {
    const broken = office.unitOfWork.run(workspaceId, async (tx) => {
      const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await office.dataSource.query('select pg_terminate_backend($1)', [own!.pid]);
      while (!tx.manager.queryRunner!.isReleased) await new Promise(setImmediate);
      await tx.query('select 1');
    });
    await expect(broken).rejects.toSatisfy(isUnavailable);
    const prepared = office.unitOfWork.run(workspaceId, async (tx) => {
      const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await office.dataSource.query('select pg_terminate_backend($1)', [own!.pid]);
      while (!tx.manager.queryRunner!.isReleased) await new Promise(setImmediate);
      // Nothing of a broken transaction may be done on another connection.
      await tx.prepared('insert into workspaces (id, name, task_prefix) values ($1, $2, $3) returning id', [newId(), 'lost', 'L']);
    });
    await expect(prepared).rejects.toSatisfy(isUnavailable);
    expect(await office.dataSource.query(`select from workspaces where name = 'lost'`)).toEqual([]);
  });

  it('works READ COMMITTED, bounded in time', async () => {
    const [session] = await office.unitOfWork.read(`
      select current_setting('transaction_isolation') as isolation, current_setting('statement_timeout') as statement,
             current_setting('idle_in_transaction_session_timeout') as idle`);
    expect(session).toEqual({ isolation: 'read committed', statement: '30s', idle: '1min' });
  });

  it('stores what PostgreSQL would not take: NUL and lone surrogates become U+FFFD', async () => {
    await office.unitOfWork.run(workspaceId, async (tx) => emitTask(tx, 'a\u0000b\ud800c'));
    expect((await told())[0]!.task).toBe('a\ufffdb\ufffdc');
  });

  it('refuses to tell a workspace’s events outside of one', async () => {
    await expect(office.unitOfWork.runForInstance(async (tx) => emitTask(tx, 'nobody'))).rejects.toThrow('needs a workspace');
  });
});
