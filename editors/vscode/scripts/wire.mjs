// TypeScript types of the wire out of the server's schema.
//   node scripts/wire.mjs --write      asks the server (PYTHON -m agent_host schema) and writes src/wire.ts
//   node scripts/wire.mjs --check      reads the schema from stdin; fails if src/wire.ts is not what comes of it
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, 'src', 'wire.ts');

/** The text of src/wire.ts for a schema as `agent-host schema` prints it. */
export function typescript(schema) {
  const shapes = Object.entries(schema.$defs).sort(([a], [b]) => (a < b ? -1 : 1));
  const named = schema.methods ? Object.entries(schema.methods) : [];
  const lines = [
    '// Made by `npm run wire` out of the server\'s schema; a test checks that it is current.',
    '',
    ...shapes.flatMap(([name, shape]) => [...comment(shape.description, ''), `export type ${name} = ${type(shape, '')};`, '']),
    '/** Each method with its params and its result; null: a notification. */',
    'export interface Methods {',
    ...named.map(([name, { params, result }]) => `  '${name}': { params: ${type(params, '  ')}; result: ${result ? type(result, '  ') : 'null'} };`),
    '}',
    '',
    '/** Who sends each method. */',
    'export const SENDERS = {',
    ...named.map(([name, { sender }]) => `  '${name}': '${sender}',`),
    '} as const satisfies Record<keyof Methods, \'editor\' | \'host\'>;',
  ];
  return lines.join('\n') + '\n';
}

function type(schema, indent) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const any = schema.anyOf ?? schema.oneOf;
  if (any) return [...new Set(any.map((each) => type(each, indent)))].join(' | ');
  if (schema.type === 'array') return `(${schema.items ? type(schema.items, indent) : 'unknown'})[]`;
  if (schema.type === 'object') return object(schema, indent);
  return { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[schema.type] ?? 'unknown';
}

function object(schema, indent) {
  const fields = Object.entries(schema.properties ?? {});
  if (!fields.length) return schema.additionalProperties === false ? 'Record<string, never>' : record(schema, indent);
  const inner = indent + '  ';
  const told = fields.flatMap(([name, each]) => {
    const always = schema.required?.includes(name) || (each.const !== undefined && name === 'kind');
    return [...comment(each.description, inner), `${inner}${name}${always ? '' : '?'}: ${type(each, inner)}${always ? '' : ' | undefined'};`];
  });
  return `{\n${told.join('\n')}\n${indent}}`;
}

function record(schema, indent) {
  const values = typeof schema.additionalProperties === 'object' ? type(schema.additionalProperties, indent) : 'unknown';
  return `Record<string, ${values}>`;
}

function comment(text, indent) {
  return text ? [`${indent}/** ${text.replaceAll('*/', '* /').split(/\s*\n\s*/).join(' ')} */`] : [];
}

function asked() {
  const own = join(root, '..', '..', '.venv', 'bin', 'python');
  const python = process.env.PYTHON ?? (existsSync(own) ? own : 'python3');
  const done = spawnSync(python, ['-m', 'agent_host', 'schema'], { encoding: 'utf8', cwd: join(root, '..', '..') });
  if (done.status !== 0) throw new Error(`the server's schema can't be read: ${done.stderr || done.error}`);
  return JSON.parse(done.stdout);
}

if (process.argv.includes('--write')) writeFileSync(target, typescript(asked()));
if (process.argv.includes('--check')) {
  const now = typescript(JSON.parse(readFileSync(0, 'utf8')));
  if (!existsSync(target) || readFileSync(target, 'utf8') !== now) {
    console.error('editors/vscode/src/wire.ts is not what the server\'s schema says; run: node editors/vscode/scripts/wire.mjs --write');
    process.exit(1);
  }
}
