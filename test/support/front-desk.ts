import { AccessModule } from '../../src/access/access.module.js';
import type { Role, Scope } from '../../src/access/domain/route-access.js';
import { WorkspaceFurnishing } from '../../src/workspaces/workspace-furnishing.js';
import { WorkspaceModule } from '../../src/workspaces/workspace.module.js';
import { openOfficeApp } from './office-app.js';
import type { OfficeApp, OfficeAppOptions } from './office-app.js';

/** Furnishes nothing: for rooms that stand below the workflow. */
export class Unfurnished extends WorkspaceFurnishing {
  override furnish(): Promise<void> {
    return Promise.resolve();
  }
}

/** Access and workspaces, and whatever controllers a test brings. */
export const openFrontDesk = (options: Partial<OfficeAppOptions> = {}): Promise<OfficeApp> =>
  openOfficeApp({
    ...options,
    modules: [AccessModule, WorkspaceModule, ...(options.modules ?? [])],
    providers: options.providers ?? [{ provide: WorkspaceFurnishing, useClass: Unfurnished }],
  });

export interface SomePerson {
  readonly id: string;
  readonly token: string;
}

/** A user with a token, made over HTTP as an instance admin makes them. */
export async function aPerson(
  office: OfficeApp,
  about: { name?: string; scopes?: Scope[]; isInstanceAdmin?: boolean; expiresAt?: string } = {},
): Promise<SomePerson> {
  const { name = 'Ann', scopes = ['admin'], isInstanceAdmin = false, expiresAt } = about;
  const user = await office.ask('POST /api/v1/users', { token: office.adminToken, body: { name, is_instance_admin: isInstanceAdmin } });
  const id = String(user.body.id);
  return { id, token: await aToken(office, id, scopes, expiresAt) };
}

export async function aToken(office: OfficeApp, userId: string, scopes: Scope[], expiresAt?: string): Promise<string> {
  const made = await office.ask(`POST /api/v1/users/${userId}/tokens`, {
    token: office.adminToken,
    body: { label: 'test', scopes, ...(expiresAt !== undefined && { expires_at: expiresAt }) },
  });
  if (made.status !== 201) throw new Error(made.text);
  return String(made.body.token);
}

/** A workspace of the first admin's, with these members beside them. */
export async function aWorkspace(office: OfficeApp, members: readonly (readonly [SomePerson, Role])[] = []): Promise<string> {
  const made = await office.ask('POST /api/v1/workspaces', { token: office.adminToken, body: { name: 'Acme' } });
  if (made.status !== 201) throw new Error(made.text);
  const id = String(made.body.id);
  for (const [person, role] of members) {
    await office.ask(`PUT /api/v1/workspaces/${id}/members/${person.id}`, { token: office.adminToken, body: { role } });
  }
  return id;
}
