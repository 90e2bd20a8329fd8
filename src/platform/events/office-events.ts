/**
 * The registry of what the office tells (contract 11). `Tx.emit` is the only way to append one.
 * Payloads carry wire names; `error_message` is cut to 4 KiB by whoever emits it (`forEvent`).
 */
export interface OfficeEvents {
  'office.task.session.updated': { session_id: string; task_id: string | null; state: string; error_message?: string };
  'office.wakeup.updated': {
    wakeup_id: string;
    agent_id: string;
    task_id?: string;
    status: string;
    waiting_on?: string;
    error_message?: string;
  };
  'office.inbox_item': {
    kind: string;
    item_id: string;
    agent_id?: string;
    task_ids?: string[];
    title: string;
    change: 'opened' | 'resolved';
  };
  'office.agent.updated': { agent_id: string; status: string; pause_reason?: string | null; consecutive_failures: number };
  'office.task.updated': { task_id: string; fields: string[] };
  'office.workspace.updated': { workspace_id: string; stopped_at: string | null; by: string | null };
  'office.stall': {
    kind: 'stranded_signal' | 'decision_waiting' | 'quiet_run';
    change: 'opened' | 'ended';
    task_id?: string;
    session_id?: string;
    run_id?: string;
    step_id?: string;
    age_ms: number;
  };
  'office.comment.created': { comment_id: string; task_id: string; author: { kind: string; id: string | null } };
  'office.approval.created': { approval_id: string; type: string; status: string };
  'office.approval.resolved': { approval_id: string; type: string; status: string };
}

export type OfficeEventName = keyof OfficeEvents;
