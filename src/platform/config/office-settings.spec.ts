import { describe, expect, it } from 'vitest';
import { readSettings } from './office-settings.js';

describe('the watchdog’s settings', () => {
  it('have defaults, and take other times', () => {
    expect(readSettings({})).toMatchObject({
      OFFICE_QUIET_SEC: 300,
      OFFICE_STRANDED_SIGNAL_SEC: 600,
      OFFICE_DECISION_WAIT_SEC: 3_600,
      OFFICE_WATCHDOG_CRON: '*/30 * * * * *',
    });
    expect(readSettings({ OFFICE_WATCHDOG_CRON: '* * * * *' }).OFFICE_WATCHDOG_CRON).toBe('* * * * *');
  });

  it.each(['soon', '61 * * * * *', '* * *', '*'])('refuse the cron expression %j', (expression) => {
    expect(() => readSettings({ OFFICE_WATCHDOG_CRON: expression })).toThrow('Setting OFFICE_WATCHDOG_CRON must be a cron expression.');
  });
});

describe('a list of delays', () => {
  it('is read from numbers between commas, and has defaults', () => {
    expect(readSettings({ OFFICE_RETRY_DELAYS_SEC: ' 1, 20 ' }).OFFICE_RETRY_DELAYS_SEC).toEqual([1, 20]);
    expect(readSettings({ OFFICE_RETRY_DELAYS_SEC: '0' }).OFFICE_RETRY_DELAYS_SEC).toEqual([0]);
    expect(readSettings({})).toMatchObject({
      OFFICE_RETRY_DELAYS_SEC: [5, 10],
      OFFICE_PRELAUNCH_DELAYS_SEC: [120, 600, 1_800],
      OFFICE_RESET_MARGIN_SEC: 60,
    });
  });

  it.each(['1,2,3', '1,', ',', '1;2', '-1', '1.5', '86401', 'soon'])('is refused: %j', (list) => {
    expect(() => readSettings({ OFFICE_RETRY_DELAYS_SEC: list })).toThrow(
      'Setting OFFICE_RETRY_DELAYS_SEC must be up to 2 whole numbers from 0 to 86400 between commas.',
    );
  });
});
