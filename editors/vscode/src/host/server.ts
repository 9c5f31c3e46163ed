// Finds the server's program and, when the person asks for it, installs one into this editor's storage.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import * as vscode from 'vscode';
import { findServer, type Found } from '../core/finding.ts';

const WINDOWS = process.platform === 'win32';
const BIN = WINDOWS ? 'Scripts' : 'bin';
const INSTALL_SECONDS = 600;

export class Server {
  #storage: string;
  #extension: string;
  #log: vscode.LogOutputChannel;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#storage = context.globalStorageUri.fsPath;
    this.#extension = context.extensionPath;
    this.#log = log;
  }

  /** This extension's storage on this machine; it exists once the host was started. */
  get folder(): vscode.Uri {
    mkdirSync(this.#storage, { recursive: true });
    return vscode.Uri.file(this.#storage);
  }

  find(): Found {
    const settings = vscode.workspace.getConfiguration('agentHost.server');
    return findServer({
      setting: (settings.get<string>('path') ?? '').trim(),
      settingArgs: settings.get<string[]>('args') ?? [],
      managed: join(this.#storage, 'server', BIN, WINDOWS ? 'agent-host.exe' : 'agent-host'),
      path: (process.env['PATH'] ?? '').split(delimiter),
      home: homedir(),
      windows: WINDOWS,
      exists: existsSync,
    });
  }

  /** A virtual environment with the server in it; what was there before is replaced once the new one works. */
  async install(): Promise<void> {
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: 'Agent Host', cancellable: true },
      async (progress, token) => {
        await mkdir(this.#storage, { recursive: true });
        const target = join(this.#storage, 'server');
        const old = `${target}.old`;
        progress.report({ message: 'looking for Python 3.11 or newer…' });
        const python = await this.#python(token);
        await rm(old, { recursive: true, force: true });
        if (existsSync(target)) await rename(target, old);
        try {
          progress.report({ message: 'making an environment…' });
          await this.#run(python, ['-m', 'venv', target], token);
          progress.report({ message: 'installing the server; this takes a minute…' });
          await this.#run(join(target, BIN, 'python'), ['-m', 'pip', 'install', '--disable-pip-version-check', '--quiet', this.#package()], token);
          await this.#run(join(target, BIN, 'agent-host'), ['--version'], token);
          await rm(old, { recursive: true, force: true });
        } catch (error) {
          await rm(target, { recursive: true, force: true });
          if (existsSync(old)) await rename(old, target);
          throw error;
        }
      },
    );
  }

  #package(): string {
    const named = (vscode.workspace.getConfiguration('agentHost.server').get<string>('package') ?? '').trim();
    if (named) return named;
    const folder = join(this.#extension, 'server');
    const wheel = existsSync(folder) && readdirSync(folder).find((name) => name.endsWith('.whl'));
    return wheel ? join(folder, wheel) : 'agent-host';
  }

  async #python(token: vscode.CancellationToken): Promise<string> {
    const named = (vscode.workspace.getConfiguration('agentHost.server').get<string>('python') ?? '').trim();
    const candidates = named ? [named] : ['python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3', 'python'];
    for (const python of candidates) {
      try {
        await this.#run(python, ['-c', 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'], token);
        return python;
      } catch (error) {
        if (token.isCancellationRequested) throw error;
      }
    }
    throw new Error(named
      ? `${named} is not a Python of version 3.11 or newer with venv. Correct the setting agentHost.server.python.`
      : 'There is no Python 3.11 or newer with venv on the PATH. Install one (on Debian also python3-venv), or name it in the setting agentHost.server.python.');
  }

  /** Run a program to its end; its output goes to the log. */
  #run(command: string, args: string[], token: vscode.CancellationToken): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#log.info(`${command} ${args.join(' ')}`);
      const child = spawn(command, args, { cwd: this.#storage, stdio: ['ignore', 'pipe', 'pipe'], timeout: INSTALL_SECONDS * 1000 });
      let tail = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data: Buffer) => {
          tail = (tail + data.toString()).slice(-2000);
          this.#log.info(data.toString().trimEnd());
        });
      }
      const cancelled = token.onCancellationRequested(() => child.kill());
      child.on('error', (error) => { cancelled.dispose(); reject(error); });
      child.on('close', (code) => {
        cancelled.dispose();
        if (code === 0) resolve();
        else reject(new Error(token.isCancellationRequested ? 'The installation was cancelled.' : `${command} failed (${code ?? 'killed'}): ${tail.trim().split('\n').at(-1) ?? ''}`));
      });
    });
  }
}
