// Vendors' keys in the editor's secret storage. They go to the host once, as it starts, and into no log.

import * as vscode from 'vscode';

export const VENDORS = ['anthropic', 'openai', 'gemini', 'local'] as const;
export type Vendor = (typeof VENDORS)[number];

const name = (vendor: Vendor): string => `agentHost.key.${vendor}`;

export class Keys {
  #secrets: vscode.SecretStorage;
  #known = new Set<string>();

  constructor(secrets: vscode.SecretStorage) {
    this.#secrets = secrets;
  }

  async all(): Promise<Partial<Record<Vendor, string>>> {
    const found: Partial<Record<Vendor, string>> = {};
    for (const vendor of VENDORS) {
      const key = await this.#secrets.get(name(vendor));
      if (!key) continue;
      this.#known.add(key);
      found[vendor] = key;
    }
    return found;
  }

  /** A text without any key that was handed out. */
  redacted(text: string): string {
    let safe = text;
    for (const key of this.#known) safe = safe.replaceAll(key, '•••');
    return safe;
  }

  /** Ask for a vendor and its key; true if one was set. */
  async set(): Promise<boolean> {
    const vendor = await pickVendor('Whose key?', VENDORS);
    if (!vendor) return false;
    const key = await vscode.window.showInputBox({
      title: `Key of ${vendor}`, prompt: 'It is kept in this editor\'s secret storage.', password: true, ignoreFocusOut: true,
      validateInput: (text) => (text.trim() && /^[\x21-\x7e]+$/.test(text.trim()) ? undefined : 'A key has no spaces and is not empty.'),
    });
    if (!key) return false;
    await this.#secrets.store(name(vendor), key.trim());
    return true;
  }

  async remove(): Promise<boolean> {
    const have = Object.keys(await this.all()) as Vendor[];
    if (!have.length) {
      void vscode.window.showInformationMessage('No key is kept in this editor.');
      return false;
    }
    const vendor = await pickVendor('Whose key is to be removed?', have);
    if (vendor) await this.#secrets.delete(name(vendor));
    return vendor !== undefined;
  }
}

async function pickVendor(title: string, vendors: readonly Vendor[]): Promise<Vendor | undefined> {
  return (await vscode.window.showQuickPick([...vendors], { title })) as Vendor | undefined;
}
