// What a model writes is text, structure and links that we chose; nothing of it can act.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, safeLink, stableCut, type Block, type Inline } from '../src/core/markdown.ts';
import { plain } from '../src/core/plain.ts';
import { spoken } from '../src/core/spoken.ts';

function inlines(blocks: Block[]): Inline[] {
  return blocks.flatMap((block): Inline[] => {
    switch (block.kind) {
      case 'paragraph':
      case 'heading':
        return deep(block.content);
      case 'quote':
        return inlines(block.blocks);
      case 'list':
        return block.items.flatMap((item) => inlines(item.blocks));
      case 'table':
        return [...block.head, ...block.rows.flat()].flatMap(deep);
      default:
        return [];
    }
  });
}

function deep(content: Inline[]): Inline[] {
  return content.flatMap((each) => ('content' in each ? [each, ...deep(each.content)] : [each]));
}

const text = (blocks: Block[]): string => inlines(blocks).map((each) => ('text' in each ? each.text : '')).join('');
const links = (source: string): string[] => inlines(parse(source)).flatMap((each) => (each.kind === 'link' ? [each.href] : []));

test('HTML is text', () => {
  for (const source of ['<img src=x onerror=alert(1)>', '<script>alert(1)</script>', '<iframe src="https://a.example"></iframe>', '<a href="command:x">y</a>']) {
    const blocks = parse(source);
    assert.equal(text(blocks), source);
    assert.deepEqual(links(source).filter((href) => href !== 'https://a.example'), []);
    assert.ok(inlines(blocks).every(({ kind }) => kind === 'text' || kind === 'link'));
  }
});

test('links that would do something else are no links', () => {
  const hostile = [
    'command:workbench.action.terminal.new', 'COMMAND:x', 'javascript:alert(1)', 'java\tscript:alert(1)', 'data:text/html,<script>', 'vscode://x/y',
    'file:///etc/passwd', '//a.example/x', 'https://user@a.example/', 'https:///x', 'blob:x', ' command:x', 'http://a b', 'vbscript:x', '#x', '/etc/passwd',
    'https://a.example/"onmouseover="x', 'https://a.example/<x>', '\u0001javascript:x', 'mailto:/x', 'https://a\\b',
  ];
  for (const href of hostile) {
    assert.equal(safeLink(href), null, href);
    assert.deepEqual(links(`[click](${href})`), [], href);
  }
  assert.deepEqual(links('<command:x> <javascript:alert(1)>'), []);
});

test('links that people mean are links, and images are too', () => {
  assert.deepEqual(links('[a](https://a.example/x?y=1#z) and https://b.example/c. <https://d.example> ![i](https://e.example/i.png)'), [
    'https://a.example/x?y=1#z', 'https://b.example/c', 'https://d.example', 'https://e.example/i.png']);
  assert.deepEqual(links('`https://no.example` and\n\n```\nhttps://no.example\n```'), []);
});

test('a link inside a link is text, and a link that is refused shows where it leads', () => {
  assert.deepEqual(links('[a [b](https://b.example)](https://a.example)').length, 1);
  assert.equal(text(parse('[safe](command:evil)')), 'safe (command:evil)');
});

test('terminal sequences and reordering characters are taken out', () => {
  assert.equal(plain('\u001b[31mred\u001b[0m \u001b]0;title\u0007x \u001b]8;;command:x\u001b\\link\u001b]8;;\u001b\\'), 'red x link');
  assert.equal(plain('a\u0000b\u0007c\u001b'), 'abc');
  assert.equal(plain('10%\r20%\r30%\ndone\r\n'), '30%\ndone\n');
  assert.equal(plain('user\u202etxt.exe'), 'user\ufffdtxt.exe');
  assert.equal(text(parse('\u001b[2Jgone\u001b[H')), 'gone');
});

test('a huge table is cut and says so; a wide one too', () => {
  const [table] = parse(`|a|b|\n|-|-|\n${'|1|2|\n'.repeat(5000)}`);
  assert.ok(table?.kind === 'table');
  assert.equal(table.rows.length, 200);
  assert.equal(table.left, 4800);
  const [wide] = parse(`|${'a|'.repeat(500)}\n|${'-|'.repeat(500)}\n|${'1|'.repeat(500)}\n`);
  assert.ok(wide?.kind === 'table' && wide.head.length === 24 && wide.rows[0]?.length === 24);
});

test('hostile sizes and depths take no time to speak of', () => {
  const sources = ['*'.repeat(50_000), '['.repeat(20_000), '`'.repeat(30_001), '> '.repeat(5_000), '- '.repeat(5_000), '<'.repeat(20_000),
    '**a '.repeat(10_000), '[a]('.repeat(10_000), '_a'.repeat(20_000), '|'.repeat(20_000) + '\n' + '|-'.repeat(10_000), '#'.repeat(10_000), '\\'.repeat(50_000), '~~a'.repeat(10_000), 'h'.repeat(50_000), '\u001b['.repeat(20_000), '\u001b]'.repeat(5_000),
    `# a${' '.repeat(50_000)}x`, `# ${'# '.repeat(20_000)}`, `${'* '.repeat(20_000)}x`, `a|b\n${'|-'.repeat(30_000)}x`, '`a``b```c'.repeat(3_000), 'http://'.repeat(8_000), '> > > > a\n'.repeat(3_000), '- a\nb\n'.repeat(3_000)];
  const began = performance.now();
  for (const source of sources) parse(source);
  assert.ok(performance.now() - began < 20_000, 'parsing is not linear');
});

test('the usual kinds', () => {
  const blocks = parse('# Head\n\nA *b* **c** `d` ~~e~~\n\n- [x] one\n- [ ] two\n  - inner\n\n3. three\n\n> quoted\n\n```ts\nlet x\n```\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n---\n');
  assert.deepEqual(blocks.map(({ kind }) => kind), ['heading', 'paragraph', 'list', 'list', 'quote', 'code', 'table', 'rule']);
  assert.ok(blocks[2]?.kind === 'list' && blocks[2].items[0]?.done === true && blocks[2].items[1]?.done === false);
  assert.equal(blocks[2].items[1].blocks[1]?.kind, 'list');
  assert.ok(blocks[3]?.kind === 'list' && blocks[3].start === 3);
  assert.ok(blocks[5]?.kind === 'code' && blocks[5].language === 'ts' && blocks[5].text === 'let x' && !blocks[5].open);
  assert.ok(blocks[6]?.kind === 'table' && blocks[6].align.join() === 'center,right');
  assert.deepEqual(inlines([blocks[1] as Block]).map(({ kind }) => kind), ['text', 'em', 'text', 'text', 'strong', 'text', 'text', 'code', 'text', 'del', 'text']);
});

test('snake_case and 2 * 3 * 4 are no emphasis', () => {
  assert.deepEqual(inlines(parse('some_snake_case and 2 * 3 * 4')).map(({ kind }) => kind), ['text']);
});

test('a growing text is cut only where its meaning is settled', () => {
  const whole = 'One\n\nTwo\n\n```\nx\n\ny\n```\nThree\n\n- a\n\n- b\n\nEnd\n';
  let cut = 0;
  const cuts = new Set<number>();
  for (let length = 1; length <= whole.length; length += 1) {
    cut = stableCut(whole.slice(0, length), cut);
    cuts.add(cut);
  }
  const pieces = [...cuts].sort((a, b) => a - b).map((at, index, all) => whole.slice(at, all[index + 1] ?? whole.length));
  assert.deepEqual(pieces.flatMap((piece) => parse(piece)), parse(whole));
  assert.ok(pieces.length >= 4);
});

test('a dialog, which shows no Markdown, is given its words; a command stays as it is', () => {
  assert.equal(spoken('```bash\nls **/*.py `x`\n```\n\nAsked because \\*it\\* runs.\n\n- no sandbox\n- with **network**'), 'ls **/*.py `x`\n\nAsked because *it* runs.\n\n• no sandbox\n• with network');
});
