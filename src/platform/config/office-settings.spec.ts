import { describe, expect, it } from 'vitest';
import { readSettings } from './office-settings.js';

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
