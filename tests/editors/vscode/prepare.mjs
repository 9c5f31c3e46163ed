// After `npm ci`: VS Code's own dependencies, without those that no test needs (they are three quarters of it).
// Nothing is compiled: without spdlog and watchdog the log says so, and all else works. Ripgrep is the Python one.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const CODE = join(HERE, 'node_modules', 'code-server', 'lib', 'vscode');
const RIPGREP = join(HERE, '..', '..', '..', '.venv', 'bin', 'rg');
const LEFT_OUT = ['@devcontainers/cli', '@github/copilot-sdk', '@microsoft/mxc-sdk', '@vscode/copilot-api', '@vscode/ripgrep-universal',
  '@vscode/sandbox-runtime', '@vscode/windows-process-tree', '@vscode/windows-registry', 'kerberos', 'node-pty', 'ssh2', 'katex', '@vscode/sqlite3'];

for (const name of ['package.json', 'npm-shrinkwrap.json']) {
  const path = join(CODE, name);
  const content = JSON.parse(readFileSync(path, 'utf8'));
  for (const each of LEFT_OUT) {
    delete content.dependencies?.[each];
    delete content.packages?.[''].dependencies?.[each];
  }
  writeFileSync(path, JSON.stringify(content));
}
execFileSync('npm', ['install', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: CODE, stdio: 'inherit' });
const shim = join(CODE, 'node_modules', '@vscode', 'ripgrep-universal');
mkdirSync(shim, { recursive: true });
writeFileSync(join(shim, 'package.json'), JSON.stringify({ name: '@vscode/ripgrep-universal', version: '1.18.0', type: 'module', main: 'index.js' }));
writeFileSync(join(shim, 'index.js'), `export const rgPath = ${JSON.stringify(RIPGREP)};\nexport const binPathFor = () => rgPath;\n`);
