// Where the server is looked for, in order, and what to say when it is nowhere. Pure: `exists` looks.

export interface Places {
  /** The setting agentHost.server.path, and the arguments that go with it. */
  setting: string;
  settingArgs: string[];
  /** The program in this editor's storage. */
  managed: string;
  /** The folders of PATH. */
  path: string[];
  home: string;
  windows: boolean;
  exists(path: string): boolean;
}

export type Found =
  | { command: string; args: string[]; from: 'setting' | 'managed' | 'path' }
  | { problem: string };

export function findServer(places: Places): Found {
  if (places.setting) return fromSetting(places);
  if (places.exists(places.managed)) return { command: places.managed, args: [], from: 'managed' };
  const name = places.windows ? 'agent-host.exe' : 'agent-host';
  // An editor that was started from a desktop has a shorter PATH than the shell.
  const folders = [...places.path, `${places.home}/.local/bin`, '/usr/local/bin', '/opt/homebrew/bin'];
  for (const folder of folders) {
    if (folder && isAbsolute(folder) && places.exists(`${folder}/${name}`)) return { command: `${folder}/${name}`, args: [], from: 'path' };
  }
  return { problem: 'The server `agent-host` was not found. Install it for this editor, put it on the PATH, or name it in the setting agentHost.server.path.' };
}

function fromSetting({ setting, settingArgs, home, path, exists, windows }: Places): Found {
  const named = setting.startsWith('~/') ? home + setting.slice(1) : setting;
  if (isAbsolute(named)) {
    return exists(named)
      ? { command: named, args: settingArgs, from: 'setting' }
      : { problem: `The setting agentHost.server.path names \`${setting}\`, which is not there. Correct it, or clear it to have the server looked for.` };
  }
  if (/[\\/]/.test(named)) return { problem: `The setting agentHost.server.path is \`${setting}\`. Give the whole path, or a bare name to be looked for on the PATH.` };
  const suffixes = windows ? ['', '.exe'] : [''];
  for (const folder of path.filter(isAbsolute)) {
    for (const suffix of suffixes) if (exists(`${folder}/${named}${suffix}`)) return { command: `${folder}/${named}${suffix}`, args: settingArgs, from: 'setting' };
  }
  return { problem: `The setting agentHost.server.path names \`${setting}\`, which is not on the PATH. Give the whole path.` };
}

function isAbsolute(path: string): boolean {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path);
}
