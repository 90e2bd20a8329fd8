import type { Call } from './call.js';

/** What the guard found out about a request, for the parameter decorators: nothing else may put it there. */
export interface Admission {
  readonly call: Call | null;
  readonly workspaceId: string | null;
}

const admissions = new WeakMap<object, Admission>();

export const admit = (request: object, admission: Admission): void => void admissions.set(request, admission);

export function admissionOf(request: object): Admission {
  const admission = admissions.get(request);
  // A route that was not judged has no caller to fall back to: better a loud 500 than a change made by nobody.
  if (!admission) throw new Error('the request was never admitted');
  return admission;
}
