import { isRecord } from './frame.js';

type Fields = Readonly<Record<string, unknown>>;

export type SettingName = 'mode' | 'model';

export type SettingRequest =
  | { readonly kind: 'set'; readonly method: string; readonly params: Fields }
  | { readonly kind: 'already' }
  | { readonly kind: 'not_offered'; readonly offered: readonly string[] };

const texts = (values: readonly unknown[]): string[] => values.filter((value) => typeof value === 'string');
const records = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/**
 * How to give a session this mode or model, by what the agent offered when the session was opened: a config option of that
 * category, else the older lists of modes and models.
 */
export function settingRequest(name: SettingName, wanted: string, offer: Fields): SettingRequest {
  const option = records(offer['configOptions']).find((candidate) => candidate['category'] === name && typeof candidate['id'] === 'string');
  if (option) {
    // The values may stand in groups.
    const values = records(option['options']).flatMap((value) => ('options' in value ? records(value['options']) : [value]));
    const offered = texts(values.map(({ value }) => value));
    const params = { configId: option['id'], value: wanted };
    return choose(wanted, option['currentValue'], offered, 'session/set_config_option', params);
  }
  const list = isRecord(offer[`${name}s`]) ? (offer[`${name}s`] as Fields) : {};
  if (name === 'mode') {
    const offered = texts(records(list['availableModes']).map(({ id }) => id));
    return choose(wanted, list['currentModeId'], offered, 'session/set_mode', { modeId: wanted });
  }
  const offered = texts(records(list['availableModels']).map(({ modelId }) => modelId));
  return choose(wanted, list['currentModelId'], offered, 'session/set_model', { modelId: wanted });
}

function choose(wanted: string, current: unknown, offered: readonly string[], method: string, params: Fields): SettingRequest {
  if (current === wanted) return { kind: 'already' };
  return offered.includes(wanted) ? { kind: 'set', method, params } : { kind: 'not_offered', offered };
}
