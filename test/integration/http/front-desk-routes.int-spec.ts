import { Controller, Get, Module, Param, Post, Query, Body } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Allow } from '../../../src/access/allow.decorator.js';
import { openFrontDesk } from '../../support/front-desk.js';
import type { OfficeApp } from '../../support/office-app.js';
import { openApiFaults } from '../../support/open-api-rules.js';
import { inventoryLines, routeInventory } from '../../support/route-inventory.js';

@Controller('careless')
class Careless {
  @Get(':id')
  undeclared(@Param('id') id: string): string {
    return id;
  }
  @Post(':id/:other')
  @Allow('member', { of: 'tasks', param: 'id' })
  unchecked(@Param('id') id: string, @Param('other') other: string, @Query('q') q: string, @Body() body: object): object {
    return { id, other, q, body };
  }
}
@Module({ controllers: [Careless] })
class CarelessModule {}

describe('the routes of the front desk', () => {
  let office: OfficeApp;
  beforeAll(async () => void (office = await openFrontDesk()));
  afterAll(() => office.close());

  // A change here is a change of who may do what: review it as one.
  it('are these', () => {
    expect(`\n${inventoryLines(routeInventory(office.app)).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      GET /api/v1/hosts | HostController.list | instance_admin
      GET /api/v1/me | PeopleController.me | person
      DELETE /api/v1/skills/:id | SkillController.remove | workspace_admin of skills :id
      GET /api/v1/skills/:id | SkillController.get | member of skills :id
      PATCH /api/v1/skills/:id | SkillController.change | workspace_admin of skills :id
      DELETE /api/v1/tokens/:id | PeopleController.revokeToken | person
      POST /api/v1/users | PeopleController.createUser | instance_admin | idempotent
      POST /api/v1/users/:id/tokens | PeopleController.createToken | instance_admin | idempotent
      GET /api/v1/workspaces | WorkspaceController.list | person
      POST /api/v1/workspaces | WorkspaceController.create | instance_admin | idempotent
      GET /api/v1/workspaces/:ws | WorkspaceController.find | member of workspaces :ws
      GET /api/v1/workspaces/:ws/members | WorkspaceController.listMembers | member of workspaces :ws
      DELETE /api/v1/workspaces/:ws/members/:user | WorkspaceController.removeMember | workspace_admin of workspaces :ws
      PUT /api/v1/workspaces/:ws/members/:user | WorkspaceController.putMember | workspace_admin of workspaces :ws
      GET /api/v1/workspaces/:ws/secrets | WorkspaceController.listSecrets | member of workspaces :ws
      DELETE /api/v1/workspaces/:ws/secrets/:name | WorkspaceController.removeSecret | workspace_admin of workspaces :ws
      PUT /api/v1/workspaces/:ws/secrets/:name | WorkspaceController.putSecret | workspace_admin of workspaces :ws
      GET /api/v1/workspaces/:ws/settings | WorkspaceController.settings | member of workspaces :ws
      PATCH /api/v1/workspaces/:ws/settings | WorkspaceController.changeSettings | workspace_admin of workspaces :ws
      GET /api/v1/workspaces/:ws/skills | SkillController.list | member of workspaces :ws
      POST /api/v1/workspaces/:ws/skills | SkillController.create | workspace_admin of workspaces :ws | idempotent
      GET /health/live | ProbesController.live | public
      GET /health/ready | ProbesController.ready | public
      GET /metrics | ProbesController.expose | loopback_or_instance_admin
      "
    `);
  });

  it('would show a route without access, and arguments nobody checks', async () => {
    const careless = await openFrontDesk({ modules: [CarelessModule] });
    const lines = inventoryLines(routeInventory(careless.app)).filter((line) => line.includes('Careless'));
    await careless.close();
    expect(lines).toEqual([
      'GET /api/v1/careless/:id | Careless.undeclared | UNDECLARED | UNCHECKED param id',
      'POST /api/v1/careless/:id/:other | Careless.unchecked | member of tasks :id | UNCHECKED param other, query q, body',
    ]);
  });
});

describe('the OpenAPI document', () => {
  let office: OfficeApp;
  let document: OpenAPIObject;
  beforeAll(async () => {
    office = await openFrontDesk();
    document = (await office.ask('GET /api/docs-json', { from: '192.0.2.7' })).body as unknown as OpenAPIObject;
  });
  afterAll(() => office.close());

  it('is there for anyone, and complete', () => {
    expect(openApiFaults(document)).toEqual([]);
    const routes = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const inventory = routeInventory(office.app).map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(routes.sort()).toEqual(inventory.sort());
  });

  it('says of a route who may call it, what it takes, and how it refuses', () => {
    expect(document).toMatchObject({
      paths: {
        '/api/v1/users/{id}/tokens': {
          post: {
            operationId: 'people_createToken',
            description: 'Access: Instance admins.',
            'x-access': { who: 'instance_admin' },
            security: [{ bearer: [] }],
            parameters: expect.arrayContaining([expect.objectContaining({ in: 'header', name: 'Idempotency-Key', required: false })]),
            responses: { 201: {}, 400: {}, 401: {}, 403: {}, 404: {}, 409: {}, 413: {}, 415: {}, 500: {}, 503: {} },
          },
        },
        '/api/v1/workspaces/{ws}': { get: { 'x-access': { who: 'member', row: { kind: 'workspaces', param: 'ws' } } } },
        '/health/live': { get: { 'x-access': { who: 'public' } } },
      },
      components: {
        schemas: {
          CreateTokenBody: {
            required: ['label', 'scopes'],
            properties: {
              label: { type: 'string', minLength: 1, maxLength: 200 },
              scopes: { type: 'array', minItems: 1, items: { type: 'string', enum: ['read', 'write', 'admin'] } },
              expires_at: { type: 'string', format: 'date-time' },
            },
          },
          ErrorView: { required: ['error', 'code'] },
          WorkspacePage: {
            properties: {
              items: { type: 'array', items: { $ref: '#/components/schemas/WorkspaceView' } },
              next_cursor: { nullable: true },
            },
          },
        },
      },
    });
  });

  it('has a page that loads nothing from elsewhere and may stand in no frame', async () => {
    const page = await office.ask('GET /api/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')]);
    expect(page.headers['content-security-policy']).toContain("default-src 'self'");
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(page.text).not.toMatch(/(src|href)="https?:/);
    for (const [, asset] of page.text.matchAll(/(?:src|href)="(\.\/[^"]+\.(?:js|css))"/g)) {
      expect((await office.ask(`GET ${new URL(asset!, 'http://x/api/docs').pathname}`)).status, asset).toBe(200);
    }
  });
});
