// A real VS Code in a browser: starts its server and Chromium, and ends both. `mode` is "tests" (VS Code's own
// extension-host tests) or "person" (the page as a person sees it). Nothing outside the given folder is written.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const HERE = dirname(fileURLToPath(import.meta.url));
const CODE = join(HERE, 'node_modules', 'code-server', 'lib', 'vscode');
export const EXTENSION = resolve(HERE, '..', '..', '..', 'editors', 'vscode');
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export const QUIET = {
  'telemetry.telemetryLevel': 'off', 'update.mode': 'none', 'extensions.autoUpdate': false, 'extensions.autoCheckUpdates': false,
  'workbench.startupEditor': 'none', 'workbench.enableExperiments': false, 'chat.disableAIFeatures': true,
  'workbench.tips.enabled': false, 'window.commandCenter': false, 'files.autoSave': 'off', 'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'extensions.ignoreRecommendations': true, 'git.enabled': false, 'security.workspace.trust.startupPrompt': 'never',
};

/** How the extension finds this clone's server, whose state is in the folder. */
export const serverSettings = (folder) => ({
  'agentHost.server.path': process.env.PYTHON ?? join(HERE, '..', '..', '..', '.venv', 'bin', 'python'),
  'agentHost.server.args': ['-m', 'agent_host'],
  'agentHost.server.env': { AGENT_HOST_HOME: join(folder, 'state') },
});

export class Editor {
  /** Start the server for a workspace; `settings` are the person's, `server` those of our extension. */
  static async start({ folder, workspace, server = serverSettings(folder), settings = {}, environment = {}, trust = true }) {
    const editor = new Editor();
    editor.workspace = workspace;
    editor.folder = folder;
    editor.port = await freePort();
    const data = join(folder, 'code');
    for (const place of ['User', 'Machine']) {
      mkdirSync(join(data, 'data', place), { recursive: true });
      writeFileSync(join(data, 'data', place, 'settings.json'), JSON.stringify({ ...QUIET, ...server, ...settings }));
    }
    const node = process.execPath; // Node 24, as VS Code wants it
    editor.server = spawn(node, [join(CODE, 'out', 'server-main.js'),
      '--host', '127.0.0.1', '--port', String(editor.port), '--without-connection-token', '--accept-server-license-terms',
      '--telemetry-level', 'off', '--enable-smoke-test-driver', '--force-disable-user-env', '--server-data-dir', data, ...(trust ? ['--disable-workspace-trust'] : [])], {
      env: { PATH: process.env.PATH, LANG: 'C.UTF-8', HOME: folder, EXTENSIONS_GALLERY: '{}', ...(process.env.ONLY ? { ONLY: process.env.ONLY } : {}), ...environment }, stdio: ['ignore', 'pipe', 'pipe'], detached: true,
    });
    editor.serverLog = '';
    for (const stream of [editor.server.stdout, editor.server.stderr]) stream.on('data', (text) => { editor.serverLog = (editor.serverLog + text).slice(-20_000); });
    await editor.#answers();
    return editor;
  }

  /** Open a window for VS Code's own tests; returns the lines that they say, and their exit code. */
  async test(file, extension = EXTENSION) {
    const told = [];
    const { promise: ended, resolve } = Promise.withResolvers();
    const hear = (_type, args) => {
      told.push(args.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(' '));
      if (process.env.VERBOSE) console.log(told.at(-1).slice(0, 600));
    };
    await this.open({ extension, payload: [['extensionTestsPath', this.remote(file)]], expose: { codeAutomationLog: hear, codeAutomationExit: resolve } });
    return { code: await ended, told };
  }

  /** Open the window. `payload`: VS Code's own words to it; `expose`: functions that its page can call, by name. */
  async open({ extension = EXTENSION, payload = [], expose = {}, viewport = { width: 1280, height: 860 } } = {}) {
    this.context = await chromium.launchPersistentContext(join(this.folder, 'browser'), {
      executablePath: CHROMIUM, headless: true, viewport,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    this.page = this.context.pages()[0] ?? (await this.context.newPage());
    this.requests = [];
    this.context.on('request', (request) => this.requests.push(request.url()));
    for (const [name, act] of Object.entries(expose)) await this.page.exposeFunction(name, act);
    const told = [['extensionDevelopmentPath', this.remote(extension)], ['skipWelcome', 'true'], ['skipReleaseNotes', 'true'], ...payload];
    await this.page.goto(`http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(this.workspace)}&payload=${encodeURIComponent(JSON.stringify(told))}`);
    return this.page;
  }

  remote(path) {
    return `vscode-remote://127.0.0.1:${this.port}${path}`;
  }

  /** End the browser and the server with all that they started. */
  async close() {
    await this.context?.close().catch(() => {});
    await new Promise((resolve) => {
      if (this.server.exitCode !== null) return resolve();
      this.server.on('exit', resolve);
      process.kill(-this.server.pid, 'SIGTERM');
      setTimeout(() => { try { process.kill(-this.server.pid, 'SIGKILL'); } catch { /* it has ended */ } }, 3000).unref();
    });
    try { process.kill(-this.server.pid, 'SIGKILL'); } catch { /* all of it has ended */ }
  }

  async #answers() {
    const until = Date.now() + 60_000;
    while (Date.now() < until) {
      if (this.server.exitCode !== null) throw new Error(`the server ended: ${this.serverLog}`);
      if (await fetch(`http://127.0.0.1:${this.port}/version`).then(() => true, () => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`the server does not answer: ${this.serverLog}`);
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
