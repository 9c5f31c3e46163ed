// The transcript's page alone in Chromium, without an editor: messages go in as the extension sends them, what the page
// says is kept. Under the same content policy; requests that leave it are refused and told.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { CHROMIUM, EXTENSION } from './editor.mjs';

const ORIGIN = 'http://page.invalid';
const POLICY = `default-src 'none'; script-src 'nonce-n'; style-src ${ORIGIN}; font-src ${ORIGIN}; base-uri 'none'; form-action 'none'`;
const HTML = `<!DOCTYPE html><html lang="en"><head><meta http-equiv="Content-Security-Policy" content="${POLICY}"><link rel="stylesheet" href="/page.css"><title>Agent</title></head>
<body class="vscode-dark"><script nonce="n" src="/page.js"></script></body></html>`;
const STATE = {
  title: '', connection: { status: 'ready', text: '' }, running: false, elsewhere: false, stopping: false, model: 'scripted/demo', role: 'coder', trusted: true, pending: [],
  folders: ['/w'], foldTools: true, context: null, modelProblem: '', recent: [], guidance: null, file: '',
};

export class Page {
  #seq = 0;
  #run = 'r1';
  requests = [];

  static async open({ viewport = { width: 420, height: 700 } } = {}) {
    const page = new Page();
    page.browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
    page.page = await page.browser.newPage({ viewport });
    page.page.setDefaultTimeout(20_000);
    await page.page.addInitScript(() => {
      let state;
      window.said = [];
      window.acquireVsCodeApi = () => ({ postMessage: (message) => window.said.push(message), getState: () => state, setState: (next) => { state = next; } });
    });
    const types = { '/page.js': 'text/javascript', '/page.css': 'text/css' };
    await page.page.route('**/*', (route) => {
      const url = new URL(route.request().url());
      if (url.origin === ORIGIN && url.pathname === '/') return route.fulfill({ contentType: 'text/html', body: HTML });
      if (url.origin === ORIGIN && types[url.pathname]) return route.fulfill({ contentType: types[url.pathname], body: readFileSync(join(EXTENSION, 'out', url.pathname)) });
      page.requests.push(url.href);
      return route.abort();
    });
    await page.page.goto(`${ORIGIN}/`);
    await page.show();
    return page;
  }

  locator(selector, options) {
    return this.page.locator(selector, options);
  }

  /** A session with these items. */
  async show(items = [], state = {}) {
    this.state = { ...STATE, ...state };
    await this.tell({ type: 'snapshot', session: 's', items, runs: {}, state: this.state });
  }

  async update(state) {
    this.state = { ...this.state, ...state };
    await this.tell({ type: 'state', state: this.state });
  }

  /** Steps of the session, all in one message; deltas are numbered. */
  async steps(...steps) {
    await this.tell({ type: 'steps', session: 's', steps: steps.map((step) => (step.step ? step : this.delta(step))) });
  }

  delta(delta) {
    this.#seq += 1;
    return { step: 'delta', delta: { sessionId: 's', runId: this.#run, seq: this.#seq, origin: { kind: 'agent' }, delta } };
  }

  /** Send a message, and wait until what it does is shown. */
  async tell(message) {
    await this.page.evaluate(async (data) => {
      window.postMessage(data, '*');
      await new Promise((resolve) => window.addEventListener('message', resolve, { once: true }));
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }, message);
  }

  /** What the page has said of that kind, and forget it. */
  async said(type) {
    return this.page.evaluate((wanted) => {
      const found = window.said.filter((each) => each.type === wanted);
      window.said = window.said.filter((each) => each.type !== wanted);
      return found;
    }, type);
  }

  async close() {
    await this.browser.close();
  }
}
