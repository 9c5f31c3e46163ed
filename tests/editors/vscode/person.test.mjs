// A person's way through the view, by mouse and keyboard in a real window: prompt, question, diff, answer, undo, stop.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Editor } from './editor.mjs';

const TYPED = '# not saved';
const HOSTILE = [
  '<img src="https://outside.example/pixel.png" onerror="document.body.innerHTML=1"> <script>document.body.remove()</script>\n\n',
  '[press me](command:workbench.action.closeFolder) [or me](javascript:alert(1)) ![image](https://outside.example/pixel.png)\n\n',
  '<iframe src="https://outside.example/"></iframe> \u001b[31mred\u001b[0m \u001b]0;title\u0007\n\n',
  `|a|b|\n|-|-|\n${'|1|2|\n'.repeat(1000)}\n`,
  'The end of it.',
].join('');
const TURNS = {
  edit: [
    [{ reasoning: 'The file comes first.' }, { call: { name: 'fs_read', arguments: { path: 'tidy.py' } } }, { usage: { input: 100, output: 4, costUsd: 0.001 } }],
    [{ text: 'I **mend** it.' }, { call: { name: 'fs_edit', arguments: { path: 'tidy.py', edits: [{ old: 'disk', new: 'agent' }] } } }, { usage: { input: 100, output: 10, costUsd: 0.001 } }],
    [{ text: 'All `done`.' }, { usage: { input: 1000, output: 20, costUsd: 0.0103 } }],
  ],
  hostile: [[{ text: HOSTILE }]],
  hang: [[{ text: 'I think' }, { hang: true }]],
  late: [[{ wait: 1.5 }, { call: { name: 'terminal_run', arguments: { command: 'touch asked' } } }], [{ expect: { result: 'the user denied it' } }, { text: 'As you like.' }]],
  many: [[{ text: { say: 'word '.repeat(1250) } }], [{ text: 'never' }]],
};

test('a person works with the agent', { timeout: 240_000 }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-host-vscode-'));
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'tidy.py'), "name = 'disk'\n");
  writeFileSync(join(workspace, 'AGENTS.md'), 'Be brief.\n');
  const models = Object.fromEntries(Object.entries(TURNS).map(([name, turns]) => {
    const path = join(folder, `${name}.yaml`);
    writeFileSync(path, JSON.stringify(turns));
    return [name, `scripted/${path}`];
  }));
  const editor = await Editor.start({ folder, workspace, trust: false, settings: { 'agentHost.model': models.edit, 'agentHost.view.askWhenHidden': 'modal' } });
  context.after(async () => {
    await editor.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const page = await editor.open();
  page.setDefaultTimeout(40_000);
  const view = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  const prompt = view.locator('.composer textarea');
  const ended = view.locator('.end-row .ended');

  await context.test('opens a file, changes it without saving, and opens the view', async () => {
    await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'tidy.py' }).dblclick();
    await page.locator('.editor-instance .monaco-editor .view-line').first().click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type(`${TYPED}\n`);
    await page.locator('.activitybar .action-label[aria-label^="Agent"]').first().click();
    await view.locator('.composer .primary:enabled').waitFor();
  });

  await context.test('trusts the folder, which the host is told: its AGENTS.md counts from then on', async () => {
    const banner = view.locator('.banner', { hasText: 'Restricted Mode' });
    await banner.waitFor();
    await view.locator('.guidance', { hasText: '1 thing is not used' }).waitFor();
    await banner.getByRole('button', { name: 'Manage trust' }).click();
    const editor = page.locator('.workspace-trust-editor');
    await editor.getByRole('button', { name: 'Trust', exact: true }).click();
    await banner.waitFor({ state: 'hidden' });
    await view.locator('.guidance', { hasText: '1 AGENTS.md' }).waitFor();
    await editor.focus();
    await page.keyboard.press('Escape');
    await editor.waitFor({ state: 'hidden' });
  });

  await context.test('completes a file, sends, and is asked with the diff', async () => {
    await prompt.pressSequentially('tidy @ti');
    await view.locator('.suggestions li', { hasText: 'tidy.py' }).waitFor();
    await prompt.press('Enter');
    assert.equal(await prompt.inputValue(), 'tidy @tidy.py ');
    await prompt.press('Enter');
    const card = view.locator('.question');
    await card.waitFor();
    assert.equal(await card.locator('h2').innerText(), 'coder wants to change tidy.py');
    assert.equal(await card.locator('.markdown').innerText(), 'Asked because it changes a file.');
    assert.equal(await card.locator('.diff .add').textContent(), "+name = 'agent'\n");
    assert.equal(await card.locator('.diff .delete').textContent(), "-name = 'disk'\n");
    assert.match(await view.locator('.prompt .bubble').innerText(), /^tidy @tidy\.py/);
    assert.match(await page.locator('#agentHost\\.status, [id*="agentHost.status"]').first().innerText(), /asks/);
    await card.getByText('Open diff').click();
    await page.locator('.monaco-diff-editor .view-line', { hasText: "name = 'agent'" }).first().waitFor();
    await page.keyboard.press('Control+F4').catch(() => {});
  });

  await context.test('allows it by the keyboard and sees the answer', async () => {
    await view.locator('.question .buttons .primary').focus();
    await page.keyboard.press('Enter');
    await ended.first().waitFor();
    assert.equal(await ended.first().innerText(), 'Completed');
    assert.equal(await view.locator('.item.text strong').innerText(), 'mend');
    assert.equal(await view.locator('.item.text').last().locator('code').innerText(), 'done');
    assert.match(await view.locator('.end-row').first().innerText(), /1\.2k in · 34 out · \$0\.0123/);
    assert.equal(await view.locator('.item.tool.ok').count(), 3, 'the mention, the reading, the edit');
    assert.match(await view.locator('.changes').innerText(), /1 file changed[^]*tidy\.py/);
    assert.equal(readFileSync(join(workspace, 'tidy.py'), 'utf8'), "name = 'disk'\n");
  });

  await context.test('undoes it with one Ctrl+Z', async () => {
    await page.locator('.tabs-container .tab', { hasText: 'tidy.py' }).first().click();
    const text = page.locator('.editor-instance .view-lines').first();
    await text.getByText('agent').waitFor();
    await page.locator('.editor-instance .monaco-editor .view-line').first().click();
    await page.keyboard.press('Control+z');
    await text.getByText('disk').waitFor();
    assert.match((await text.innerText()).replaceAll('\u00a0', ' '), /# not saved/);
  });

  const use = async (name) => {
    await view.locator('.picks button').nth(1).click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Another model' }).click();
    await page.locator('.quick-input-widget input').first().fill(models[name]);
    await page.keyboard.press('Enter');
    await view.locator('.picks button[title*="' + name + '.yaml"]').waitFor();
  };

  await context.test('hostile Markdown of a model is harmless', async () => {
    await use('hostile');
    await prompt.fill('say it');
    await prompt.press('Enter');
    await view.getByText('The end of it.').waitFor();
    const answer = view.locator('.item.text').last();
    assert.equal(await answer.locator('img, script, iframe, [onerror], [style]').count(), 0);
    const links = await answer.locator('a').evaluateAll((all) => all.map((each) => [each.getAttribute('href'), each.dataset.href]));
    assert.ok(links.length > 0 && links.every(([href, aim]) => href === '#' && aim.startsWith('https://outside.example/')), String(links));
    assert.equal(await answer.locator('tbody tr').count(), 200);
    assert.match(await answer.innerText(), /<script>document\.body\.remove\(\)<\/script>[^]*press me \(command:workbench[^]*red/);
    assert.ok(!(await answer.innerText()).includes('\u001b'));
    assert.deepEqual(editor.requests.filter((url) => url.includes('outside.example')), [], 'nothing of it is loaded');
  });

  await context.test('the page is under a strict policy', async () => {
    const refused = await view.locator('body').evaluate(async (body) => {
      const found = [];
      document.addEventListener('securitypolicyviolation', (event) => found.push(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      const image = document.createElement('img');
      image.src = 'https://outside.example/pixel.png';
      body.append(script, image);
      // Not from here: what a debugger evaluates may evaluate.
      setTimeout(() => { try { new Function('window.ran = true')(); } catch { /* as it should be */ } });
      await fetch('https://outside.example/').catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));
      script.remove();
      image.remove();
      return { found, ran: window.ran ?? false };
    });
    assert.equal(refused.ran, false);
    for (const directive of ['script-src-elem', 'img-src', 'connect-src']) assert.ok(refused.found.includes(directive), `${directive}: ${refused.found}`);
  });

  await context.test('stops a run that hangs, and steers nothing any more', async () => {
    await use('hang');
    await prompt.fill('think');
    await prompt.press('Enter');
    await view.getByText('I think').waitFor();
    await prompt.fill('later');
    await prompt.press('Alt+Enter');
    await view.locator('.pending li', { hasText: 'later' }).waitFor();
    await view.locator('.composer .acts .deny').click();
    await view.locator('.end-row .ended.stopped').waitFor();
    assert.equal(await view.locator('.pending li').count(), 0);
    assert.equal((await prompt.inputValue()).trim(), 'later', 'what waited is handed back');
  });

  await context.test('a dialog asks while the view is hidden; Esc denies that once, and it does not come back', async () => {
    await use('late');
    await prompt.fill('');
    await prompt.fill('touch it');
    await prompt.press('Enter');
    await view.locator('.activity .doing').waitFor();
    await page.locator('.activitybar .action-label[aria-label^="Explorer"]').first().click({ force: true });
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /coder wants to run in [^]*touch asked[^]*Asked because/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.locator('.activitybar .action-label[aria-label^="Agent"]').first().click({ force: true });
    await view.getByText('As you like.').waitFor();
    assert.match(await view.locator('.item.tool').last().innerText(), /denied/);
    assert.deepEqual([await dialog.count(), existsSync(join(workspace, 'asked'))], [0, false]);
  });

  await context.test('thousands of deltas are shown in time, and the page answers meanwhile', async () => {
    await use('many');
    await prompt.fill('');
    const { steps, milliseconds } = await view.locator('body').evaluate(() => ({ ...window.agentHostCost }));
    await prompt.fill('go on');
    await prompt.press('Enter');
    await view.locator('.end-row .ended').nth(4).waitFor();
    const cost = await view.locator('body').evaluate(() => ({ ...window.agentHostCost }));
    const count = cost.steps - steps;
    context.diagnostic(`${count} steps, ${((cost.milliseconds - milliseconds) / count).toFixed(3)} ms of the page each`);
    assert.ok(count > 10);
    await prompt.fill('it answers');
    assert.equal(await prompt.inputValue(), 'it answers');
  });

  await context.test('lists the session, and a new one is empty', async () => {
    await page.locator('.pane-header', { hasText: 'Sessions' }).click();
    await page.locator('.pane .monaco-list-row', { hasText: 'tidy @tidy.py' }).waitFor();
    await page.locator('.pane-header', { hasText: 'Transcript' }).hover();
    await page.locator('.action-label[aria-label^="New Session"]').first().click();
    await view.locator('.empty').waitFor();
    await page.locator('.pane .monaco-list-row', { hasText: 'tidy @tidy.py' }).click();
    await view.locator('.end-row .ended').nth(4).waitFor();
    assert.equal(await view.locator('.item.tool').count(), 4);
    assert.equal(await view.locator('.changes').count(), 1);
  });

  assert.ok(existsSync(join(folder, 'state')));
});
