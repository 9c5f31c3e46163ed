// Builds the server's wheel into server/, from where the extension installs it.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const own = join(root, '..', '..', '.venv', 'bin', 'python');
const python = process.env.PYTHON ?? (existsSync(own) ? own : 'python3');
rmSync(join(root, 'server'), { recursive: true, force: true });
const done = spawnSync(python, ['-m', 'build', '--wheel', '--no-isolation', '--outdir', join(root, 'server'), join(root, '..', '..')], { stdio: 'inherit' });
process.exit(done.status ?? 1);
