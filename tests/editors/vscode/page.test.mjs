// The transcript's page in a real browser: what is shown, followed, refused, and done by keyboard alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Page } from './page.mjs';

const text = (said) => ({ kind: 'text', text: said });
const call = (callId, more = {}) => ({ kind: 'toolCall', callId, name: 'terminal_run', title: `Run ${callId}`, risk: 'low', arguments: { command: callId }, ...more });
const result = (callId, status = 'ok') => ({ kind: 'toolResult', callId, status, summary: 'It is done' });
const DIFF = '--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n';
const ask = (callId, more = {}) => ({
  step: 'ask', ask: {
    sessionId: 's', runId: 'r1', callId, title: 'coder wants to change a.py', detail: 'It **changes** a file.', diff: DIFF, parts: [], allowsReason: true,
    options: [{ id: 'no', title: 'Deny', kind: 'deny' }, { id: 'yes', title: 'Allow once', kind: 'allowOnce' }, { id: 'halt', title: 'Stop', kind: 'stop' }], ...more,
  },
});
const scroller = (page) => page.locator('.transcript').evaluate(({ scrollTop, scrollHeight, clientHeight }) => ({ top: scrollTop, left: scrollHeight - scrollTop - clientHeight }));

test('the page', { timeout: 120_000 }, async (context) => {
  const page = await Page.open();
  context.after(() => page.close());
  const prompt = page.locator('.composer textarea');

  await context.test('an empty session says what can be done, and what is missing', async () => {
    await page.show([], { modelProblem: 'No model can be used yet: no vendor has a key.', file: '@a.py', recent: [{ sessionId: 'x', title: 'Before', when: 'now' }], guidance: { instructions: 1, skills: 2, prompts: 0, problems: 1 } });
    await page.locator('.start', { hasText: 'Explain this file' }).click();
    assert.match(await prompt.inputValue(), /@a\.py/);
    await page.locator('.empty').getByRole('button', { name: 'Set a key…' }).click();
    await page.locator('.recent-session').click();
    await page.locator('.guidance button').click();
    assert.deepEqual(await page.said('command'), [{ type: 'command', command: 'setKey' }, { type: 'command', command: 'guidance' }]);
    assert.deepEqual(await page.said('open'), [{ type: 'open', id: 'x' }]);
    assert.match(await page.locator('.guidance').innerText(), /Used here: 1 AGENTS\.md, 2 skills; 1 thing is not used/);
    await page.page.keyboard.press('Escape');
    await prompt.fill('');
  });

  await context.test('the end is followed until the person looks elsewhere, and again at a button', async () => {
    await page.show();
    await page.steps({ kind: 'started', role: 'coder', model: 'm', runtime: 'sdk' });
    for (let at = 0; at < 12; at += 1) await page.steps(text(`Paragraph ${at}\n\n${'word '.repeat(80)}\n\n`));
    assert.ok((await scroller(page)).left < 2, 'the end is shown');
    await page.locator('.transcript').hover();
    await page.page.mouse.wheel(0, -900);
    await page.locator('.latest').waitFor({ state: 'hidden' });
    await page.page.waitForFunction(() => { const list = document.querySelector('.transcript'); return list.scrollHeight - list.scrollTop - list.clientHeight > 500; });
    const { top } = await scroller(page);
    for (let at = 0; at < 5; at += 1) await page.steps(text(`More ${at}\n\n${'word '.repeat(200)}\n\n`));
    assert.equal((await scroller(page)).top, top, 'nothing jumps while the person reads');
    await page.locator('.latest').click();
    await page.page.waitForFunction(() => { const list = document.querySelector('.transcript'); return list.scrollHeight - list.scrollTop - list.clientHeight < 2; });
    await page.steps(text('word '.repeat(400)));
    assert.ok((await scroller(page)).left < 2, 'the end is followed again');
  });

  await context.test('what streams is not made anew: its blocks, and what is selected in them, stay', async () => {
    await page.show();
    await page.steps(text('First **block**.\n\n- one\n- two'));
    await page.locator('.item.text p').evaluate((each) => { each.dataset.kept = 'yes'; });
    await page.steps(text('\n- three\n\n```py\nx = 1\n'));
    await page.locator('.item.text pre').evaluate((each) => { each.dataset.kept = 'yes'; });
    await page.steps(text('y = "2"\n'), text('z = 3\n'));
    assert.equal(await page.locator('.item.text [data-kept]').count(), 2);
    await page.steps(text('```\nEnd'));
    assert.equal(await page.locator('.item.text pre').innerText(), 'x = 1\ny = "2"\nz = 3');
    assert.equal(await page.locator('.code-string').innerText(), '"2"');
    await page.locator('.item.text .code').hover();
    await page.locator('.item.text .code .copy').click();
    assert.deepEqual(await page.said('copy'), [{ type: 'copy', text: 'x = 1\ny = "2"\nz = 3' }]);
  });

  await context.test('a long output and a long code block are whole, and shown to their end', async () => {
    await page.show();
    const lines = Array.from({ length: 35_000 }, (_, at) => `line ${at} — ${'x'.repeat(at % 90)}\n`);
    await page.steps(call('c1'));
    for (let at = 0; at < lines.length; at += 700) await page.steps({ kind: 'toolOutput', callId: 'c1', stream: 'stdout', text: lines.slice(at, at + 700).join('').slice(0, -1) }, { kind: 'toolOutput', callId: 'c1', stream: 'stdout', text: '\n' });
    const output = page.locator('.output');
    const shown = await output.evaluate((each) => each.textContent);
    assert.ok(lines.join('').endsWith(shown.slice(shown.indexOf('\n') + 1)) && shown.length > 50_000, 'the end of it, and nothing twice');
    assert.ok(shown.length < 200_000 && await output.locator('*').count() < 100, `${shown.length} characters are in the page`);
    assert.match(shown, /^… \d+ characters before this are not shown\n/);
    assert.ok(await output.evaluate(({ scrollTop, scrollHeight, clientHeight }) => scrollHeight - scrollTop - clientHeight < 4));
    await page.steps(text('```\n'));
    for (let at = 0; at < 1000; at += 50) await page.steps(text(lines.slice(at, at + 50).join('')));
    assert.equal(await page.locator('.item.text code').evaluate((each) => each.textContent), lines.slice(0, 1000).join('').slice(0, -1) + '\n');
  });

  await context.test('a question stands above the prompt, and is answered by the keyboard alone', async () => {
    await page.show([], { running: true });
    await page.steps(text('word '.repeat(3000)), call('c1', { name: 'fs_edit', title: 'Edit a.py' }), { kind: 'edit', callId: 'c1', uri: 'file:///w/a.py', diff: DIFF, state: 'proposed' }, ask('c1'));
    const card = page.page.getByRole('group', { name: 'Question: coder wants to change a.py' });
    await card.waitFor();
    const box = await card.boundingBox();
    const writing = await prompt.boundingBox();
    assert.ok(box.y + box.height <= writing.y && box.y > 0, 'all of it is in sight');
    assert.match(await page.locator('.live').textContent(), /^Question: coder wants to change a\.py/);
    assert.equal(await page.locator('.activity .doing').innerText(), 'Waiting for you');
    await page.update({ pending: [] });
    await prompt.focus();
    for (let step = 0; step < 12 && !(await card.getByRole('button', { name: 'Allow once' }).evaluate((each) => each === document.activeElement)); step += 1) await page.page.keyboard.press('Shift+Tab');
    await page.page.keyboard.press('Enter');
    assert.deepEqual(await page.said('answer'), [{ type: 'answer', runId: 'r1', callId: 'c1', optionId: 'yes', reason: '', accepted: null }]);
    await page.steps({ step: 'closed', runId: 'r1', callId: 'c1' }, { kind: 'answer', callId: 'c1', optionId: 'yes' });
    assert.equal(await card.count(), 0);
    assert.ok(await prompt.evaluate((each) => each === document.activeElement), 'the keyboard is back at the prompt');
  });

  await context.test('several questions come one after the other, with their parts and a reason', async () => {
    await page.show([], { running: true });
    const parts = [{ id: 'p1', title: 'a.py, line 1', uri: 'file:///w/a.py', diff: DIFF }, { id: 'p2', title: 'a.py, line 9', uri: 'file:///w/a.py', diff: DIFF }];
    await page.steps(call('c1'), ask('c1', { parts }), call('c2'), ask('c2'));
    assert.equal(await page.locator('.dock .count').innerText(), '1 of 2 questions');
    await page.page.getByLabel('Accept a.py, line 9').uncheck();
    await page.page.getByRole('button', { name: 'Allow once (1 of 2)' }).click();
    await page.steps({ step: 'closed', runId: 'r1', callId: 'c1' });
    const reason = page.page.getByLabel('Why not');
    await reason.fill('use <b>the</b> other file');
    await reason.press('Enter');
    assert.deepEqual((await page.said('answer')).map(({ callId, optionId, accepted, reason: why }) => [callId, optionId, accepted, why]), [['c1', 'yes', ['p1'], ''], ['c2', 'no', null, 'use <b>the</b> other file']]);
    await page.steps({ step: 'closed', runId: 'r1', callId: 'c2' }, { kind: 'answer', callId: 'c2', optionId: 'no', reason: 'use <b>the</b> other file' }, result('c2', 'denied'));
    assert.match(await page.locator('.item.tool').nth(1).innerText(), /denied: use <b>the<\/b> other file/);
  });

  await context.test('what is pasted or dropped goes with the prompt, or is named in it', async () => {
    await page.show([], { file: '@"a b/c d.py"' });
    await prompt.fill('what is this');
    const paste = (files) => prompt.evaluate((field, all) => {
      const data = new DataTransfer();
      for (const { name, type, size } of all) data.items.add(new File([new Uint8Array(size)], name, { type }));
      return field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }, files);
    assert.equal(await paste([{ name: 'a.txt', type: 'text/plain', size: 3 }]), true, 'text is pasted as text');
    assert.equal(await paste([{ name: 'shot.png', type: 'image/png', size: 3 }, { name: 'other.png', type: 'image/png', size: 3 }, { name: 'huge.png', type: 'image/png', size: 6_000_000 }]), false);
    await page.locator('.attached', { hasText: 'huge.png is larger than 5 MB' }).waitFor();
    await page.page.getByRole('button', { name: 'Do not attach other.png' }).click();
    await prompt.press('Enter');
    assert.deepEqual((await page.said('send')).map(({ text: said, attached }) => [said, attached]), [['what is this', [{ name: 'shot.png', mediaType: 'image/png', data: 'AAAA' }]]]);
    await page.locator('.attached').waitFor({ state: 'hidden' });
    await page.locator('.composer').evaluate((form) => {
      const data = new DataTransfer();
      data.setData('text/uri-list', '# a list\r\nfile:///w/a.py\r\nfile:///w/b.py');
      form.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    assert.deepEqual(await page.said('drop'), [{ type: 'drop', uris: ['file:///w/a.py', 'file:///w/b.py'] }]);
    const file = page.page.getByRole('button', { name: 'Name @"a b/c d.py" in the prompt' });
    assert.equal(await file.innerText(), 'c d.py');
    await file.click();
    assert.equal(await prompt.inputValue(), '@"a b/c d.py" ');
    await prompt.fill('');
  });

  await context.test('a session of another window says whose it is; what is written here waits', async () => {
    await page.show([], { elsewhere: true });
    await page.steps(call('c1'), { kind: 'question', callId: 'c1', title: 'May it?', detail: '', options: [] });
    assert.equal(await page.locator('.activity .doing').innerText(), 'Waiting for an answer in the other window');
    assert.match(await page.locator('.owner').innerText(), /^Runs in another window/);
    assert.equal(await page.locator('.question').count(), 0);
    await prompt.fill('and then');
    await prompt.press('Enter');
    assert.deepEqual([await page.said('send'), await prompt.inputValue()], [[], 'and then']);
    await page.locator('.owner').getByRole('button').click();
    assert.deepEqual(await page.said('fork'), [{ type: 'fork', runId: '' }]);
    await page.update({ elsewhere: false });
    await page.locator('.owner').waitFor({ state: 'hidden' });
    await prompt.press('Enter');
    assert.equal((await page.said('send')).length, 1);
  });

  await context.test('an end says how, what was changed, and what helps', async () => {
    await page.show([{ kind: 'prompt', text: 'go', steered: false, id: 0, runId: 'r1', by: '' }]);
    const two = `${DIFF}--- /dev/null\n+++ b/b/new.py\n@@ -0,0 +1 @@\n+x\n`;
    await page.steps(call('c1'), { kind: 'edit', callId: 'c1', uri: 'file:///w/a.py', diff: DIFF, state: 'applied' }, { kind: 'edit', callId: 'c1', uri: 'file:///w/b/new.py', diff: '', state: 'applied' }, result('c1'),
      { kind: 'diff', text: two, omitted: [{ uri: 'file:///w/big.bin', reason: 'it is large' }] }, { kind: 'ended', status: 'failed', reason: 'No key.' }, { step: 'failure', runId: 'r1', error: { error: 'No key: set one.', code: 'no_api_key' } });
    const changes = page.locator('.changes');
    assert.match(await changes.innerText(), /3 files changed[^]*a\.py[^]*new\.py[^]*new[^]*big\.bin: not shown, it is large/);
    await changes.getByRole('button', { name: 'Open all changes' }).click();
    await changes.getByRole('button', { name: 'Open the diff of a.py' }).click();
    await changes.getByRole('button', { name: 'Revert b/new.py' }).click();
    await changes.getByRole('button', { name: 'Take back all' }).click();
    assert.deepEqual((await page.said('changes')).map(({ name }) => name), ['', 'a.py']);
    assert.deepEqual((await page.said('revert')).map(({ uris }) => uris), [['file:///w/b/new.py'], []]);
    assert.match(await page.locator('.error-box').innerText(), /No key: set one\./);
    await page.page.getByRole('button', { name: 'Set a key…' }).click();
    await page.page.getByRole('button', { name: 'Send the same prompt again' }).click();
    assert.deepEqual(await page.said('again'), [{ type: 'again', runId: 'r1' }]);
  });

  await context.test('nothing of hostile Markdown acts, loads, or shows otherwise than it is', async () => {
    await page.show();
    await page.said('command');
    await page.page.evaluate(() => { window.violations = []; document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.effectiveDirective)); });
    const hostile = ['<img src=x onerror="window.hurt=1"><svg onload="window.hurt=1"><script>window.hurt=1</script><style>body{display:none}</style>', '![i](data:image/svg+xml;base64,PHN2Zz4=) ![o](https://outside.example/pixel.png)',
      '[c](command:workbench.action.terminal.new) [j](javascript:window.hurt=1) [d](data:text/html,x) [v](vscode://x) [f](file:///etc/passwd)', '\u001b[31mred\u001b[0m \u001b]8;;command:x\u0007link\u001b]8;;\u0007', 'user\u202etxt.exe \u2066x\u2069',
      `|${'a|'.repeat(300)}\n|${'-|'.repeat(300)}\n${`|${'1|'.repeat(300)}\n`.repeat(3000)}`, '<base href="https://outside.example/"><meta http-equiv="refresh" content="0;url=https://outside.example/">', '```html" onclick="window.hurt=1\n<b>x</b>\n```'].join('\n\n');
    await page.steps(text(hostile), call('c1', { title: '<img src=x onerror=window.hurt=1> \u202etxt', by: '<b>' }), { kind: 'toolOutput', callId: 'c1', stream: 'stdout', text: '<script>window.hurt=1</script>\u001b[2J' }, { kind: 'log', source: '<i>', text: '<img src=x>' },
      { kind: 'plan', entries: [{ text: '<img src=x onerror=window.hurt=1>', status: 'pending' }] }, { kind: 'compacted', why: 'full', before: 9, after: 1, summary: '<script>window.hurt=1</script>' }, ask('c1', { title: '<img src=x>', detail: hostile, diff: `${DIFF}<img src=x onerror=window.hurt=1>` }));
    for (const link of await page.locator('a').all()) await link.evaluate((each) => each.click());
    assert.equal(await page.locator('main img, main script, main iframe, main style, main base, main meta, .dock img, .dock script, [onerror], [onclick], [style*="display"]').count(), 0);
    assert.deepEqual([await page.page.evaluate(() => window.hurt ?? null), await page.page.evaluate(() => window.violations), page.requests], [null, [], []]);
    for (const { href } of await page.said('link')) assert.match(href, /^https:\/\/outside\.example\//);
    assert.deepEqual(await page.said('command'), []);
    assert.doesNotMatch(await page.locator('body').innerText(), /[\u001b\u202a-\u202e\u2066-\u2069]/);
    assert.ok(await page.locator('td').count() <= 2 * 200 * 24, 'the table is bounded');
    assert.equal(page.page.url(), 'http://page.invalid/');
  });

  await context.test('thousands of items leave a bounded page that goes back and forth', async () => {
    await page.show();
    for (let at = 0; at < 2500; at += 500) await page.steps(...Array.from({ length: 500 }, (_, each) => [call(`c${at + each}`), text(`Said ${at + each}`)]).flat());
    assert.ok(await page.locator('.item').count() <= 400);
    await page.locator('.transcript').evaluate((list) => { list.scrollTop = 0; });
    await page.locator('.earlier').click();
    const shown = await page.locator('.item.text').first().innerText();
    assert.notEqual(shown, 'Said 2300');
    await page.steps(...Array.from({ length: 1500 }, (_, at) => call(`d${at}`)));
    assert.ok(await page.locator('.item').count() <= 1000, 'what comes while the person reads above is not all put in');
    await page.locator('.latest').click();
    await page.locator('.item.tool', { hasText: 'Run d1499' }).waitFor();
    assert.ok(await page.locator('.item').count() <= 400);
  });

  await context.test('prompts: sent, steered, queued, recalled, completed; all is named', async () => {
    await page.show([{ kind: 'prompt', text: 'the first', steered: false, id: 0, runId: 'r0', by: '' }]);
    await prompt.fill('do it');
    await prompt.press('Enter');
    await page.update({ running: true });
    await prompt.fill('mind this');
    await prompt.press('Enter');
    await prompt.fill('then that');
    await prompt.press('Alt+Enter');
    assert.deepEqual((await page.said('send')).map(({ text: said, when }) => [said, when]), [['do it', 'now'], ['mind this', 'now'], ['then that', 'next']]);
    await page.update({ pending: [{ id: 'w1', prompt: 'then that', when: 'next' }] });
    await page.page.getByRole('button', { name: 'Take back: then that' }).click();
    assert.deepEqual(await page.said('unqueue'), [{ type: 'unqueue', id: 'w1' }]);
    await prompt.press('ArrowUp');
    assert.equal(await prompt.inputValue(), 'the first');
    await prompt.press('ArrowDown');
    assert.equal(await prompt.inputValue(), '');
    await page.said('suggest');
    await prompt.pressSequentially('/r');
    const { id } = (await page.said('suggest')).at(-1);
    await page.tell({ type: 'suggestions', id, found: [{ insert: '/release', label: '/release <version>', detail: 'Cut a release' }, { insert: '/review', label: '/review', detail: '' }] });
    assert.deepEqual([await prompt.getAttribute('aria-expanded'), await prompt.getAttribute('aria-activedescendant')], ['true', 'suggestion-0']);
    await prompt.press('ArrowDown');
    await prompt.press('Enter');
    assert.equal(await prompt.inputValue(), '/review ');
    await page.page.getByRole('button', { name: 'Stop the run' }).click();
    assert.equal((await page.said('stop')).length, 1);
    const nameless = await page.locator('button, input, textarea, [role="img"], [role="group"], [role="region"]').evaluateAll((all) => all.filter((each) => each.checkVisibility() && !(each.getAttribute('aria-label') ?? each.title ?? '').trim() && !each.textContent.trim()).map((each) => each.outerHTML));
    assert.deepEqual(nameless, []);
  });
});
