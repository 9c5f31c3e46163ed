// Bundles the extension (for Node) and the transcript's page (for the webview) into out/.
import { build } from 'esbuild';
import { copyFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const common = { bundle: true, minify: true, sourcemap: false, logLevel: 'warning', absWorkingDir: root, legalComments: 'none' };
await Promise.all([
  build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'out/extension.js', platform: 'node', format: 'cjs', target: 'node20', external: ['vscode'] }),
  build({ ...common, entryPoints: ['src/page/main.ts'], outfile: 'out/page.js', platform: 'browser', format: 'iife', target: 'es2022' }),
]);
copyFileSync(join(root, 'src/page/page.css'), join(root, 'out/page.css'));
