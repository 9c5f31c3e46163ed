// What the host is told as the person's own settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEYS, personal } from '../src/core/settings.ts';

test('only what the person has set is told, never what a workspace brings', () => {
  for (const key of KEYS) {
    const inspect = (asked: string) => (asked === key ? { globalValue: ['mine'], workspaceValue: ['evil'], workspaceFolderValue: ['evil'] } : { workspaceValue: 'evil' });
    assert.deepEqual(personal(inspect, false), { [key]: ['mine'], trust: 'never' }, key);
  }
});

test('trust is the editor\'s and no setting', () => {
  const inspect = (key: string) => (key === 'trust' ? { globalValue: 'always', workspaceValue: 'always' } : undefined);
  assert.deepEqual(personal(inspect, false), { trust: 'never' });
  assert.deepEqual(personal(inspect, true), { trust: 'always' });
});

test('what is empty is not told', () => {
  for (const globalValue of [undefined, null, '', [], {}]) assert.deepEqual(personal(() => ({ globalValue }), true), { trust: 'always' });
  assert.deepEqual(personal(() => ({ globalValue: 0 }), true)['limits'], 0);
});
