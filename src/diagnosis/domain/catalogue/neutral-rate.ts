import { row, type Signature } from '../signature.js';

const PER_MINUTE = [
  'per minute',
  'per-minute',
  'per min',
  'per second',
  'per-second',
  '(tpm)',
  '(rpm)',
  '*perminute*',
  'per-min',
  'requests per 10 seconds',
] as const;
const LONGER = [
  'limit:0',
  'per day',
  'per-day',
  '*perday*',
  'per week',
  'per month',
  'per hour',
  '(rpd)',
  '(tpd)',
  'requests per day',
  "account's rate limit",
  'weekly*',
  'monthly*',
  'daily*',
] as const;

/** A limit on what somebody tried too often, not on how much was asked for. */
const AGAINST_CALLER = ['login', 'logins', 'log in', 'sign in', 'password', 'banned', 'blocked'] as const;

/** Limits on how much in a short while, in the words of no provider in particular. */
export const neutralRate: readonly Signature[] = [
  row('rate-limit.per-minute', 'rate_limit', 'exact', {
    all: [
      [
        'rate limit',
        'rate_limit',
        'ratelimit',
        'rate-limit',
        'rate_limit_exceeded',
        'rate_limit_error',
        'too many requests',
        'tokens per minute',
        'requests per minute',
      ],
      PER_MINUTE,
    ],
    none: LONGER,
    ends: 'notFar',
  }),
  row('rate-limit.upstream', 'rate_limit', 'exact', {
    any: ['is temporarily rate-limited upstream', 'server is temporarily limiting requests'],
    none: LONGER,
    ends: 'notFar',
  }),
  row('rate-limit.aws', 'rate_limit', 'exact', {
    all: [
      'throttlingexception',
      ['too many requests, please wait before trying again', 'rate exceeded', 'too many tokens, please wait before trying again'],
    ],
    none: LONGER,
    ends: 'notFar',
  }),
  row('rate-limit.azure', 'rate_limit', 'exact', {
    all: [
      ['exceeded token rate limit', 'exceeded call rate limit', 'exceeded the token rate limit'],
      ['please retry after', 'retry after'],
    ],
    none: LONGER,
    ends: 'notFar',
  }),
  row('rate-limit.google', 'rate_limit', 'exact', {
    all: [
      ['reason:ratelimitexceeded', 'reason:rate_limit_exceeded'],
      ['please try again later', 'quota will reset after', 'retrydelay:*', 'retry in', 'resource exhausted. please try again later'],
    ],
    none: [...LONGER, 'check quota', 'current quota'],
    ends: 'notFar',
  }),
  row('rate-limit.google-capacity', 'rate_limit', 'exact', {
    all: ['your quota will reset after', 'rate_limit_exceeded'],
    none: LONGER,
    ends: 'near',
  }),
  row('rate-limit.stated-wait', 'rate_limit', 'exact', {
    all: [
      [
        'rate limit reached',
        'rate limit exceeded',
        'rate limit is exceeded',
        'rate_limit_exceeded',
        'too many requests',
        'no deployments available for selected model',
      ],
      ['try again in', 'retry-after:*', 'retry_after:*', 'retry after', 'retry in', 'retryafter:*'],
    ],
    none: [...LONGER, ...AGAINST_CALLER],
    ends: 'near',
  }),
  row('rate-limit.stated-retryable', 'rate_limit', 'exact', {
    all: ['error_name:rate_limited', 'retryable:true', 'retry_after:*'],
    none: [...LONGER, ...AGAINST_CALLER],
    ends: 'near',
  }),
];
