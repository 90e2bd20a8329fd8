import { describe, expect, it } from 'vitest';
import { settingRequest } from './session-setting.js';

const option = (category: string, currentValue: string, values: unknown[]) => ({
  configOptions: [{ id: `${category}-id`, category, type: 'select', currentValue, options: values }],
});

describe('settingRequest', () => {
  it('uses a config option of the category', () => {
    expect(settingRequest('model', 'big', option('model', 'small', [{ value: 'small' }, { value: 'big' }]))).toEqual({
      kind: 'set',
      method: 'session/set_config_option',
      params: { configId: 'model-id', value: 'big' },
    });
  });

  it('finds a value in a group', () => {
    const offer = option('mode', 'a', [{ group: 'g', options: [{ value: 'b' }] }]);
    expect(settingRequest('mode', 'b', offer)).toMatchObject({ kind: 'set', params: { value: 'b' } });
  });

  it('uses the older lists where there is no config option', () => {
    const offer = {
      modes: { currentModeId: 'a', availableModes: [{ id: 'a' }, { id: 'plan' }] },
      models: { currentModelId: 'x', availableModels: [{ modelId: 'x' }, { modelId: 'y' }] },
    };
    expect(settingRequest('mode', 'plan', offer)).toEqual({ kind: 'set', method: 'session/set_mode', params: { modeId: 'plan' } });
    expect(settingRequest('model', 'y', offer)).toEqual({ kind: 'set', method: 'session/set_model', params: { modelId: 'y' } });
    expect(settingRequest('model', 'x', offer)).toEqual({ kind: 'already' });
  });

  it.each([[{}], [{ configOptions: 'x', modes: 7 }], [{ configOptions: [null, { category: 'model' }] }]])(
    'of %j says that nothing is offered',
    (offer) => {
      expect(settingRequest('model', 'big', offer as Record<string, unknown>)).toEqual({ kind: 'not_offered', offered: [] });
    },
  );

  it('names what is offered instead', () => {
    expect(settingRequest('model', 'big', option('model', 's', [{ value: 's' }, { value: 5 }]))).toEqual({
      kind: 'not_offered',
      offered: ['s'],
    });
  });
});
