// Pictures of the view to look at, in light, dark and high contrast; no test. `WIDTH=500 node look.mjs FOLDER [name...]`
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Editor, QUIET, serverSettings } from './editor.mjs';

const THEMES = { light: 'Default Light Modern', dark: 'Default Dark Modern', contrast: 'Default High Contrast', contrastLight: 'Default High Contrast Light' };
const OUT = resolve(process.argv[2] ?? 'shots');
const WANTED = process.argv.slice(3);
const SAID = `I looked at how the configuration is read. Two things stand out:

1. \`load()\` reads the file **twice**, once for each layer.
2. A missing key raises a bare \`KeyError\`, which the person sees as *\`'port'\`* and nothing else.

\`\`\`python
def load(path: Path, defaults: Mapping[str, str]) -> Settings:
    """Settings from a file; what it leaves out comes from the defaults."""
    found = parse(path.read_text(encoding="utf-8"))
    return Settings(host=found.get("host", defaults["host"]), port=int(found.get("port", defaults["port"])))
\`\`\`

| layer | read | wins over |
|:--|--:|:--|
| defaults | 1 | nothing |
| \`config.yaml\` | 2 | defaults |
| environment | 1 | the file |

> The order is documented in [the manual](https://docs.example/settings), but nothing tests it.

- [x] read the loader
- [ ] mend it
  - keep the message short
- [ ] run the tests
`;
const LONG = Array.from({ length: 60 }, (_, at) => `tests/test_settings.py::test_case_${at} PASSED                       [${String(Math.round((at + 1) / 0.6)).padStart(3)}%]`).join('\n');
const usage = { usage: { input: 18_400, output: 900, cached: 12_000, costUsd: 0.0412 } };
const edit = { call: { name: 'fs_edit', arguments: { path: 'settings.py', edits: [{ old: "    return Settings(host=found['host'], port=int(found['port']))", new: "    host = found.get('host', DEFAULTS['host'])\n    port = int(found.get('port', DEFAULTS['port']))\n    return Settings(host=host, port=port)" }, { old: "DEFAULTS = {}", new: "DEFAULTS = {'host': '127.0.0.1', 'port': '8080'}" }] } } };
const SCRIPTS = {
  long: [
    [{ reasoning: 'The person wants the loader mended. I look at the loader first, then at its tests, then I change as little as possible.' }, { text: 'I look at the loader and at what uses it.' }, { call: { name: 'fs_read', arguments: { path: 'settings.py' } } }, { call: { name: 'fs_search', arguments: { pattern: 'load' } } }, { call: { name: 'fs_read', arguments: { path: 'nowhere.py' } } }],
    [{ text: SAID }, edit, usage],
    [{ text: 'Now the tests.' }, { call: { name: 'terminal_run', arguments: { command: 'cat tests.log' } } }, usage],
    [{ text: 'All **60 tests pass**. `load()` reads the file once, and what is missing comes from `DEFAULTS`.' }, usage],
  ],
  ask: [[{ text: 'The tests need the package first.' }, { call: { name: 'terminal_run', arguments: { command: 'pip install --upgrade "pytest>=8" && python -m pytest -q tests' } } }], [{ text: 'As you like.' }]],
  hang: [[{ reasoning: 'Hm.' }, { text: 'I think about' }, { hang: true }]],
  bad: [[{ text: 'I begin with' }, { error: { status: 529, message: 'Overloaded', times: 99 } }]],
};

const folder = mkdtempSync(join(tmpdir(), 'agent-host-look-'));
const workspace = join(folder, 'weather');
mkdirSync(join(workspace, 'docs'), { recursive: true });
writeFileSync(join(workspace, 'settings.py'), "from pathlib import Path\n\nDEFAULTS = {}\n\n\ndef load(path):\n    found = parse(path.read_text())\n    return Settings(host=found['host'], port=int(found['port']))\n");
writeFileSync(join(workspace, 'docs', 'manual.md'), '# Manual\n\nHow to load.\n');
writeFileSync(join(workspace, 'tests.log'), LONG + '\n');
const models = Object.fromEntries(Object.entries(SCRIPTS).map(([name, turns]) => {
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(turns));
  return [name, `scripted/${join(folder, `${name}.yaml`)}`];
}));
mkdirSync(OUT, { recursive: true });
const editor = await Editor.start({ folder, workspace, settings: { 'agentHost.model': models.long } });
try {
  await look(await editor.open({ viewport: { width: 1180, height: 900 } }));
} catch (error) {
  await editor.page?.screenshot({ path: join(OUT, 'failed.png') });
  throw error;
} finally {
  await editor.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function look(page) {
  page.setDefaultTimeout(20_000);
  const view = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  const prompt = view.locator('.composer textarea');
  let settings = { 'agentHost.model': models.long };
  const set = async (more) => {
    settings = { ...settings, ...more };
    for (const place of ['User', 'Machine']) writeFileSync(join(folder, 'code', 'data', place, 'settings.json'), JSON.stringify({ ...QUIET, ...serverSettings(folder), ...settings }));
    await page.waitForTimeout(900);
  };
  const shoot = async (name, themes = Object.keys(THEMES), clip = undefined) => {
    if (WANTED.length && !WANTED.includes(name)) return;
    for (const theme of themes) {
      await set({ 'workbench.colorTheme': THEMES[theme] });
      await page.waitForTimeout(600);
      await page.screenshot({ path: join(OUT, `${name}-${theme}.png`), ...(clip ? { clip } : {}) });
    }
  };
  const command = async (text) => {
    await page.waitForTimeout(500);
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').first().fill(`>${text}`);
    await page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    await page.keyboard.press('Enter');
  };
  const pick = async (model) => {
    await view.locator('.picks button').nth(1).click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Another model' }).click();
    await page.locator('.quick-input-widget input').first().fill(model);
    await page.keyboard.press('Enter');
    await view.locator(`.picks button[title*="${model}"]`).waitFor();
  };
  const use = async (name) => {
    await command('Agent: New Session');
    await view.locator('.empty').waitFor();
    await pick(models[name]);
  };
  const ended = view.locator('.end-row .ended');

  await page.locator('.activitybar .action-label[aria-label^="Agent"]').first().click();
  await view.locator('.composer .primary:enabled').waitFor();
  const sash = await page.locator('.monaco-sash.vertical').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().x));
  const at = Math.min(...sash.filter((x) => x > 100));
  await page.mouse.move(at + 2, 500);
  await page.mouse.down();
  await page.mouse.move(Number(process.env.WIDTH ?? 500), 500, { steps: 5 });
  await page.mouse.up();
  await page.mouse.move(700, 870);
  await shoot('empty');

  await prompt.fill('Mend the loader of @settings.py: it must not fail when a key is missing.');
  await prompt.press('Enter');
  await view.locator('.question').waitFor();
  await shoot('question');
  await view.getByText('Open diff').first().click();
  await page.locator('.monaco-diff-editor .view-line').first().waitFor();
  await shoot('diff');
  await view.locator('.question .buttons .primary').click();
  await ended.first().waitFor().catch(() => {});
  if (await view.locator('.question').count()) {
    await shoot('question2');
    await view.locator('.question .buttons .primary').click();
    await ended.first().waitFor();
  }
  await shoot('long-end');
  await view.locator('.transcript').evaluate((list) => { list.scrollTop = 0; });
  await shoot('long-top');
  for (const each of await view.locator('.item summary').all()) await each.click();
  await view.locator('.transcript').evaluate((list) => { list.scrollTop = 0; });
  await shoot('unfolded');
  await view.locator('.transcript').evaluate((list) => { list.scrollTop = list.scrollHeight; });
  await shoot('unfolded-end', ['dark']);

  await use('ask');
  await prompt.fill('Run the tests.');
  await prompt.press('Enter');
  await view.locator('.question').waitFor();
  await shoot('command');
  await view.locator('.question .buttons .deny').first().click();
  await ended.first().waitFor();

  await use('hang');
  await prompt.fill('Think about it.');
  await prompt.press('Enter');
  await view.getByText('I think about').waitFor();
  await prompt.fill('and mind the tests');
  await prompt.press('Enter');
  await prompt.fill('then write a changelog entry, in the style of the ones that are there');
  await prompt.press('Alt+Enter');
  await view.locator('.pending li').nth(1).waitFor();
  await shoot('working');
  await view.locator('.composer .acts .deny').click();
  await ended.first().waitFor();
  await shoot('stopped', ['dark']);
  await prompt.fill('');

  await prompt.pressSequentially('look at @');
  await view.locator('.suggestions li').first().waitFor();
  await shoot('mention', ['dark']);
  await prompt.fill('');
  await prompt.pressSequentially('/');
  await view.locator('.suggestions li').first().waitFor();
  await shoot('slash', ['light']);
  await prompt.fill('');

  await use('bad');
  await prompt.fill('Go on.');
  await prompt.press('Enter');
  await view.locator('.error-box').first().waitFor();
  await shoot('failed');
  await command('Agent: New Session');
  await view.locator('.empty').waitFor();
  await shoot('empty2');
  await prompt.fill('Go on.');
  await pick('anthropic/claude-sonnet-5-5');
  await prompt.press('Enter');
  await view.locator('.error-box').first().waitFor();
  await shoot('nokey');

  await command('Agent: Open a Session');
  await page.locator('.quick-input-list .monaco-list-row').nth(1).waitFor();
  await shoot('history', ['dark']);
  await page.keyboard.press('Escape');
  await command('Agent: Choose the Model');
  await page.locator('.quick-input-list .monaco-list-row').nth(1).waitFor();
  await shoot('models', ['light']);
  await page.keyboard.press('Escape');
  await page.locator('.pane-header', { hasText: 'Sessions' }).click();
  await shoot('sessions', ['light', 'dark']);
  await page.locator('.pane-header', { hasText: 'Sessions' }).click();

  await set({ 'agentHost.server.path': '/nowhere/agent-host' });
  await view.locator('.banner.missing').waitFor();
  await shoot('missing');
  await command('Welcome: Open Walkthrough');
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Get started with the agent' }).click();
  await page.waitForTimeout(1500);
  await shoot('walkthrough', ['light', 'dark']);
}
