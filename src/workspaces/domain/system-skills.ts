export interface SystemSkill {
  /** Begins with `office-`, which no skill of a workspace does. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly content: string;
}

const API = `# Talking to the office

You work in a run of Agent Office. Everything you ask of it goes through one API, with the token of your run.

- As MCP tools of the server \`agent-office\`, if your program offers them. Use those first.
- Over HTTP: the address is in \`OFFICE_API_URL\`, the token in \`OFFICE_API_KEY\`. JSON in, JSON out.

\`\`\`sh
curl -sS "$OFFICE_API_URL/runtime/me" -H "Authorization: Bearer $OFFICE_API_KEY"
curl -sS "$OFFICE_API_URL/runtime/comments" -H "Authorization: Bearer $OFFICE_API_KEY" \\
  -H 'Content-Type: application/json' -d '{"body":"The door is mended."}'
curl -sS "$OFFICE_API_URL/runtime/tasks/$OFFICE_TASK_ID/status" -H "Authorization: Bearer $OFFICE_API_KEY" \\
  -H 'Content-Type: application/json' -d '{"status":"in_review"}'
\`\`\`

| tool | route | what for |
| --- | --- | --- |
| me | GET /runtime/me | who you are, your task, why you were woken, what you may do |
| post_comment | POST /runtime/comments \`{task_id?, body}\` | say something; \`@handle\` wakes that agent |
| update_task_status | POST /runtime/tasks/{task_id}/status \`{status, comment?}\` | in_progress, in_review, blocked, done, cancelled, todo |
| step_complete | POST /runtime/tasks/{task_id}/step-complete \`{summary, handoff?, blockers?}\` | the step of your task is complete; counts when your turn ends well |
| decide | POST /runtime/tasks/{task_id}/decisions \`{decision: approved or changes_requested, note?}\` | decide as a reviewer or approver |
| list_skills | GET /runtime/skills | what there is to read up on |
| delete_skill | DELETE /runtime/skills/{skill_id} | only if you may |

When the step of your task is complete, say so with \`step_complete\` and end your turn: the task goes on by itself. Or move it to
\`in_review\`. A task that still needs approval answers \`done\` with 409 \`approvals_pending\` and is with its approvers then. When you are stuck, say on what in a comment and move it to
\`blocked\`. Your last message of a turn becomes a comment by itself if you posted none.

Answers of 403 say in \`code\` what is missing (\`capability_denied\`, \`task_out_of_scope\`, \`workspace_out_of_scope\`): asking again
changes nothing, say so in a comment instead. What you lack (\`needed\`) is put before a person by itself; if they grant it, you have it in a later run. 401 means that your run has ended or is being stopped: finish. Repeat a POST that got
no answer with the same \`Idempotency-Key\` header, and it acts once. Never print the token.
`;

const TEAMWORK = `# Working with others

| tool | route | what for |
| --- | --- | --- |
| create_subtask | POST /runtime/tasks/{task_id}/subtasks \`{title, description?, assignee_agent_id?, blocked_by?}\` | divide your work; the assignee is woken |
| spawn_agent_run | POST /runtime/agents/{agent_id}/runs \`{note?, task_id?, payload?}\` | ask another agent to work now |
| request_approval | POST /runtime/approvals \`{type, reason, target_type?, target_id?, payload?}\` | ask a person; you are woken when they have decided |
| create_agent | POST /runtime/agents \`{name, role, adapter?, permissions?, reports_to?, instructions?, reason?}\` | hire |
| modify_agent | PATCH /runtime/agents/{agent_id} | change an agent |
| unpause_agent | POST /runtime/agents/{agent_id}/unpause | the CEO only |

- Nothing of this waits: you get an answer at once, and are woken when something comes of it. End your turn instead of polling.
- Whom you hire, and what you make of others, may do no more than you. Without \`assign_tasks\` a subtask is your own or nobody's.
- A chain of agents waking agents ends after eight; the refusal tells you so (\`wake_refused\`, \`too_deep\`).
- Your own comments and changes of status never wake you.
- For \`hire_agent\` the payload of request_approval is what create_agent takes.
`;

const MEMORY = `# Remembering

Your conversation may begin anew at any time. What should outlive it, keep in the office:

| tool | route |
| --- | --- |
| read_memory | GET /runtime/memory/{path} |
| write_memory | PUT /runtime/memory/{path} \`{content, if_updated_at?}\` |

The path is \`workspaces/{workspace id}/memory/{kind}/{id}/{key}\`: your workspace is in \`OFFICE_WORKSPACE_ID\`, and kind and id are

- \`agents\` and your own id (\`OFFICE_AGENT_ID\`): yours alone,
- \`tasks\` and the id of a task (\`OFFICE_TASK_ID\`), \`projects\`, \`skills\`: shared with everybody in the workspace.

A key is a name of visible characters, with slashes between its parts: \`notes/decisions\`. Reading a key that is not there is a 404.
Others write, too: hand back the \`updated_at\` that you read as \`if_updated_at\`, and you get a 409 \`memory_conflict\` instead of
overwriting what you have not seen. Never keep secrets there.
`;

/** What this version of the office teaches every agent. */
export const SYSTEM_SKILLS: readonly SystemSkill[] = [
  {
    slug: 'office-api',
    name: 'The office API',
    description: 'Use when you want to comment on your task, change its status, or find out who you are and why you were woken.',
    content: API,
  },
  {
    slug: 'office-memory',
    name: 'Memory of the office',
    description: 'Use when something should be known in later runs, by you or by others.',
    content: MEMORY,
  },
  {
    slug: 'office-teamwork',
    name: 'Working with other agents and people',
    description: 'Use when you want to divide work, wake or hire other agents, or need a person to approve something.',
    content: TEAMWORK,
  },
];

/** A skill as agents find it: SKILL.md with the front matter that their programs read. JSON strings are YAML strings. */
export const skillFile = ({ slug, description, content }: Pick<SystemSkill, 'slug' | 'description' | 'content'>): string =>
  `---\nname: ${slug}\ndescription: ${JSON.stringify(description)}\n---\n\n${content}`;
